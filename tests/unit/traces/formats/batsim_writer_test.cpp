#include "traces/formats/batsim_writer.hpp"

#include <doctest/doctest.h>

#include "tests/unit/traces/trace_text.hpp"
#include "traces/trace_format.hpp"

using vtrain::parse_trace;
using vtrain::Trace;
using vtrain::testing::written;

TEST_CASE("batsim_writer: jobs, and one profile for each duration") {
  const auto trace = parse_trace(
      "# made \"for\" a test\njob_id,submit_s,num_gpus,duration_s,requested_s\na,0,1,5.5,\nb,1.25,8,7,60\n"
      "c,2,2,5.5,\n",
      "jobs.csv");
  REQUIRE(trace);
  CHECK(written(*trace, vtrain::write_batsim) == R"({
"nb_res": 8,
"description": "made \"for\" a test",
"jobs": [
{"id": "a", "subtime": 0, "res": 1, "walltime": -1, "profile": "delay 5.5"},
{"id": "b", "subtime": 1.25, "res": 8, "walltime": 60, "profile": "delay 7"},
{"id": "c", "subtime": 2, "res": 2, "walltime": -1, "profile": "delay 5.5"}
],
"profiles": {
"delay 5.5": {"type": "delay", "delay": 5.5},
"delay 7": {"type": "delay", "delay": 7}
}
}
)");
}

TEST_CASE("batsim_writer: every field that the format has survives, to the nanosecond below 48 days") {
  const auto first = parse_trace(
      "job_id,submit_s,num_gpus,duration_s,requested_s\n\"x \"\"y\"\"\",0,1,0.000000001,\n"
      "2,4194303.999999999,8,1234567.123456789,2000000.000000001\n3,3153599999.001,2,60,\n",
      "jobs.csv");
  REQUIRE_MESSAGE(first.has_value(), first.error().describe());
  const auto second = parse_trace(written(*first, vtrain::write_batsim), "w.json");
  REQUIRE_MESSAGE(second.has_value(), second.error().describe());
  CHECK(second->format == "batsim");
  CHECK(second->num_gpus == 8);
  REQUIRE(second->workload.jobs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const vtrain::Job& a = first->workload.jobs[i];
    const vtrain::Job& b = second->workload.jobs[i];
    CHECK(a.name == b.name);
    CHECK(a.submit == b.submit);
    CHECK(a.duration == b.duration);
    CHECK(a.num_gpus == b.num_gpus);
    CHECK(a.requested_time == b.requested_time);
  }
}

TEST_CASE("batsim_writer: a job without a run time is an error") {
  const auto trace =
      parse_trace("job_id,submit_s,num_gpus,model,global_batch,iterations\na,0,1,gpt2,8,100\n", "jobs.csv");
  REQUIRE(trace);
  const auto done = vtrain::write_batsim(*trace, "/nowhere/w.json");
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().describe() ==
        "jobs.csv:2: duration: job 'a': has no run time, and a profile of Batsim needs one");
}
