#include "traces/formats/formats.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/traces/trace_text.hpp"
#include "traces/trace_format.hpp"

using vtrain::parse_trace;
using vtrain::testing::written;

namespace {

/// A workload with one job, and with profiles of 100 s, of 0 s and of another type.
std::string workload(const std::string& job) {
  return "{\"nb_res\": 64,\n \"jobs\": [\n" + job +
         "\n ],\n \"profiles\": {\"p\": {\"type\": \"delay\", \"delay\": 100.5}, \"zero\": {\"type\": "
         "\"delay\", "
         "\"delay\": 0},\n \"mpi\": {\"type\": \"parallel\", \"cpu\": [1], \"com\": [0]}}}";
}

std::string error_of(const std::string& text) {
  const auto trace = parse_trace(text, "w.json", "batsim");
  return trace ? "no error" : trace.error().describe();
}

constexpr const char* kGood = R"({"id": "a", "subtime": 1.25, "walltime": 200, "res": 4, "profile": "p"})";

}  // namespace

TEST_CASE("batsim: a job has its profile's delay, its walltime and the size of the cluster") {
  const auto trace = parse_trace(workload(kGood), "w.json", "batsim");
  REQUIRE(trace.has_value());
  CHECK(trace->num_gpus == 64);
  REQUIRE(trace->workload.jobs.size() == 1);
  const vtrain::Job& job = trace->workload.jobs[0];
  CHECK(job.name == "a");
  CHECK(job.submit.time_since_epoch().count() == 1'250'000'000);
  CHECK(job.requested_time == std::chrono::seconds(200));
  CHECK(job.duration.count() == 100'500'000'000);
  CHECK(job.num_gpus.value == 4);
}

TEST_CASE("batsim: a walltime of -1 and a missing one mean none; ids may be numbers") {
  const auto trace =
      parse_trace(workload(R"({"id": 7, "subtime": 0, "walltime": -1, "res": 1, "profile": "p"},
    {"id": "8", "subtime": 1e-3, "res": 1, "profile": "p"})"),
                  "w.json", "batsim");
  REQUIRE(trace.has_value());
  CHECK(trace->workload.jobs[0].name == "7");
  CHECK(trace->workload.jobs[0].requested_time.count() == 0);
  CHECK(trace->workload.jobs[1].requested_time.count() == 0);
  CHECK(trace->workload.jobs[1].submit.time_since_epoch().count() == 1'000'000);
}

TEST_CASE("batsim: a sum of doubles is rounded to the nanosecond") {
  const auto trace = parse_trace(
      workload(R"({"id": 7, "subtime": 0.30000000000000004, "res": 1, "profile": "p"})"), "w.json", "batsim");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs[0].submit.time_since_epoch().count() == 300'000'000);
}

TEST_CASE("batsim: errors name the line and the number of the job") {
  const std::string good = kGood;
  CHECK(error_of(workload(good + ",\n" + R"({"id": "b", "subtime": 0, "res": 0, "profile": "p"})")) ==
        "w.json:4: jobs[1].res: expected a whole number of at least 1, found '0'");
  CHECK(error_of(workload(good + ",\n" + good)) ==
        "w.json:4: jobs[1].id: expected a job id of its own, found 'a': jobs[0] on line 3 has the same");
  CHECK(error_of(workload(R"({"id": "a", "subtime": 0, "res": 1, "profile": "q"})")) ==
        "w.json:3: jobs[0].profile: expected the name of an object in 'profiles', found 'q'");
  CHECK(error_of(workload(R"({"id": "a", "subtime": 0, "res": 1, "profile": "mpi"})")) ==
        "w.json:3: jobs[0].profile: expected a profile of type 'delay', found 'parallel'");
  CHECK(error_of(workload(R"({"id": "a", "subtime": 0, "res": 1, "profile": "zero"})")) ==
        "w.json:3: jobs[0].delay: expected seconds above 0 and at most 3153600000 (100 years), found '0'");
  CHECK(error_of(workload(R"({"id": "a", "res": 1, "profile": "p"})")) ==
        "w.json:3: jobs[0].subtime: missing");
  CHECK(error_of(workload(R"({"id": "a", "subtime": 0, "walltime": -5, "res": 1, "profile": "p"})"))
            .starts_with("w.json:3: jobs[0].walltime: expected seconds"));
  CHECK(error_of(workload(R"({"id": "a", "subtime": 1e300, "res": 1, "profile": "p"})"))
            .starts_with("w.json:3: jobs[0].subtime: expected seconds"));
  CHECK(error_of(workload(R"({"id": ["a"], "subtime": 0, "res": 1, "profile": "p"})")) ==
        "w.json:3: jobs[0].id: expected a string or a whole number");
  CHECK(error_of(workload("17")) == "w.json:3: jobs[0]: expected a JSON object, found '17'");
}

TEST_CASE("batsim: malformed JSON, a missing list of jobs and a bad cluster size are errors") {
  CHECK(error_of("{\"jobs\": [\n}").starts_with("w.json:2: malformed JSON"));
  CHECK(error_of("{}") == "w.json: jobs: expected an array of jobs");
  CHECK(error_of("[]") == "w.json:1: expected a JSON object");
  CHECK(error_of("{\"nb_res\": 1.5}") ==
        "w.json: nb_res: expected a whole number of at least 1, found '1.5'");
}

TEST_CASE("batsim: profiles may come before the jobs, and twice; the last one counts") {
  const auto trace = parse_trace(
      R"({"profiles": {"p": 5, "p": {"type": "delay", "delay": 3, "delay": 4}, "r\u00e9\"": {"delay": 6, "type": "delay"}},
 "jobs": [{"id": "a", "subtime": 0, "res": 1, "profile": "p"}, {"id": "b", "subtime": 0, "res": 1, "profile": "ré\""}]})",
      "w.json", "batsim");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs[0].duration == std::chrono::seconds(4));
  CHECK(trace->workload.jobs[1].duration == std::chrono::seconds(6));
  CHECK_FALSE(trace->num_gpus.has_value());
}

TEST_CASE("batsim: keys that mean nothing here are passed over, also where their values have known keys") {
  const auto trace = parse_trace(R"({"meta": {"jobs": [1], "nb_res": "x"}, "profiles": {
  "mpi": {"type": "parallel", "cpu": [[1e9], {"type": "delay"}], "delay": 3},
  "p": {"extra": {"delay": 7}, "delay": 2, "type": "delay"}}, "jobs": [
  {"id": "a", "more": {"id": "b", "res": [5]}, "subtime": 0, "res": 2, "profile": "p", "list": []}]})",
                                 "w.json", "batsim");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  REQUIRE(trace->workload.jobs.size() == 1);
  CHECK(trace->workload.jobs[0].name == "a");
  CHECK(trace->workload.jobs[0].num_gpus.value == 2);
  CHECK(trace->workload.jobs[0].duration == std::chrono::seconds(2));
}

TEST_CASE("batsim: types of profiles as Batsim 5 calls them; sequences of delays take their sum") {
  const auto durations = [](const std::string& profiles) {
    const auto trace = parse_trace(
        R"({"jobs": [{"id": "a", "subtime": 0, "res": 1, "profile": "p"}], "profiles": {)" + profiles + "}}",
        "w.json", "batsim");
    return trace ? std::to_string(trace->workload.jobs[0].duration / std::chrono::seconds(1)) + " s"
                 : trace.error().describe();
  };
  CHECK(durations(R"("p": {"type": "DelayProfile", "delay": 10})") == "10 s");
  const std::string parts =
      R"(, "a": {"type": "DelayProfile", "delay": 3}, "b": {"type": "delay", "delay": 4})";
  // 2 * (3 + 4 + 3), and a sequence of such: 20 + 4.
  CHECK(durations(R"("p": {"type": "SequentialCompositionProfile", "repeat": 2, "seq": ["a", "b", "a"]})" +
                  parts) == "20 s");
  CHECK(durations(R"("p": {"type": "sequential_composition", "seq": ["q", "b"]},
      "q": {"type": "composed", "nb": 2, "seq": ["a", "b", "a"]})" +
                  parts) == "24 s");
  for (const auto& [sequence, message] :
       {std::pair(R"("seq": ["a", "p"])", "expected no sequence within itself, found 'p'"),
        std::pair(R"("seq": ["a", "x"])", "expected the name of an object in 'profiles', found 'x'"),
        std::pair(R"("seq": ["a", 5])", "seq: expected a list of the names of profiles"),
        std::pair(R"("seq": [])", "seq: expected a list of the names of profiles"),
        std::pair(R"("repeat": 0, "seq": ["a"])", "repeat: expected a whole number"),
        std::pair(R"("repeat": 9000000000000000000, "seq": ["a"])", "expected at most 100 years"),
        std::pair(R"("seq": ["m"])", "expected a profile of type 'delay', found 'ParallelTaskProfile'")}) {
    const std::string error = durations(std::string(R"("p": {"type": "SequentialCompositionProfile", )") +
                                        sequence + R"(}, "m": {"type": "ParallelTaskProfile"})" + parts);
    CAPTURE(error);
    CHECK(error.find(message) != std::string::npos);
  }
  std::string chain;
  for (int i = 0; i < 80; ++i)
    chain += R"(, ")" + std::to_string(i) + R"(": {"type": "composed", "seq": [")" + std::to_string(i + 1) +
             R"("]})";
  CHECK(durations(R"("p": {"type": "composed", "seq": ["0"]})" + chain +
                  R"(, "80": {"type": "delay", "delay": 1})")
            .find("at most 64 levels of sequences") != std::string::npos);
}

TEST_CASE("batsim: of several errors the first job's is told, whether profiles come before or after") {
  const std::string bad_profile = R"({"id": "a", "subtime": 0, "res": 1, "profile": "mpi"})";
  const std::string bad_res = R"({"id": "b", "subtime": 0, "res": 0, "profile": "p"})";
  const std::string profiles =
      R"("profiles": {"p": {"type": "delay", "delay": 1}, "mpi": {"type": "parallel"}})";
  for (const std::string& first : {bad_profile, bad_res}) {
    const std::string& second = first == bad_res ? bad_profile : bad_res;
    const std::string jobs = "\"jobs\": [\n" + first + ",\n" + second + "]";
    const std::string expected =
        first == bad_res ? "w.json:2: jobs[0].res: expected a whole number of at least 1, found '0'"
                         : "w.json:2: jobs[0].profile: expected a profile of type 'delay', found 'parallel'";
    CHECK(error_of("{" + jobs + ", " + profiles + "}") == expected);
    CHECK(error_of("{" + profiles + ", " + jobs + "}") == expected);
    // Malformed JSON behind comes before both.
    CHECK(error_of("{" + jobs + ",\n " + profiles + "\n").starts_with("w.json:5: malformed JSON"));
  }
  // A profile's error comes before that of the same job's id.
  CHECK(error_of(workload(R"({"id": {}, "subtime": 0, "res": 1, "profile": "mpi"})"))
            .starts_with("w.json:3: jobs[0].profile"));
}

TEST_CASE("batsim: what is nested too deeply, and a list that is there twice, are errors") {
  const auto nested = [](std::size_t levels) {
    return "{\"jobs\": [], \"x\": " + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  CHECK(error_of(nested(63)) == "w.json: no jobs in the trace");
  CHECK(error_of(nested(64)) == "w.json:1: JSON nested more than 64 levels deep");
  CHECK(error_of(R"({"jobs": [], "jobs": []})") == "w.json: jobs: expected once, found twice");
  // A job of the second list, which has an error of its own.
  CHECK(
      error_of(R"({"jobs": [{"id": "a", "subtime": 0, "res": 1, "profile": "p"}], "jobs": [{"id": "b"}]})") ==
      "w.json: jobs: expected once, found twice");
  CHECK(error_of(R"({"jobs": [], "profiles": {}, "profiles": 5})") ==
        "w.json: profiles: expected once, found twice");
  CHECK(error_of(workload("[[1,\n2]]")) == "w.json:3: jobs[0]: expected a JSON object, found '[[1,\\x0a2]]'");
  CHECK(error_of(workload("{\"id\": 1, \"subtime\": 1e999}")) ==
        "w.json:3: subtime: expected a number within the range of a double, found '1e999'");
}

TEST_CASE("batsim: times with nine digits after the point are exact however long ago the origin is") {
  const auto trace = parse_trace(
      workload(R"({"id": 7, "subtime": 99999999.123456789, "res": 1, "profile": "p"})"), "w.json", "batsim");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs[0].submit.time_since_epoch().count() == 99'999'999'123'456'789);
}

TEST_CASE("batsim: written: jobs, and one profile for each duration") {
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

TEST_CASE("batsim: written: every field that the format has survives, to the nanosecond below 48 days") {
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

TEST_CASE("batsim: written: a job without a run time is an error") {
  const auto trace =
      parse_trace("job_id,submit_s,num_gpus,model,global_batch,iterations\na,0,1,gpt2,8,100\n", "jobs.csv");
  REQUIRE(trace);
  const auto done = vtrain::write_batsim(*trace, "/nowhere/w.json");
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().describe() ==
        "jobs.csv:2: duration: job 'a': has no run time, and a profile of Batsim needs one");
}
