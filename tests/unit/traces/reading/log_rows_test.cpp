// What all readers of recorded logs share, shown on the Helios log.
#include "traces/reading/log_rows.hpp"

#include <doctest/doctest.h>

#include <string>

#include "traces/trace_format.hpp"

using vtrain::Job;
using vtrain::JobStatus;
using vtrain::parse_trace;
using vtrain::SkippedRows;
using vtrain::Trace;

namespace {

constexpr std::string_view kHeader =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";
constexpr std::string_view kGood =
    "7,u1,vc1,8,64,1,COMPLETED,2020-04-02 00:00:00,2020-04-02 00:00:10,"
    "2020-04-02 00:01:00,50,10\n";

std::string rows(std::initializer_list<std::string_view> lines) {
  std::string text(kHeader);
  for (const std::string_view line : lines)
    text += std::string(line) + "\n";
  return text;
}

/// The only reason why rows of the text are skipped, with the number of rows and the first line.
std::string skipped(const std::string& text) {
  const auto trace = parse_trace(text + std::string(kGood), "log.csv");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  if (trace->skipped.reasons().size() != 1) return "not one reason";
  const SkippedRows::Reason& reason = trace->skipped.reasons()[0];
  return std::string(reason.text) + " " + std::to_string(reason.count) + " " +
         std::to_string(reason.first_lines[0]);
}

std::string strict_error(const std::string& text) {
  const auto trace = parse_trace(text, "log.csv", "auto", {.strict = true});
  return trace ? "no error" : trace.error().describe();
}

}  // namespace

TEST_CASE("log_rows: rows that are no jobs are counted by reason with their lines") {
  const std::string times = "2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:01:00";
  CHECK(skipped(rows({"1,u,v,0,4,1,COMPLETED," + times + ",50,10"})) == "no GPU requested 1 2");
  CHECK(skipped(rows({"1,u,v,,4,1,COMPLETED," + times + ",50,10"})) == "no GPU requested 1 2");
  CHECK(skipped(rows({"1,u,v,-1,4,1,COMPLETED," + times + ",50,10"})) == "malformed number 1 2");
  CHECK(skipped(rows({"1,u,v,1.5,4,1,COMPLETED," + times + ",50,10"})) == "malformed number 1 2");
  CHECK(skipped(rows({"1,u,v,99999999999,4,1,COMPLETED," + times + ",50,10"})) == "malformed number 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,RUNNING," + times + ",50,10"})) == "not ended when the log was taken 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,SUSPENDED," + times + ",50,10"})) ==
        "not ended when the log was taken 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,None,2020-04-01 00:00:10,2020-04-01 00:01:00,,"})) ==
        "no submission time 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,nan,2020-04-01 00:01:00,,"})) ==
        "never started 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:10,,,"})) ==
        "no end time 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-31 00:00:10,2020-05-01 00:00:00,,"})) ==
        "malformed time 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:00:10,,"})) ==
        "run time of zero 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:00:09,,"})) ==
        "ends before it starts 1 2");
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:10,2130-04-01 00:00:09,,"})) ==
        "times beyond 100 years 1 2");
  CHECK(skipped(rows({",u,v,1,4,1,COMPLETED," + times + ",50,10"})) == "malformed name 1 2");
  CHECK(skipped(rows({"1,u,\x01,1,4,1,COMPLETED," + times + ",50,10"})) == "malformed name 1 2");
  CHECK(skipped(rows({"1,u,v,1", "1,\"u,v,1", "\"1\"x,u"})) ==
        "malformed row (columns, quotes or length) 3 2");
  CHECK(skipped(rows({std::string((1 << 20) + 1, 'x')})) == "malformed row (columns, quotes or length) 1 2");
}

TEST_CASE("log_rows: of jobs with one id the first is kept") {
  const std::string text = std::string(kHeader) + std::string(kGood) + std::string(kGood) + "6" +
                           std::string(kGood.substr(1)) + std::string(kGood) + "6" +
                           std::string(kGood.substr(1));
  const auto trace = parse_trace(text, "log.csv");
  REQUIRE(trace.has_value());
  REQUIRE(trace->workload.jobs.size() == 2);
  CHECK(trace->workload.jobs[0].name == "7");
  CHECK(trace->workload.jobs[1].name == "6");
  REQUIRE(trace->skipped.reasons().size() == 1);
  CHECK(trace->skipped.reasons()[0].text == "job id of an earlier row");
  CHECK(trace->skipped.reasons()[0].first_lines == std::vector<std::int64_t>{3, 5, 6});
}

TEST_CASE("log_rows: under strict the first such row is an error that says where and what") {
  const std::string times = "2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:01:00";
  CHECK(strict_error(std::string(kHeader) + std::string(kGood)) == "no error");
  CHECK(strict_error(rows({"1,u,v,0,4,1,COMPLETED," + times + ",50,10"})) ==
        "log.csv:2: gpu_num: expected a job to replay (no GPU requested), found '0'");
  CHECK(strict_error(rows({"1,u,v,1,4,1,RUNNING," + times + ",50,10"})) ==
        "log.csv:2: state: expected a job to replay (not ended when the log was taken), found 'RUNNING'");
  CHECK(strict_error(rows({"1,u"})) == "log.csv:2: expected 12 columns, found 2");
  CHECK(strict_error(std::string(kHeader) + std::string(kGood) + std::string(kGood)) ==
        "log.csv:3: expected a job to replay (job id of an earlier row), found '7'");
}

TEST_CASE("log_rows: a wrong header and a log without any job are errors") {
  const auto header = parse_trace("job_id,vc\n1,a\n", "log.csv", "helios");
  REQUIRE_FALSE(header.has_value());
  CHECK(header.error().describe() == "log.csv:1: gpu_num: column missing; the header has 'job_id' and 'vc'");
  const auto none = parse_trace(rows({"1,u"}), "log.csv");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().describe() ==
        "log.csv: no jobs in the trace; rows skipped: malformed row (columns, quotes "
        "or length) (1)");
}

TEST_CASE(
    "log_rows: line ends, a byte-order mark, no final newline, columns in another order, rows out of order") {
  const std::string text =
      "\xef\xbb\xbfvc,gpu_num,state,job_id,extra,submit_time,start_time,end_time\r\n"
      "a,2,FAILED,9,x,2020-04-01 00:00:05,2020-04-01 00:00:10,2020-04-01 00:00:12\r\n\r\n"
      "b,1.0,COMPLETED,3,\"x,y\",2020-04-01 00:00:00,2020-04-01 00:00:10,2020-04-01 00:01:00";
  const auto trace = parse_trace(text, "log.csv");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  REQUIRE(trace->workload.jobs.size() == 2);
  const Job& first = trace->workload.jobs[0];
  CHECK(first.name == "3");
  CHECK(first.submit == vtrain::SimTime());  // 9 was submitted 5 s later
  CHECK(first.original_start.time_since_epoch() == std::chrono::seconds(10));
  CHECK(first.duration == std::chrono::seconds(50));
  CHECK_FALSE(static_cast<bool>(first.user));
  CHECK(trace->workload.jobs[1].submit.time_since_epoch() == std::chrono::seconds(5));
  CHECK(trace->assumptions[0] == "time 0 is the first submission, 2020-03-31 16:00:00 UTC");
}

TEST_CASE("log_rows: a start before the submission is not kept, one far after it is skipped") {
  const auto early = parse_trace(
      rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:11,2020-04-01 00:00:10,2020-04-01 00:01:00,,"}), "log.csv");
  REQUIRE(early.has_value());
  CHECK(early->workload.jobs[0].original_start == Job::kNoStart);
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,2020-04-01 00:00:00,2121-04-01 00:00:10,2121-04-01 00:01:00,,"})) ==
        "times beyond 100 years 1 2");
  // The good row stands 150 years later than the first submission.
  CHECK(skipped(rows({"1,u,v,1,4,1,FAILED,1970-01-02 00:00:00,1970-01-02 00:00:10,1970-01-02 00:01:00,,",
                      "2,u,v,1,4,1,FAILED,2170-04-01 00:00:00,2170-04-01 00:00:10,2170-04-01 00:01:00,,"})) ==
        "times beyond 100 years 1 3");
}

TEST_CASE("log_rows: spellings of a missing value") {
  for (const char* text : {"", " ", "nan", "NaN", "None", "NULL", "null", "N/A"})
    CHECK(vtrain::is_missing(text));
  CHECK_FALSE(vtrain::is_missing("0"));
  CHECK_FALSE(vtrain::is_missing("-"));
}

TEST_CASE("log_rows: fractions of GPUs become GPUs and a share that keeps their sum") {
  const auto sum = [](std::initializer_list<std::pair<double, double>> parts) {
    vtrain::GpuSum gpus;
    for (const auto& [count, each] : parts)
      gpus.add(count, each);
    Job job;
    const std::string_view reason = gpus.give(job);
    return reason.empty() ? std::to_string(job.num_gpus.value) + " x " + std::to_string(job.gpu_share)
                          : std::string(reason);
  };
  CHECK(sum({{1, 1}}) == "1 x 1000");
  CHECK(sum({{1, 0.5}}) == "1 x 500");
  CHECK(sum({{10, 0.5}}) == "10 x 500");
  CHECK(sum({{2, 4}}) == "8 x 1000");
  CHECK(sum({{1, 1.5}}) == "2 x 750");
  CHECK(sum({{3, 1}, {5, 0}, {1, 0.2}}) == "4 x 800");  // (3 + 0.2) / 4
  CHECK(sum({{1, 0.0001}}) == "1 x 1");
  CHECK(sum({{5, 0}}) == "no GPU requested");
  CHECK(sum({}) == "no GPU requested");
  CHECK(sum({{0.5, 1}}) == "malformed number");
  CHECK(sum({{1e6, 1e6}}) == "malformed number");
}
