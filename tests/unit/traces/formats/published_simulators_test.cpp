// Known answers: the counts of published traces of simulators, those of their READMEs and, where they have
// none, of a separate script.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/io/input.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/support/tar_archive.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/trace_format.hpp"
#include "workloads/jobs/throughput_table.hpp"

using vtrain::have;
using vtrain::read_trace;
using vtrain::Trace;

namespace {

const std::filesystem::path kShared = VTRAIN_SHARED_DIR;

/// Counts of `trace info` for one file.
struct Counts {
  const char* file;
  std::int64_t jobs;
  std::int64_t gpu_hours;
  std::int64_t with_deadline = 0;
  std::int64_t skipped = 0;
};

void check_counts(const std::filesystem::path& folder, std::string_view format, const Counts& expected) {
  const auto trace = read_trace((folder / expected.file).string());
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CAPTURE(expected.file);
  CHECK(trace->format == format);
  const vtrain::TraceStatistics statistics = vtrain::trace_statistics(trace->workload);
  CHECK(statistics.jobs == expected.jobs);
  CHECK(std::llround(statistics.gpu_hours) == expected.gpu_hours);
  CHECK(statistics.with_deadline == expected.with_deadline);
  CHECK(trace->skipped.total() == expected.skipped);
}

/// The first fenced block of a section of the description of the formats; empty if it is absent.
std::string sample_lines(const std::string& heading) {
  const auto path = kShared / "data/traces/FORMATS.md";
  if (!have(path)) return {};
  const std::string text = vtrain::read_file(path, vtrain::InputKind::Trace).value();
  const std::size_t section = text.find("\n" + heading);
  REQUIRE(section != std::string::npos);
  const std::size_t open = text.find("```\n", section) + 4;
  return text.substr(open, text.find("```", open) - open);
}

}  // namespace

TEST_CASE("published simulators: Muri's four traces") {
  const auto folder = kShared / "data/traces/muri";
  if (!have(folder)) return;
  for (const Counts& expected :
       {Counts{"trace1.csv.gz", 1'494, 383'327}, Counts{"trace2.csv.gz", 5'755, 824'082},
        Counts{"trace3.csv.gz", 992, 116'690}, Counts{"trace4.csv.gz", 2'638, 204'902}}) {
    check_counts(folder, "muri", expected);
  }
}

TEST_CASE("published simulators: Chronus' three traces of 30,940 rows, of which some ask for no GPU") {
  const auto folder = kShared / "data/traces/chronus";
  if (!have(folder)) return;
  for (const Counts& expected : {Counts{"trace_job_Philly_MIX1.csv.gz", 30'756, 371'328, 21'600, 184},
                                 Counts{"trace_job_Philly_MIX2.csv.gz", 30'746, 378'975, 27'621, 194},
                                 Counts{"trace_job_Philly_SLO.csv.gz", 30'735, 368'511, 30'735, 205}}) {
    CHECK(expected.jobs + expected.skipped == 30'940);
    check_counts(folder, "chronus", expected);
  }
  const auto trace = read_trace((folder / "trace_job_Philly_SLO.csv.gz").string());
  REQUIRE(trace);
  CHECK(trace->workload.jobs.front().submit == vtrain::SimTime(std::chrono::minutes(1)));
  CHECK(trace->workload.jobs.back().submit == vtrain::SimTime(std::chrono::minutes(20'151)));
  CHECK(trace->workload.users.size() == 11);
}

TEST_CASE("published simulators: Shockwave's five traces have run times of their own") {
  const auto folder = kShared / "data/traces/shockwave";
  if (!have(folder)) return;
  constexpr const char* kRest = "_0-0.5-0.5_0.6-0.3-0.09-0.01_multigpu_dynamic.trace.gz";
  for (const auto& [name, jobs, gpu_hours] : {std::tuple{"120_0.2_5_100_40_25", 120, 198},
                                              {"220_0.2_5_100_25_4", 220, 404},
                                              {"460_0.2_5_100_10_1", 460, 896},
                                              {"900_0.2_5_1000_5_15", 900, 1'705},
                                              {"900_0.2_5_100_5_15", 900, 1'612}}) {
    check_counts(folder, "gavel", {(std::string(name) + kRest).c_str(), jobs, gpu_hours});
  }
}

TEST_CASE("published simulators: Gavel's traces, as many jobs as its throughputs can run") {
  const auto folder = kShared / "data/traces/gavel";
  if (!have(folder)) return;
  for (const Counts& expected :
       {Counts{"physical_max_min_fairness.trace", 96, 393},
        Counts{"physical_minimize_makespan.trace", 100, 601}, Counts{"physical_small_test.trace", 20, 0},
        Counts{"msr_seed0_103959.trace.gz", 861, 27'333, 0, 125},
        Counts{"msr_seed0_ed69ec.trace.gz", 951, 30'233}}) {
    check_counts(folder, "gavel", expected);
  }
  // Rows, and those that the throughputs have, of the other traces.
  struct Counts {
    std::string name;
    std::int64_t rows;
    std::int64_t jobs;
  };
  for (const Counts& of : {Counts{"0e4a51", 1'181, 984},
                           {"11cb48", 2'000, 1'819},
                           {"23dbec", 9, 8},
                           {"2869ce", 533, 354},
                           {"51b7ef", 18, 17},
                           {"6214e9", 2'000, 1'985},
                           {"6c71a0", 2'000, 1'937},
                           {"795a4c", 3, 3},
                           {"7f04ca", 972, 789},
                           {"925e2b", 4, 3},
                           {"b436b2", 2'000, 1'874},
                           {"e13805", 607, 504},
                           {"ee9e8c", 2'000, 1'627}}) {
    const auto trace = read_trace((folder / ("msr_seed0_" + of.name + ".trace.gz")).string());
    CAPTURE(of.name);
    REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
    CHECK(std::ssize(trace->workload.jobs) == of.jobs);
    CHECK(std::ssize(trace->workload.jobs) + trace->skipped.total() == of.rows);
  }
}

TEST_CASE("published simulators: the throughputs of ElasticFlow give the durations of its own trace") {
  const auto folder = kShared / "golden/schedules/ef_dlas_philly32";
  if (!have(folder)) return;
  check_counts(folder, "elasticflow", {"trace.csv", 876, 42'816, 876});
  if (have(kShared / "data/traces/elasticflow")) {
    check_counts(kShared / "data/traces/elasticflow", "elasticflow",
                 {"philly_103959.csv.gz", 876, 42'816, 876});
  }
  const auto trace = read_trace((folder / "trace.csv").string());
  const auto tables = vtrain::read_throughput_tables(folder / "throughputs");
  REQUIRE(trace);
  REQUIRE_MESSAGE(tables.has_value(), tables.error().describe());
  CHECK(tables->tables().size() == 6);
  CHECK(tables->find("bert")->levels().size() == 7);
  for (const vtrain::Job& job : trace->workload.jobs) {
    const auto duration = tables->duration(trace->workload.models[job.model.value], job.global_batch,
                                           job.num_gpus, job.iterations);
    REQUIRE_MESSAGE(duration.has_value(), duration.error().describe());
    // The trace rounds to seconds, and iterations to whole ones.
    CHECK(vtrain::to_seconds(*duration) == doctest::Approx(vtrain::to_seconds(job.duration)).epsilon(1e-3));
    CHECK(job.max_gpus.value >= 1);
  }
}

TEST_CASE("published simulators: ElasticFlow's released traces have the jobs of the ITP traces") {
  const auto archive = kShared / "data/traces/elasticflow/elasticflow-traces.tar.gz";
  const auto itp_folder = kShared / "data/traces/itp";
  if (!have(archive) || !have(itp_folder)) return;
  const auto files = vtrain::read_tar_gz(archive);
  std::size_t jobs = 0;
  for (const auto& file : files) {
    const std::string& name = file.first;
    const std::string& text = file.second;
    if (!name.starts_with("cluster")) continue;
    CAPTURE(name);
    const auto trace = vtrain::parse_trace(text, name);
    const auto itp = read_trace((itp_folder / (name + ".gz")).string());
    REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
    REQUIRE(itp);
    CHECK(trace->format == "elasticflow");
    REQUIRE(trace->workload.jobs.size() == itp->workload.jobs.size());
    jobs += trace->workload.jobs.size();
    std::int64_t differences = 0;
    for (std::size_t i = 0; i < trace->workload.jobs.size(); ++i) {
      const vtrain::Job& a = trace->workload.jobs[i];
      const vtrain::Job& b = itp->workload.jobs[i];
      const bool same =
          a.name == b.name && a.submit == b.submit && a.duration == b.duration && a.num_gpus == b.num_gpus;
      differences += same && a.has_deadline() && a.iterations > 0 && a.global_batch > 0 ? 0 : 1;
    }
    CHECK(differences == 0);
    CHECK(trace->workload.models.size() <= 6);
  }
  CHECK(jobs == 69'351);
  const auto other = files.find("195job.csv");
  REQUIRE(other != files.end());
  CHECK(vtrain::parse_trace(other->second, "195job.csv").value().workload.jobs.size() == 195);
}

TEST_CASE("published simulators: the sample lines of formats whose files are not there") {
  if (!have(kShared / "data/traces/FORMATS.md")) return;
  const auto sia = vtrain::parse_trace(sample_lines("## 9."), "sia");
  REQUIRE_MESSAGE(sia.has_value(), sia.error().describe());
  CHECK(sia->format == "sia");
  CHECK(sia->workload.jobs.size() == 2);

  // The third line, from another log, has the number of the first.
  const auto swf = vtrain::parse_trace(sample_lines("## 10."), "swf");
  REQUIRE_MESSAGE(swf.has_value(), swf.error().describe());
  CHECK(swf->format == "swf");
  REQUIRE(swf->workload.jobs.size() == 2);
  CHECK(swf->workload.jobs[0].num_gpus.value == 30);
  CHECK(swf->workload.jobs[1].requested_time == std::chrono::hours(12));
  CHECK(swf->skipped.total() == 1);

  // The only published lines come from an export without times.
  const auto sacct = vtrain::parse_trace(sample_lines("## 11."), "sacct");
  REQUIRE_FALSE(sacct.has_value());
  CHECK(sacct.error().field == "Submit");
}
