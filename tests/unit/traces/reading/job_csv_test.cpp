#include <doctest/doctest.h>

#include <string>

#include "traces/trace_format.hpp"

using vtrain::parse_trace;
using vtrain::SimDuration;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string error_of(std::string_view text, std::string_view format = "auto") {
  const auto trace = parse_trace(text, "jobs.csv", format);
  return trace ? "no error" : trace.error().describe();
}

/// An ITP file with one row.
std::string itp(const std::string& row) {
  return "job_id,submission_time,duration,num_gpu\n" + row;
}

}  // namespace

TEST_CASE("job_csv: a byte-order mark, CRLF, blank lines and a missing final newline are accepted") {
  const auto trace =
      parse_trace("\xef\xbb\xbfjob_id,submission_time,duration,num_gpu\r\na,5,60,2\r\n\r\nb,6,61,4", "f");
  REQUIRE(trace.has_value());
  CHECK(trace->format == "itp");
  REQUIRE(trace->workload.jobs.size() == 2);
  const vtrain::Job& job = trace->workload.jobs[1];
  CHECK(job.name == "b");
  CHECK(job.submit.time_since_epoch().count() == 6 * kSecond);
  CHECK(job.duration.count() == 61 * kSecond);
  CHECK(job.num_gpus.value == 4);
}

TEST_CASE("job_csv: unsorted rows are sorted, equal times keep the order of the file") {
  const auto trace = parse_trace(itp("late,9,1,1\nfirst,3,1,1\nsecond,3,1,1\nearly,0,1,1\n"), "f");
  REQUIRE(trace.has_value());
  std::string order;
  for (const vtrain::Job& job : trace->workload.jobs)
    order += std::string(job.name) + " ";
  CHECK(order == "early first second late ");
}

TEST_CASE("job_csv: columns are found by name, counts written as 1.0 are whole") {
  const auto trace = parse_trace("num_gpu,duration,job_id,submission_time\n8.0,3.5,x,0.25\n", "f");
  REQUIRE(trace.has_value());
  CHECK(trace->workload.jobs[0].num_gpus.value == 8);
  CHECK(trace->workload.jobs[0].duration.count() == 3'500'000'000);
  CHECK(trace->workload.jobs[0].submit.time_since_epoch().count() == 250'000'000);
}

TEST_CASE("job_csv: a bad value names file, line, column, what was expected and what was found") {
  CHECK(error_of(itp("a,0,60,1\nb,0,60,1.5\n")) ==
        "jobs.csv:3: num_gpu: expected a whole number of at least 1, found '1.5'");
  CHECK(error_of(itp("a,0,60,0\n")) ==
        "jobs.csv:2: num_gpu: expected a whole number of at least 1, found '0'");
  CHECK(error_of(itp("a,0,60,3000000000\n")) ==
        "jobs.csv:2: num_gpu: expected a whole number from 1 to 2147483647, found '3000000000'");
  CHECK(error_of(itp("a,0,0,1\n")) ==
        "jobs.csv:2: duration: expected seconds above 0 and at most 3153600000 (100 years), found '0'");
  CHECK(error_of(itp("a,0,-5,1\n")) ==
        "jobs.csv:2: duration: expected seconds above 0 and at most 3153600000 (100 years), found '-5'");
  CHECK(
      error_of(itp("a,0,nan,1\n")) ==
      "jobs.csv:2: duration: expected seconds as a decimal number with at most nine digits after the point, "
      "found 'nan'");
  CHECK(error_of(itp("a,0,99999999999999999999,1\n")).starts_with("jobs.csv:2: duration: expected seconds"));
  CHECK(error_of(itp("a,0,3153600000.000000001,1\n"))
            .starts_with("jobs.csv:2: duration: expected seconds above 0"));
  CHECK(error_of(itp("a,-1,60,1\n")) ==
        "jobs.csv:2: submission_time: expected seconds of at least 0 and at most 3153600000 (100 years), "
        "found '-1'");
  CHECK(error_of(itp("a,0,,1\n")).starts_with("jobs.csv:2: duration: expected a duration"));
  CHECK(error_of(itp(",0,60,1\n")).starts_with("jobs.csv:2: job_id: expected a name of 1 to 1000 bytes"));
}

TEST_CASE("job_csv: too few columns, a missing column and an empty trace are errors") {
  CHECK(error_of(itp("a,0,60\n")) == "jobs.csv:2: expected 4 columns, found 3");
  CHECK(error_of("job_id,duration,num_gpu\n", "itp") ==
        "jobs.csv:1: submission_time: column missing; the header has 'job_id', 'duration' and 'num_gpu'");
  CHECK(error_of(itp("")) == "jobs.csv: no jobs in the trace");
  CHECK(error_of("") == "jobs.csv: empty: expected a trace");
}

TEST_CASE("job_csv: of rows with one job id the first is kept; under strict the error names both lines") {
  const std::string text = itp("a,0,60,1\n\nb,0,60,1\nc,1,1,1\nb,2,60,1\nb,3,60,1\na,4,60,1\n");
  const auto trace = parse_trace(text, "jobs.csv");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs.size() == 3);
  CHECK(trace->workload.jobs[1].submit == vtrain::SimTime{});
  REQUIRE(trace->skipped.reasons().size() == 1);
  CHECK(trace->skipped.reasons()[0].text == "job id of an earlier row");
  CHECK(trace->skipped.reasons()[0].count == 3);
  CHECK(trace->skipped.reasons()[0].first_lines == std::vector<std::int64_t>{6, 7, 8});
  const auto strict = parse_trace(text, "jobs.csv", "auto", {.strict = true});
  REQUIRE_FALSE(strict.has_value());
  CHECK(strict.error().describe() ==
        "jobs.csv:6: job_id: expected a job id of its own, found 'b': line 4 has the same");
}

TEST_CASE("job_csv: in our own CSV a repeated job id is always an error") {
  CHECK(error_of("job_id,submit_s,num_gpus,duration_s\na,0,1,60\na,1,1,60\n") ==
        "jobs.csv:3: job_id: expected a job id of its own, found 'a': line 2 has the same");
}

TEST_CASE("job_csv: many jobs with names of the same hash prefix are told apart") {
  std::string rows;
  for (int i = 0; i < 5000; ++i)
    rows += "job-" + std::to_string(i) + ",0,1,1\n";
  CHECK(parse_trace(itp(rows), "f")->workload.jobs.size() == 5000);
  const auto again = parse_trace(itp(rows + "job-4321,0,1,1\n"), "jobs.csv", "auto", {.strict = true});
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().describe() ==
        "jobs.csv:5002: job_id: expected a job id of its own, found 'job-4321': line 4323 has the same");
}

TEST_CASE("job_csv: control characters in a name are refused and shown escaped, broken UTF-8 is replaced") {
  CHECK(error_of(itp("a\x01,0,60,1\n")) ==
        "jobs.csv:2: job_id: expected a name of 1 to 1000 bytes without control characters, found 'a\\x01'");
  const auto replaced = parse_trace(itp("\xff\xfe,0,60,1\n"), "f");
  REQUIRE(replaced.has_value());
  CHECK(replaced->workload.jobs[0].name == "\ufffd\ufffd");
  CHECK(replaced->assumptions ==
        std::vector<std::string>{"names with bytes that are not UTF-8, read as U+FFFD: 1"});
  CHECK(parse_trace(itp("größe-日本,0,60,1\n"), "f").has_value());
}
