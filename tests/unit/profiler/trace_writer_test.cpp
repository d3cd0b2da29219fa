#include "profiler/trace_writer.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

#include "core/kernels/kernel_trace.hpp"
#include "tests/unit/profiler/fake_device.hpp"

namespace vtrain::profiler {
namespace {

/// A table in which every operator of a model is two kernels of 100 ns and 50 ns. Gaps of 10 ns and -5 ns
/// follow them.
KernelTable table_of(const ModelPoint& point) {
  const FakeDevice device;
  KernelTable table("test", device.facts(), device.software());
  table.begin_session({});
  const Measurement measured{.repetitions = 1,
                             .time_ns = 160,
                             .low_ns = 160,
                             .high_ns = 160,
                             .kernels = {{"void f<int, \"2\">", 100, 10}, {"g", 50, -5}}};
  for (const PartOperators& part : parts_of(point)) {
    for (const auto* operators : {&part.forward, &part.backward, &part.update}) {
      for (const Operator& op : *operators) {
        if (!table.contains(key_of(op))) table.add(op, measured, measured);
      }
    }
  }
  return table;
}

TEST_CASE("trace_writer: the trace reads back as the operators it was made of") {
  const ModelPoint point;
  const KernelTable table = table_of(point);
  CHECK(missing_keys(table, point).empty());
  const auto kernels = vtrain::parse_kernel_trace(kernel_trace(table, point), "trace");
  REQUIRE(kernels);
  const auto parts = parts_of(point);
  REQUIRE(parts[1].name == "transformer");
  const vtrain::KernelSequence& forward = kernels->at("Fwd_transformer");
  const std::size_t num_operators = parts[1].forward.size();
  REQUIRE(forward.kernels.size() == 2 * num_operators);
  CHECK(forward.kernels[0].duration_ns == 100);
  CHECK(forward.kernels[0].gap_ns == 10);
  CHECK(forward.kernels[1].gap_ns == -5);
  CHECK(forward.kernels.back().gap_ns == -5);  // to the head's first kernel
  // 150 an operator, 10 within each and -5 between two.
  CHECK(forward.duration_ns() == static_cast<std::int64_t>(150 * num_operators));
  CHECK(forward.inner_gap_ns() == static_cast<std::int64_t>(10 * num_operators - 5 * (num_operators - 1)));
  for (const char* const name : {"Fwd_embeddings", "Fwd_logit", "Fwd_loss", "Bwd_loss", "Bwd_logit",
                                 "Bwd_transformer", "Bwd_embeddings", "WU_embeddings", "WU_transformer"}) {
    CAPTURE(name);
    CHECK(kernels->count(name) == 1);
  }
  CHECK(kernels->count("WU_logit") == 0);
  CHECK(kernels->count("NONE") == 0);
}

TEST_CASE("trace_writer: a table without an operator makes no trace") {
  const ModelPoint point;
  const FakeDevice device;
  const KernelTable table("test", device.facts(), device.software());
  CHECK(!missing_keys(table, point).empty());
  CHECK_THROWS_AS(kernel_trace(table, point), std::logic_error);
}

TEST_CASE("trace_writer: file names as the release has them") {
  CHECK(trace_name({.hidden = 2048, .micro_batch = 8, .tensor = 4}) == "trace_2048_4_8");
}

}  // namespace
}  // namespace vtrain::profiler
