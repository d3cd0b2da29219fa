#include "traces/formats/formats.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "tests/unit/traces/trace_text.hpp"
#include "traces/formats/formats.hpp"
#include "traces/trace_format.hpp"

using namespace std::chrono_literals;
using vtrain::parse_trace;
using vtrain::Trace;
using vtrain::testing::written;

namespace {

std::string error_of(const std::string& text) {
  const auto trace = parse_trace(text, "jobs.jsonl", "jsonl");
  REQUIRE_FALSE(trace.has_value());
  return trace.error().describe();
}

}  // namespace

TEST_CASE("json_lines: the keys are the columns of our CSV; null and \"\" are not given") {
  const auto trace = parse_trace(
      "\xef\xbb\xbf\r\n{\"assumption\": \"made for a test\"}\r\n"
      "{\"job_id\": 7, \"submit_s\": \"1.5\", \"num_gpus\": 8.0, \"duration_s\": 2, \"tenant\": \"a "
      "\\\"b\\\"\", "
      "\"user\": null, \"model\": \"\"}\r\n\r\n"
      "{\"num_gpus\":2,\"submit_s\":0,\"job_id\":\"x\",\"model\":\"gpt2\",\"global_batch\":8,\"iterations\":"
      "100}",
      "jobs.jsonl");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == "jsonl");
  CHECK(trace->assumptions == std::vector<std::string>{"made for a test"});
  REQUIRE(trace->workload.jobs.size() == 2);
  const vtrain::Job& job = trace->workload.jobs[1];
  CHECK(job.name == "7");
  CHECK(job.submit == vtrain::SimTime(1500ms));
  CHECK(job.num_gpus.value == 8);
  CHECK(job.duration == 2s);
  CHECK(trace->workload.tenants[job.tenant.value] == "a \"b\"");
  CHECK_FALSE(job.user);
  CHECK_FALSE(job.model);
  CHECK(trace->workload.jobs[0].iterations == 100);
}

TEST_CASE("json_lines: every field survives writing and reading, to the nanosecond") {
  const std::string csv =
      "# made for a test\n"
      "job_id,tenant,user,submit_s,num_gpus,gpu_type,gpu_share,max_gpus,duration_s,requested_s,deadline_s,"
      "model,"
      "global_batch,iterations,original_start_s,status\n"
      "\"a,1\",t,u,0,8,h100,0.25,64,12345678.123456789,20000000,30000000.5,gpt2,512,9223372036854775807,7,"
      "timeout\n"
      "größe,,,3153599999.999999999,1,,,,0.000000001,,,,,,,\n";
  const auto first = parse_trace(csv, "jobs.csv");
  REQUIRE_MESSAGE(first.has_value(), first.error().describe());
  const auto second = parse_trace(written(*first, vtrain::write_json_lines), "jobs.jsonl");
  REQUIRE_MESSAGE(second.has_value(), second.error().describe());
  CHECK(second->format == "jsonl");
  CHECK(second->assumptions == first->assumptions);
  CHECK(vtrain::to_vtrain_csv(second->workload) == vtrain::to_vtrain_csv(first->workload));
}

TEST_CASE("json_lines: a bad value names file, line, key, what was expected and what was found") {
  const std::string good = "{\"job_id\":\"a\",\"submit_s\":0,\"num_gpus\":1,\"duration_s\":5}\n";
  CHECK(error_of("{\"job_id\":\"a\",\"submit_s\":0,\"num_gpus\":8,\"duration_s\":5,\"max_gpus\":4}") ==
        "jobs.jsonl:1: max_gpus: expected at least the 8 GPUs asked for, found '4'");
  CHECK(error_of(good + "\n" + good) ==
        "jobs.jsonl:3: job_id: expected a job id of its own, found 'a': line 1 has the same");
  CHECK(error_of("{\"job_id\":\"a\",\"submit_s\":0,\"num_gpus\":1,\"duration\":5}") ==
        "jobs.jsonl:1: duration: unknown key; did you mean 'duration_s'?");
  CHECK(error_of("{\"job_id\":\"a\",\"submit_s\":0,\"submit_s\":0}") ==
        "jobs.jsonl:1: submit_s: the key stands twice in this line");
  CHECK(
      error_of("{\"job_id\":\"a\",\"submit_s\":-1}").starts_with("jobs.jsonl:1: submit_s: expected seconds"));
  CHECK(error_of("{\"job_id\":\"a\",\"num_gpus\":1.5}") ==
        "jobs.jsonl:1: num_gpus: expected a whole number of at least 1, found '1.5'");
  CHECK(error_of("{\"job_id\":[\"a\"]}") ==
        "jobs.jsonl:1: job_id: expected a number or a string, found 'an array'");
  CHECK(error_of("{\"job_id\":true}") == "jobs.jsonl:1: job_id: expected a number or a string, found 'true'");
  CHECK(error_of("[1]") == "jobs.jsonl:1: expected a JSON object, found 'an array'");
  CHECK(error_of("5") == "jobs.jsonl:1: expected a JSON object, found '5'");
  CHECK(error_of("{\"submit_s\":0,\"num_gpus\":1,\"duration_s\":5}") == "jobs.jsonl:1: job_id: missing");
  CHECK(
      error_of("{\"job_id\":1,\"submit_s\":0,\"num_gpus\":1}") ==
      "jobs.jsonl:1: duration_s: expected a duration, or a model with its global batch and iterations, found "
      "neither");
  CHECK(error_of(good + "{\"job_id\":\"b\"").starts_with("jobs.jsonl:2: malformed JSON: "));
  CHECK(error_of(good + "{\"job_id\":\"b\"} x").starts_with("jobs.jsonl:2: malformed JSON: "));
  CHECK(error_of("{\"job_id\":1e999}").starts_with("jobs.jsonl:1: malformed JSON: "));
  CHECK(error_of("{\"job_id\":\"\\u0000\"}").starts_with("jobs.jsonl:1: job_id: expected a name"));
  CHECK(error_of(std::string(100'000, '[')) == "jobs.jsonl:1: expected a JSON object, found 'an array'");
}

TEST_CASE("json_lines: told from Batsim's JSON, on one line or several") {
  const std::string batsim =
      "{\"nb_res\":4,\"jobs\":[{\"id\":\"0\",\"subtime\":0,\"res\":1,\"profile\":\"p\"}],\"profiles\":{\"p\":"
      "{\"type\":\"delay\",\"delay\":3}}}";
  CHECK(parse_trace(batsim, "f").value().format == "batsim");
  CHECK_FALSE(parse_trace("{\"other\": 1}", "f").has_value());
}
