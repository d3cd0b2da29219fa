#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>

#include "tests/support/packed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "traces/trace_format.hpp"

using namespace std::chrono_literals;
using vtrain::Job;
using vtrain::parse_trace;
using vtrain::SimTime;
using vtrain::testing::gzip;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::zstd;

namespace {

/// A folder with a throughputs file: a step of `LM` takes 0.5 s on a V100 and 2 s on a K80.
class Folder {
 public:
  Folder() {
    folder_.write("throughputs.json", R"json({"v100": {"('LM (batch size 5)', 2)": {"null": 2.0}},
                   "k80": {"('LM (batch size 5)', 2)": {"null": 0.5}}})json");
  }
  std::string operator/(const std::string& name) const { return (folder_ / name).string(); }

 private:
  TemporaryFolder folder_;
};

std::string seven(const std::string& steps, const std::string& arrival, const std::string& num_gpus) {
  return "LM (batch size 5)\tcd %s && python3 main.py\t--steps\t1\t" + steps + "\t" + arrival + "\t" +
         num_gpus + "\n";
}
std::string ten(const std::string& num_gpus, const std::string& slo) {
  return "LM (batch size 5)\tpython3 main.py\tlm\t--steps\t1\t20\t" + num_gpus + "\t1\t" + slo + "\t3.5\n";
}
std::string twelve(const std::string& slo) {
  return "LM (batch size 5)\tpython3 main.py\tlm\t--steps\t1\t20\t2\tgns\t1\t" + slo + "\t1418\t7\n";
}

}  // namespace

TEST_CASE("gavel: seven fields, priced with the throughputs beside the trace") {
  const Folder folder;
  const auto trace = parse_trace(seven("10", "4.500000", "2") + seven("20", "1", "2"), folder / "x.trace");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == "gavel");
  const Job& job = trace->workload.jobs[1];  // the first row, which comes later
  CHECK(job.name == "0");
  CHECK(job.submit == SimTime(4500ms));
  CHECK(job.duration == 5s);  // 10 steps at 2 a second
  CHECK(job.iterations == 10);
  CHECK(job.num_gpus.value == 2);
  CHECK_FALSE(job.has_deadline());
  CHECK(trace->workload.models[job.model.value] == "LM (batch size 5)");
  REQUIRE(trace->assumptions.size() == 1);
  CHECK(trace->assumptions[0] ==
        "run times are steps / throughput on v100, from " + (folder / "throughputs.json"));
}

TEST_CASE("gavel: ten fields; an SLO is a multiple of the run time, below 0 there is none") {
  const Folder folder;
  const auto trace = parse_trace(ten("2", "-1.000000") + ten("2", "1.2") + ten("2", "0"), "x.trace", "auto",
                                 {.throughputs = folder / "throughputs.json", .throughputs_gpu = "k80"});
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK_FALSE(trace->workload.jobs[0].has_deadline());
  CHECK(trace->workload.jobs[1].duration == 40s);               // 20 steps at 0.5 a second
  CHECK(trace->workload.jobs[1].deadline == SimTime(51500ms));  // 3.5 + 1.2 x 40
  CHECK(trace->workload.jobs[2].deadline == SimTime(3500ms));
}

TEST_CASE("gavel: Shockwave's twelve fields say the run time") {
  const auto trace = parse_trace(twelve("-1.000000") + twelve("2"), "x.trace");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs[0].duration == 1418s);
  CHECK(trace->workload.jobs[0].submit == SimTime(7s));
  CHECK(trace->workload.jobs[1].deadline == SimTime(2843s));  // 7 + 2 x 1418
  CHECK(trace->assumptions.empty());
}

TEST_CASE("gavel: jobs that were not profiled are skipped and counted, under strict an error") {
  const Folder folder;
  const std::string text = seven("10", "0", "2") + seven("10", "0", "4") + seven("10", "0", "2");
  const auto trace = parse_trace(text, folder / "x.trace");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  REQUIRE(trace->workload.jobs.size() == 2);
  CHECK(trace->workload.jobs[1].name == "2");  // the number of the row
  REQUIRE(trace->skipped.reasons().size() == 1);
  CHECK(trace->skipped.reasons()[0].text == "job type not profiled on so many GPUs");
  CHECK(trace->skipped.reasons()[0].first_lines == std::vector<std::int64_t>{2});
  const auto strict = parse_trace(text, folder / "x.trace", "auto", {.strict = true});
  REQUIRE(!strict);
  CHECK(strict.error().message ==
        "'LM (batch size 5)' was not profiled on 4 GPUs; profiled numbers of GPUs are 2");
}

TEST_CASE("gavel: the throughputs beside the trace may be packed") {
  const std::string table = R"json({"v100": {"('LM (batch size 5)', 2)": {"null": 2.0}}})json";
  for (const auto& [suffix, text] : {std::pair{".gz", gzip(table)}, std::pair{".zst", zstd(table)}}) {
    const TemporaryFolder folder;
    folder.write(std::string("throughputs.json") + suffix, text);
    const auto trace = parse_trace(seven("10", "0", "2"), (folder / "x.trace").string());
    REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
    CHECK(trace->workload.jobs[0].duration == 5s);
  }
}

TEST_CASE("gavel: errors name line and field, and what throughputs are needed") {
  const Folder folder;
  const auto error_of = [&](const std::string& text, const vtrain::ReadOptions& options = {}) {
    const auto trace = parse_trace(text, "x.trace", "gavel", options);
    REQUIRE_FALSE(trace.has_value());
    return trace.error().describe();
  };
  const vtrain::ReadOptions priced{.throughputs = folder / "throughputs.json"};
  CHECK(error_of("a\tb\n") == "x.trace:1: expected 7, 10 or 12 fields separated by tabs, found 2");
  CHECK(error_of(twelve("-1") + ten("2", "-1")) ==
        "x.trace:2: expected 12 fields separated by tabs, found 10");
  CHECK(error_of(seven("0", "0", "1"), priced) ==
        "x.trace:1: total_steps: expected a whole number of at least 1, found '0'");
  CHECK(error_of(seven("1", "-1", "1"), priced).starts_with("x.trace:1: arrival_time: expected seconds"));
  CHECK(error_of(seven("1", "0", "0"), priced) ==
        "x.trace:1: scale_factor: expected a whole number of at least 1, found '0'");
  CHECK(error_of(ten("2", "nan"), priced).starts_with("x.trace:1: SLO: expected a number"));
  CHECK(error_of(twelve("3000000")) ==
        "x.trace:1: SLO: expected an instant at most 100 years after the trace's origin");
  CHECK(
      error_of(seven("1", "0", "1")) ==
      "x.trace:1: duration: the trace has steps but no run times: name the file with the throughputs of its "
      "job types (--throughputs simulation_throughputs.json)");
  const auto other = parse_trace(seven("1", "0", "2"), "x.trace", "gavel",
                                 {.throughputs = folder / "throughputs.json", .throughputs_gpu = "p100"});
  REQUIRE(!other);
  CHECK(other.error().message == "expected one of the GPU types 'k80' and 'v100', found 'p100'");
}
