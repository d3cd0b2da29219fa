#include "traces/trace_format.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/strings.hpp"
#include "tests/support/packed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trace_examples.hpp"
#include "workloads/jobs/job.hpp"

using vtrain::kTraceExamples;
using vtrain::parse_trace;
using vtrain::trace_formats;
using vtrain::testing::TemporaryFolder;

namespace {

/// Formats with several tables: name, main file, another file.
constexpr std::string_view kTableExamples[][5] = {
    {"pai", "pai_job_table.csv", "j1,i1,u1,Terminated,1000.0,1600.0\n", "pai_task_table.csv",
     "j1,worker,4.0,Terminated,1005.0,1600.0,600.0,29.3,50.0,MISC\n"},
    {"lingjun", "job.csv",
     "job_name,status,gmt_job_submitted,gmt_job_running,gmt_job_finished\n"
     "d,Succeeded,2023/7/15 02:19,2023/7/15 02:20,2023/7/15 12:20\n",
     "worker.csv", "job_name,RES\nd,\"{\"\"nvidia.com/gpu\"\": 8}\"\n"},
};

}  // namespace

TEST_CASE(
    "trace_format: a folder or the main file of a format of several tables is read with the files beside "
    "it") {
  for (const auto& example : kTableExamples) {
    const auto& [name, main_file, main_text, other_file, other_text] = example;
    CAPTURE(example[0]);
    const TemporaryFolder folder;
    const std::filesystem::path main_path = folder.write(main_file, main_text);
    for (const vtrain::TraceFormat& format : trace_formats())
      CHECK(format.recognise(main_text) == (format.name == name));
    const auto alone = vtrain::read_trace(folder.path().string());
    REQUIRE_FALSE(alone.has_value());
    CHECK(alone.error().kind == vtrain::ErrorKind::NotFound);
    CHECK(alone.error().describe() == main_path.string() + ": expected " + std::string(other_file) +
                                          " beside it, which says how many GPUs each job has");

    const std::filesystem::path other_path = folder.write(other_file, other_text);
    for (const std::string& path : {folder.path().string(), main_path.string()}) {
      const auto trace = vtrain::read_trace(path);
      REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
      CHECK(trace->format == name);
      REQUIRE(trace->workload.jobs.size() == 1);
      CHECK(vtrain::job_error(trace->workload, trace->workload.jobs[0], {}).file == main_path.string());
      CHECK(trace->workload.jobs[0].line == std::count(main_text.begin(), main_text.end(), '\n'));
      CHECK(trace->files == std::vector<std::string>{main_path.string(), other_path.string()});
    }
    CHECK_FALSE(vtrain::read_trace(folder.path().string(), "itp").has_value());
  }
  const TemporaryFolder empty;
  const auto none = vtrain::read_trace(empty.path().string());
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().message == "expected a file, or a folder with one of 'pai_job_table.csv' and 'job.csv'");
}

TEST_CASE("trace_format: every format is recognised by its content, and by no other") {
  // Formats of several tables are shown below.
  CHECK(trace_formats().size() == std::size(kTraceExamples) + std::size(kTableExamples));
  for (const auto& example : kTraceExamples) {
    const auto& [name, text] = example;
    const auto trace = parse_trace(text, "f");
    CAPTURE(example[0]);
    REQUIRE(trace.has_value());
    CHECK(trace->format == name);
    REQUIRE(trace->workload.jobs.size() == 1);
    // The job stands on the last line, where errors that are found later look for it.
    const auto line = 1 + std::count(text.begin(), text.end() - 1, '\n');
    CHECK(vtrain::job_error(trace->workload, trace->workload.jobs[0], {}).file == "f");
    CHECK(vtrain::job_error(trace->workload, trace->workload.jobs[0], {}).line == line);
    for (const vtrain::TraceFormat& format : trace_formats()) {
      CHECK(format.recognise(text) == (format.name == name));
    }
  }
}

TEST_CASE("trace_format: variants of Tiresias' columns in other units are not taken for it") {
  const auto other = parse_trace("job_id,num_gpu,submit_time,duration,time_unit\n0,1,0,9,hours\n", "f");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().describe().starts_with("f:1: expected a trace in one of the formats 'vtrain', "));
  CHECK(other.error().describe().find("found 'job_id,num_gpu") != std::string::npos);
}

TEST_CASE("trace_format: an unknown format is answered with the nearest known one") {
  const auto trace = parse_trace("", "f", "phily");
  REQUIRE_FALSE(trace.has_value());
  CHECK(trace.error().message == "unknown trace format 'phily'; did you mean 'philly'?");
}

TEST_CASE("trace_format: an archive of several files is named as such") {
  const auto trace = parse_trace(vtrain::testing::tar_member("cluster.csv", "job_id\n"), "traces.tar");
  REQUIRE_FALSE(trace.has_value());
  CHECK(trace.error().describe() == "traces.tar: a tar archive: unpack it and name the files in it");
}

TEST_CASE("trace_format: binary junk and a truncated gzip file are errors that can be printed") {
  const auto junk = parse_trace(std::string_view("\x7f"
                                                 "ELF\x02\x01\x01\x00\x00\n\x00",
                                                 11),
                                "f");
  REQUIRE_FALSE(junk.has_value());
  CHECK(junk.error().describe().ends_with("found '\\x7fELF\\x02\\x01\\x01\\x00\\x00'"));

  const TemporaryFolder folder;
  const std::filesystem::path path =
      folder.write("jobs.csv.gz", std::string_view("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb", 11));
  const auto truncated = vtrain::read_trace(path.string());
  REQUIRE_FALSE(truncated.has_value());
  CHECK(truncated.error().message == "truncated gzip data");

  const auto absent = vtrain::read_trace("/nowhere/jobs.csv");
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().kind == vtrain::ErrorKind::NotFound);
}

TEST_CASE("trace_format: only formats with a writer are found for writing") {
  const auto csv = vtrain::find_written_format("vtrain");
  REQUIRE(csv.has_value());
  CHECK((*csv)->name == "vtrain");
  const auto unknown = vtrain::find_written_format("vtrian");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().describe() == "format: unknown trace format 'vtrian'; did you mean 'vtrain'?");
  CHECK_FALSE(vtrain::find_written_format("itp").has_value());
}

TEST_CASE("trace_format: a column that stands twice is an error of every format that has a header") {
  for (const auto& [name, text] : kTraceExamples) {
    std::string example(text);
    const std::size_t end = example.substr(0, example.find('\n')).find_first_of(",|");
    if (end == std::string::npos || example.front() == '{' || example.front() == '[') continue;
    CAPTURE(example);
    const std::string first = vtrain::lower_case(example.substr(0, end));
    example.insert(example.find('\n'), example[end] + first);
    const auto trace = parse_trace(example, "f");
    REQUIRE_FALSE(trace.has_value());
    CHECK(trace.error().describe() == "f:1: " + first + ": the header has this column twice");
  }
}
