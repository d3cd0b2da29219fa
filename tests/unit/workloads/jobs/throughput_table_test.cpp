#include "workloads/jobs/throughput_table.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

using testing::TemporaryFolder;

std::string error_of(const std::string& table) {
  const TemporaryFolder folder;
  const auto tables = read_throughput_tables(folder.write("m.csv", table));
  REQUIRE(!tables);
  const std::string text = tables.error().describe();
  return text.substr(text.find("m.csv"));
}

TEST_CASE("throughput_table: levels and rows keep the order of the file, holes are 0") {
  const TemporaryFolder folder;
  folder.write("bert.csv", "global_batch_size,4,1,2\n64,3.5,1,nan\n32,6,,4\n");
  folder.write("vgg16.csv", "1,global_batch_size\n0.5,8\n");
  folder.write("README.md", "not a table");
  const auto tables = read_throughput_tables(folder.path());
  REQUIRE_MESSAGE(tables.has_value(), tables.error().describe());
  CHECK(tables->tables().size() == 2);
  const ThroughputTable* bert = tables->find("bert");
  REQUIRE(bert != nullptr);
  REQUIRE(bert->levels().size() == 3);
  CHECK(bert->levels()[0] == GpuCount(4));
  CHECK(bert->levels()[1] == GpuCount(1));
  CHECK(bert->rows()[0].global_batch == 64);
  CHECK(bert->rows()[1].global_batch == 32);
  CHECK(bert->iterations_per_s(64, GpuCount(4)) == 3.5);
  CHECK(bert->iterations_per_s(64, GpuCount(2)) == 0);
  CHECK(bert->iterations_per_s(32, GpuCount(1)) == 0);
  CHECK(bert->iterations_per_s(32, GpuCount(8)) == 0);
  CHECK(bert->iterations_per_s(16, GpuCount(1)) == 0);
  CHECK(tables->find("vgg16")->iterations_per_s(8, GpuCount(1)) == 0.5);
  CHECK(tables->find("gpt2") == nullptr);
}

TEST_CASE("throughput_table: a duration is iterations / throughput, or says what was not profiled") {
  const TemporaryFolder folder;
  const auto tables = read_throughput_tables(folder.write("bert.csv", "global_batch_size,1,2\n64,0.5,nan\n"));
  REQUIRE(tables);
  // 3 iterations / 0.5 a second = 6 s.
  CHECK(tables->duration("bert", 64, GpuCount(1), 3).value() == std::chrono::seconds(6));
  const auto hole = tables->duration("bert", 64, GpuCount(2), 3);
  REQUIRE(!hole);
  CHECK(hole.error().message ==
        "'bert' was not profiled on 2 GPUs at global batch 64; profiled numbers of GPUs are 1 and 2");
  const auto unknown = tables->duration("brt", 64, GpuCount(1), 3);
  REQUIRE(!unknown);
  CHECK(unknown.error().message == "expected a model of the throughput tables, 'bert', found 'brt'");
  const auto endless = tables->duration("bert", 64, GpuCount(1), std::int64_t{1} << 60);
  REQUIRE(!endless);
  CHECK(endless.error().kind == ErrorKind::InvalidInput);
}

TEST_CASE("throughput_table: what is wrong in a table is named with line and column") {
  CHECK(error_of("batch,1\n8,1\n") ==
        "m.csv:1: global_batch_size: column missing; the header has 'batch' and '1'");
  CHECK(error_of("global_batch_size,1,x\n8,1,1\n") ==
        "m.csv:1: expected a column for each number of GPUs once, found 'x'");
  CHECK(error_of("global_batch_size,1,1.0\n8,1,1\n") ==
        "m.csv:1: expected a column for each number of GPUs once, found '1.0'");
  CHECK(error_of("global_batch_size,1\n8,1\n8,2\n") ==
        "m.csv:3: global_batch_size: expected each global batch once, found '8'");
  for (const std::string bad : {"0", "-1", "inf", "fast"}) {
    CHECK(error_of("global_batch_size,2\n8," + bad + "\n") ==
          "m.csv:2: 2: expected iterations a second above 0, nan or nothing, found '" + bad + "'");
  }
  CHECK(error_of("global_batch_size,1\n0,1\n").starts_with("m.csv:2: global_batch_size: expected a whole"));
}

TEST_CASE("throughput_table: files that are missing, twice there or no tables") {
  const TemporaryFolder folder;
  CHECK(read_throughput_tables("/nowhere").error().kind == ErrorKind::NotFound);
  CHECK(read_throughput_tables(folder.path()).error().message == "no MODEL.csv in this folder");
  CHECK(read_throughput_tables(folder.write("a.txt", "x")).error().message ==
        "expected a folder of throughput tables, or MODEL.csv");
  folder.write("a.csv", "global_batch_size,1\n8,1\n");
  folder.write("a.csv.gz", "global_batch_size,1\n8,1\n");
  CHECK(read_throughput_tables(folder.path()).error().message == "two tables of the model 'a'");
}

TEST_CASE("throughput_table: Gavel's JSON, by GPU type and job type") {
  const TemporaryFolder folder;
  const auto by_type = read_gavel_throughputs(folder.write("t.json", R"json({
    "k80": {"('LM (batch size 5)', 1)": {"null": 0.0}},
    "v100": {"('LM (batch size 5)', 4)": {"null": 8, "('A3C', 1)": [1, 2]},
             "('LM (batch size 5)', 1)": {"null": 2.5}, "('A3C', 1)": {"null": 4}}})json"));
  REQUIRE_MESSAGE(by_type.has_value(), by_type.error().describe());
  CHECK(by_type->size() == 2);
  const ThroughputTables& v100 = by_type->find("v100")->second;
  CHECK(v100.tables().size() == 2);
  REQUIRE(v100.find("LM (batch size 5)") != nullptr);
  CHECK(v100.find("LM (batch size 5)")->levels().size() == 2);
  CHECK(v100.find("LM (batch size 5)")->levels()[0] == GpuCount(1));
  // 5 steps at 2.5 a second, and 6 at 8.
  CHECK(v100.duration("LM (batch size 5)", 0, GpuCount(1), 5).value() == std::chrono::seconds(2));
  CHECK(v100.duration("LM (batch size 5)", 0, GpuCount(4), 6).value() == std::chrono::milliseconds(750));
  const auto zero = by_type->find("k80")->second.duration("LM (batch size 5)", 0, GpuCount(1), 5);
  REQUIRE(!zero);
  CHECK(zero.error().kind == ErrorKind::NotFound);
}

TEST_CASE("throughput_table: JSON of another shape is an error that names the file") {
  const TemporaryFolder folder;
  for (const std::string bad :
       {R"json([])json", R"json({"v100": []})json", R"json({"v100": {"LM": {"null": 1}}})json",
        R"json({"v100": {"('LM', 0)": {"null": 1}}})json", R"json({"v100": {"('LM', 1)": 3}})json",
        R"json({"v100": {"('LM', 1)": {}}})json", R"json({"v100": {"('LM', 1)": {"null": -1}}})json",
        R"json({"v100": {"('LM', 1)": {"null": "1"}}})json", R"json({"v100": {"(', 1)": {"null": 1}}})json",
        "{"}) {
    CAPTURE(bad);
    const auto by_type = read_gavel_throughputs(folder.write("t.json", bad));
    REQUIRE(!by_type);
    CHECK(by_type.error().file.ends_with("t.json"));
    CHECK(!by_type.error().message.empty());
  }
}

}  // namespace
}  // namespace vtrain
