#include "profiler/kernel_table.hpp"

#include <filesystem>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/unit/profiler/fake_device.hpp"
#include "profiler/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain::profiler {
namespace {

namespace fs = std::filesystem;

Measurement measurement(std::int64_t time) {
  return {.repetitions = 20,
          .time_ns = time,
          .low_ns = time - 1,
          .high_ns = time + 2,
          .kernels = {{"void k<int, \"2\">(...)", time - 10, 3}, {"tail", 7, std::nullopt}}};
}

KernelTable sample_table() {
  const FakeDevice device;
  KernelTable table("vtrain-profile record --out x", device.facts(), device.software());
  Session session;
  session.started = "2026-01-02T03:04:05Z";
  session.ended = "2026-01-02T03:04:06Z";
  session.temperature_c = Spread{40, 50, 60};
  session.throttled = 0.25;
  table.begin_session(session);
  table.add(make_gemm(Pass::Forward, Format::Bf16, 4096, 12288, 4096), measurement(1000), measurement(1100));
  table.add(make_rows(OperatorKind::Gelu, Pass::Backward, Format::Fp16, 16, 32), measurement(50),
            measurement(60));
  CollectiveRow row;
  row.collective = Collective::AllReduce;
  row.num_gpus = 8;
  row.bytes = 16777216;
  row.key = collective_key(row.collective, 8, 1, row.bytes);
  row.repetitions = 20;
  row.time_ns = {90000, 100000, 120000};
  table.add(row);
  table.add(SkippedRow{"attention ...", "no engine"});
  return table;
}

TEST_CASE("kernel_table: what is written reads back, and writing it again gives the same bytes") {
  const std::string text = sample_table().to_json();
  const KernelTable table = KernelTable::parse(text);
  CHECK(table.to_json() == text);
  REQUIRE(table.operators().size() == 2);
  const OperatorRow* row = table.find("gemm forward bf16 m=4096 n=12288 k=4096");
  REQUIRE(row != nullptr);
  CHECK(row->warm.time_ns == 1000);
  CHECK(row->cold.time_ns == 1100);
  CHECK(row->warm.kernels[0].name == "void k<int, \"2\">(...)");
  CHECK(row->warm.kernels[0].gap_ns == 3);
  CHECK(!row->warm.kernels[1].gap_ns);
  CHECK(table.sessions()[0].temperature_c->median == 50);
  CHECK(!table.sessions()[0].sm_clock_hz);
  CHECK(table.skipped()[0].reason == "no engine");
  CHECK(table.contains("all_reduce gpus=8 nodes=1 bytes=16777216"));
  CHECK(table.find("all_reduce gpus=8 nodes=1 bytes=16777216") == nullptr);
}

TEST_CASE("kernel_table: the text follows the schema") {
  const std::string text = sample_table().to_json();
  // Products: 2 * 4096 * 12288 * 4096 operations; 2 (4096 * 4096 + 4096 * 12288 + 4096 * 12288) bytes.
  CHECK(
      text.find(
          "{\"key\": \"gemm forward bf16 m=4096 n=12288 k=4096\", \"operator\": \"gemm\", \"pass\": "
          "\"forward\", "
          "\"precision\": \"bf16\", \"shape\": {\"m\": 4096, \"n\": 12288, \"k\": 4096}, \"flops\": "
          "412316860416, \"bytes\": 234881024, \"session\": 0, \"warm\": {\"repetitions\": 20, \"time_ns\": "
          "1000, \"low_ns\": 999, \"high_ns\": 1002, \"kernels\": [{\"name\": 0, \"duration_ns\": 990, "
          "\"gap_ns\": 3}, {\"name\": 1, \"duration_ns\": 7, \"gap_ns\": null}]}") != std::string::npos);
  // 16 MiB in 100 us are 167.77 GB/s, times 7/4.
  CHECK(text.find("\"algorithm_bandwidth\": 167772160000, \"bus_bandwidth\": 293601280000") !=
        std::string::npos);
  CHECK(text.find("\"throttled\": 0.25") != std::string::npos);
  CHECK(text.find("\"sm_clock_hz\": null") != std::string::npos);
}

TEST_CASE("kernel_table: a further recording keeps the lines there are") {
  const std::string before = sample_table().to_json();
  KernelTable table = KernelTable::parse(before);
  table.begin_session({});
  table.add(make_adam(Format::Bf16, 100), measurement(70), measurement(80));
  const std::string after = table.to_json();
  const auto line_of = [](const std::string& text, std::string_view start) {
    const std::size_t begin = text.find(start);
    REQUIRE(begin != std::string::npos);
    return text.substr(begin, text.find_first_of(",\n]", text.find("\"cold\"", begin)) - begin);
  };
  CHECK(line_of(after, "{\"key\": \"gemm") == line_of(before, "{\"key\": \"gemm"));
  CHECK(after.find("\"session\": 1, \"warm\"") != std::string::npos);
  CHECK(after.find("\"skipped\": []") != std::string::npos);
}

TEST_CASE("kernel_table: wrong tables are refused with the place") {
  const std::string text = sample_table().to_json();
  const auto refusal = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    try {
      KernelTable::parse(changed);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal("vtrain-kernel-table", "other") == "schema: expected vtrain-kernel-table, found 'other'");
  CHECK(refusal("\"version\": 1", "\"version\": 2") == "version: expected 1, found '2'");
  CHECK(refusal("\"name\": 1,", "\"name\": 2,") ==
        "operators[0].warm.kernels[1].name: expected a position in kernel_names, found '2'");
  CHECK(refusal("\"session\": 0", "\"session\": 1") ==
        "operators[0].session: expected a position in sessions, found '1'");
  CHECK(refusal("\"key\": \"gelu backward fp16 rows=16 columns=32\"",
                "\"key\": \"gemm forward bf16 m=4096 n=12288 k=4096\"")
            .find("operators[1].key: expected a key that is new") == 0);
  CHECK(refusal("\"all_reduce\", \"num", "\"reduce\", \"num") ==
        "collectives[0].collective: expected a collective, found 'reduce'");
}

TEST_CASE("kernel_table: rows need a session and new keys") {
  const FakeDevice device;
  KernelTable table("", device.facts(), device.software());
  CHECK_THROWS_AS(table.add(make_adam(Format::Bf16, 1), {}, {}), std::logic_error);
  table.begin_session({});
  table.add(make_adam(Format::Bf16, 1), {}, {});
  CHECK_THROWS_AS(table.add(make_adam(Format::Bf16, 1), {}, {}), std::logic_error);
}

TEST_CASE("kernel_table: files are replaced as a whole, and only a recording of the same device goes on") {
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "outer" / "inner" / "kernel_table.json";  // in folders still to be made
  const FakeDevice device;
  CHECK(open_table(file, "me", device.facts(), device.software()).operators().empty());
  write_whole(file, sample_table().to_json());
  CHECK(read_whole(file) == sample_table().to_json());
  CHECK(open_table(file, "me", device.facts(), device.software()).operators().size() == 2);
  DeviceFacts other = device.facts();
  other.name = "NVIDIA Other";
  CHECK_THROWS_AS(open_table(file, "me", other, device.software()), InputError);
  SoftwareFacts newer = device.software();
  newer.cublaslt = 130200;
  CHECK_THROWS_AS(open_table(file, "me", device.facts(), newer), InputError);
  // Only the table itself is left in the folder.
  CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()) == 1);
  CHECK_THROWS_AS(write_whole("/proc/none/table.json", "x"), std::runtime_error);
}

}  // namespace
}  // namespace vtrain::profiler
