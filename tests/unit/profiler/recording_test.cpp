#include "profiler/recording.hpp"

#include <filesystem>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/profiler/fake_device.hpp"

namespace vtrain::profiler {
namespace {

namespace fs = std::filesystem;

using testing::TemporaryFolder;

/// A path in a subfolder that the recording must make.
fs::path table_in(const TemporaryFolder& folder) {
  return folder / "recording" / "kernel_table.json";
}

/// A context whose clock advances by one second per call.
RecordingContext context_in(const TemporaryFolder& folder, double& now) {
  RecordingContext context;
  context.file = table_in(folder);
  context.now_s = [&now] { return now += 1; };
  context.utc_now = [] { return std::string("2026-01-01T00:00:00Z"); };
  context.is_interrupted = [] { return false; };
  context.on_progress = [](std::size_t, std::size_t, double) {};
  return context;
}

KernelTable empty_table(const FakeDevice& device) {
  KernelTable table("test", device.facts(), device.software());
  table.begin_session({});
  return table;
}

std::vector<Operator> gemms(std::int64_t count) {
  std::vector<Operator> operators;
  for (std::int64_t i = 1; i <= count; ++i)
    operators.push_back(make_gemm(Pass::Forward, Format::Bf16, 64 * i, 64, 64));
  return operators;
}

TEST_CASE("measure: warm and cold repetitions of an operator") {
  FakeDevice device;
  const OperatorMeasurement made = measure(device, gemms(1)[0], {});
  CHECK(made.warm.repetitions == 20);
  CHECK(made.warm.time_ns == 1150);  // 1000, a gap of 100, 50
  CHECK(made.cold.time_ns == 2150);
  REQUIRE(made.warm.kernels.size() == 2);
  CHECK(made.warm.kernels[0].gap_ns == 100);
  CHECK(made.warm.kernels[1].gap_ns == 30);
  CHECK(!made.cold.kernels[1].gap_ns);
  CHECK(made.dropped_records == 0);
}

TEST_CASE("measure: lost records are measured again") {
  FakeDevice device;
  int launches = 0;
  device.loses = [&](std::uint64_t) { return launches++ < 15; };  // 15 of the first 20 repetitions
  const OperatorMeasurement made = measure(device, gemms(1)[0], {});
  CHECK(made.warm.repetitions == 20);
  CHECK(made.dropped_records == 30);
  device.loses = [](std::uint64_t) { return true; };
  CHECK_THROWS_AS(measure(device, gemms(1)[0], {}), NotMeasurable);
}

TEST_CASE("measure: what does not fit into memory is not tried") {
  FakeDevice device;
  device.memory = std::size_t{2} << 30;
  CHECK_THROWS_AS(measure(device, make_adam(Format::Bf16, 1LL << 30), {}), NotMeasurable);
  CHECK(device.num_prepared == 0);
}

TEST_CASE("recording: goes on where an interrupted one stopped") {
  const TemporaryFolder folder;
  FakeDevice device;
  double now = 0;
  RecordingContext context = context_in(folder, now);
  KernelTable table = empty_table(device);
  int asked = 0;
  context.is_interrupted = [&] { return ++asked > 3; };
  RecordingOutcome outcome = record_operators(device, gemms(5), {}, table, context);
  CHECK(outcome.measured == 3);
  CHECK(outcome.remaining == 2);

  KernelTable again = open_table(table_in(folder), "test", device.facts(), device.software());
  again.begin_session({});
  const std::vector<Operator> missing = missing_operators(gemms(5), again);
  REQUIRE(missing.size() == 2);
  CHECK(missing[0] == gemms(5)[3]);
  context.is_interrupted = [] { return false; };
  outcome = record_operators(device, missing, {}, again, context);
  CHECK(outcome.measured == 2);
  CHECK(device.num_prepared == 5);
  const KernelTable whole = KernelTable::parse(read_whole(table_in(folder)));
  CHECK(whole.operators().size() == 5);
  CHECK(whole.sessions().size() == 2);
  CHECK(whole.operators()[0].session == 0);
  CHECK(whole.operators()[4].session == 1);
  CHECK(missing_operators(gemms(5), whole).empty());
}

TEST_CASE("recording: nothing is begun after the time limit") {
  const TemporaryFolder folder;
  FakeDevice device;
  double now = 0;
  RecordingContext context = context_in(folder, now);
  context.time_limit_s = 4;
  KernelTable table = empty_table(device);
  const RecordingOutcome outcome = record_operators(device, gemms(100), {}, table, context);
  CHECK(outcome.measured > 0);
  CHECK(outcome.measured < 5);
  CHECK(outcome.remaining == 100 - outcome.measured);
}

TEST_CASE("recording: what cannot run is noted and tried again by the next recording") {
  const TemporaryFolder folder;
  FakeDevice device;
  device.refuses = [](const Operator& op) { return op.size("m") == 128; };
  double now = 0;
  KernelTable table = empty_table(device);
  const RecordingOutcome outcome = record_operators(device, gemms(3), {}, table, context_in(folder, now));
  CHECK(outcome.measured == 2);
  CHECK(outcome.skipped == 1);
  REQUIRE(table.skipped().size() == 1);
  CHECK(table.skipped()[0].reason == "refused");
  CHECK(missing_operators(gemms(3), table).size() == 1);
  // Half of the samples were throttled: those after an even number of prepared operators. One of three here:
  // 1, 1, 2.
  CHECK(*table.sessions()[0].throttled == doctest::Approx(1.0 / 3));
  CHECK(table.sessions()[0].temperature_c->median == 50);
}

TEST_CASE("recording: a failure leaves the file whole") {
  const TemporaryFolder folder;
  FakeDevice device;
  device.refuses = [](const Operator& op) -> bool {
    if (op.size("m") == 64 * 8) throw std::runtime_error("the GPU fell off the bus");
    return false;
  };
  double now = 0;
  KernelTable table = empty_table(device);
  CHECK_THROWS_AS(record_operators(device, gemms(9), {}, table, context_in(folder, now)), std::runtime_error);
  const KernelTable saved = KernelTable::parse(read_whole(table_in(folder)));
  CHECK(saved.operators().size() >= 3);  // saved every 5 s of a clock that advances with every question
  CHECK(saved.operators().size() <= 7);
}

/// Collectives of GPUs on nodes of four, which take one microsecond per KiB.
class FakeCollectives : public CollectiveRunner {
 public:
  explicit FakeCollectives(std::int64_t gpus) : gpus_(gpus) {}
  std::int64_t num_gpus() const override { return gpus_; }
  std::int64_t num_nodes(std::int64_t num_gpus) const override { return (num_gpus + 3) / 4; }
  bool is_leader() const override { return true; }
  bool agree(bool value) override { return value; }
  std::vector<double> measure(Collective collective, std::int64_t, std::int64_t bytes) override {
    if (collective == Collective::SendRecv) throw NotMeasurable("no peers");
    const double time = static_cast<double>(bytes) / 1024 * 1000;
    return {time, time, time};
  }

 private:
  std::int64_t gpus_;
};

TEST_CASE("recording: a sweep of collectives over GPU counts and sizes") {
  const TemporaryFolder folder;
  const FakeDevice device;
  double now = 0;
  KernelTable table = empty_table(device);
  FakeCollectives runner(6);
  const SweepSpec sweep{.least_bytes = 1024, .most_bytes = 4096, .gpu_counts = {}};
  RecordingOutcome outcome = record_collectives(runner, sweep, table, context_in(folder, now));
  // 2, 4 and 6 GPUs; 3 sizes; four collectives run and one does not.
  CHECK(outcome.measured == 3 * 3 * 4);
  CHECK(outcome.skipped == 9);
  CHECK(table.contains("all_gather gpus=6 nodes=2 bytes=2048"));
  CHECK(table.contains("all_to_all gpus=4 nodes=1 bytes=4096"));
  outcome = record_collectives(runner, sweep, table, context_in(folder, now));
  CHECK(outcome.measured == 0);
  const SweepSpec asked{.least_bytes = 1024, .most_bytes = 1024, .gpu_counts = {8}};
  CHECK(record_collectives(runner, asked, table, context_in(folder, now)).skipped == 5);
  CHECK(table.skipped().back().reason == "only 6 GPUs");
}

TEST_CASE("recording: one GPU says what it cannot measure") {
  const TemporaryFolder folder;
  const FakeDevice device;
  double now = 0;
  KernelTable table = empty_table(device);
  FakeCollectives runner(1);
  const RecordingOutcome outcome = record_collectives(runner, {}, table, context_in(folder, now));
  CHECK(outcome.measured == 0);
  REQUIRE(table.skipped().size() == 1);
  CHECK(table.skipped()[0].reason == "one GPU: collectives need at least two");
}

}  // namespace
}  // namespace vtrain::profiler
