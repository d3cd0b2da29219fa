/// `vtrain decide` on the state of a cluster, through the command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain::testing {
namespace {

using nlohmann::json;

// One node of 8 GPUs at 100 s. `a` holds 4 of them and ends at 150 s, by its time limit at 300 s.
constexpr const char* kState = R"({
  "version": 1,
  "cluster": "1x8:a100",
  "now_s": 100,
  "jobs": [
    {"name": "a", "submit_s": 0, "num_gpus": 4, "duration_s": 150, "requested_s": 300,
     "state": "running", "started_s": 0},
    {"name": "b", "submit_s": 10, "num_gpus": 8, "duration_s": 40},
    {"name": "d", "submit_s": 20.5, "num_gpus": 4, "duration_s": 250},
    {"name": "c", "submit_s": 30, "num_gpus": 4, "duration_s": 90, "requested_s": 200}
  ]
})";

// Two nodes of 8 and one of 4 with another type. `a` holds a node and a half, `b` the other half.
constexpr const char* kStateOfNodes = R"({
  "version": 1, "cluster": "2x8:a100+1x4:h100", "placement": "yarn",
  "now_s": 50,
  "jobs": [
    {"name": "a", "submit_s": 0, "num_gpus": 12, "duration_s": 100,
     "state": "running", "started_s": 10, "nodes": [{"node": 0, "gpus": 8}, {"node": 1, "gpus": 4}]},
    {"name": "b", "submit_s": 0, "num_gpus": 4, "duration_s": 200, "gpu_type": "A100",
     "state": "running", "started_s": 20, "attained_s": 5, "gpus": 4, "nodes": [{"node": 1, "gpus": 4}]},
    {"name": "c", "submit_s": 40, "num_gpus": 4, "duration_s": 10}
  ],
  "out_of_service": []
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

json decide(const std::string& state, const std::string& policy) {
  const TemporaryFolder work;
  work.write("s.json", state);
  const auto result = run_vtrain("decide s.json --policy " + policy, work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("decide: fifo lets nothing overtake the job at the head") {
  // b needs all GPUs. The next event is the end of a.
  CHECK(decide(kState, "fifo") == json::parse(R"({
    "version": 1, "policy": "fifo", "now_s": 100, "started": [], "preempted": [], "resized": [],
    "rejected": [], "still_running": ["a"], "still_waiting": ["b", "d", "c"], "next_event_s": 150})"));
}

TEST_CASE("decide: srtf takes GPUs from a job with more left to do") {
  // Left to do are 40 s of b, 50 s of a, 90 s of c, 250 s of d.
  CHECK(decide(kState, "srtf") == json::parse(R"({
    "version": 1, "policy": "srtf", "now_s": 100,
    "started": [{"name": "b", "gpus": 8, "gpu_type": "a100"}], "preempted": ["a"], "resized": [],
    "rejected": [], "still_running": [], "still_waiting": ["d", "c"], "next_event_s": 140})"));
  // Had a held GPUs for 20 s before, 30 s would be left.
  const json earlier =
      decide(replaced(kState, "\"started_s\": 0", "\"started_s\": 0, \"attained_s\": 20"), "srtf");
  CHECK(earlier["still_running"] == json({"a"}));
  CHECK(earlier["started"][0]["name"] == "c");
  CHECK(earlier["next_event_s"] == 130);
}

TEST_CASE("decide: easy starts what does not delay the job at the head") {
  // By its time limit a ends at 300 s, when b is to start. d would run until 350 s, c is over by 300 s.
  CHECK(decide(kState, "easy") == json::parse(R"({
    "version": 1, "policy": "easy", "now_s": 100,
    "started": [{"name": "c", "gpus": 4, "gpu_type": "a100"}], "preempted": [], "resized": [],
    "rejected": [], "still_running": ["a"], "still_waiting": ["b", "d"], "next_event_s": 150})"));
  const json longer = decide(replaced(kState, "\"requested_s\": 200", "\"requested_s\": 200.5"), "easy");
  CHECK(longer["started"] == json::array());
  CHECK(longer["still_waiting"] == json({"b", "d", "c"}));
}

TEST_CASE("decide: gangs are where the state says, and go to nodes in service") {
  const json with_room = decide(kStateOfNodes, "fifo");
  CHECK(with_room["started"] ==
        json::parse(R"([{"name": "c", "gpus": 4, "gpu_type": "h100", "nodes": [{"node": 2, "gpus": 4}]}])"));
  CHECK(with_room["still_running"] == json({"a", "b"}));
  CHECK(with_room["next_event_s"] == 60);
  const json without =
      decide(replaced(kStateOfNodes, "\"out_of_service\": []", "\"out_of_service\": [2]"), "fifo");
  CHECK(without["started"] == json::array());
  CHECK(without["still_waiting"] == json({"c"}));
  CHECK(without["next_event_s"] == 110);
  // Jobs on a node out of service run on.
  const json drained =
      decide(replaced(kStateOfNodes, "\"out_of_service\": []", "\"out_of_service\": [1, 2]"), "srtf");
  CHECK(drained["still_running"] == json({"a", "b"}));
  CHECK(drained["still_waiting"] == json({"c"}));
}

TEST_CASE("decide: the order of jobs in the file is only that of equal submissions") {
  const json state = json::parse(kState);
  json reversed = state;
  std::reverse(reversed["jobs"].begin(), reversed["jobs"].end());
  for (const std::string policy : {"fifo", "fit-first", "sjf", "srtf", "srsf", "easy", "conservative"}) {
    CAPTURE(policy);
    CHECK(decide(reversed.dump(), policy) == decide(kState, policy));
  }
}

TEST_CASE("decide: an empty cluster has nothing to decide, one with room starts all") {
  const json empty = decide(R"({"version": 1, "cluster": "1x8", "now_s": 0, "jobs": []})", "fifo");
  CHECK(empty["next_event_s"].is_null());
  CHECK(empty["started"] == json::array());
  const json started = decide(R"({"version": 1, "cluster": "1x8", "now_s": 1.25, "note": "one", "jobs": [
    {"name": "a", "submit_s": 1.25, "num_gpus": 2, "duration_s": 0.5}]})",
                              "fifo");
  CHECK(started["started"] == json::parse(R"([{"name": "a", "gpus": 2}])"));
  CHECK(started["next_event_s"] == 1.75);
}

TEST_CASE("decide: states that cannot be exit 2 with file, line, field, expected and found") {
  struct Bad {
    std::string from, to;
    std::vector<std::string> message;
  };
  const auto check = [](const std::string& state, const std::vector<Bad>& table) {
    for (const Bad& bad : table) {
      CAPTURE(bad.to);
      const TemporaryFolder work;
      work.write("s.json", replaced(state, bad.from, bad.to));
      const auto result = run_vtrain("decide s.json --policy fifo", work.path());
      CAPTURE(result.err);
      CHECK(result.exit_code == 2);
      CHECK(result.out.empty());
      for (const std::string& piece : bad.message)
        CHECK_MESSAGE(result.err.find(piece) != std::string::npos, piece);
    }
  };
  check(kState,
        {{"\"version\": 1,", "", {"s.json", "version", "missing"}},
         {"\"version\": 1", "\"version\": 2", {"s.json:2", "version", "expected 1", "found '2'"}},
         {"1x8:a100", "8", {"s.json:3", "cluster", "16x8:a100", "found '8'"}},
         {"1x8:a100", "no/such.json", {"no/such.json"}},
         {"\"now_s\": 100", "\"now_s\": -1", {"s.json:4", "now_s", "seconds from 0", "-1"}},
         {"\"now_s\": 100", "\"now_s\": \"noon\"", {"s.json:4", "now_s", "seconds from 0", "noon"}},
         {"\"now_s\": 100", "\"now_s\": 1e30", {"s.json:4", "now_s", "seconds from 0"}},
         {"\"now_s\"", "\"now\"", {"s.json:4", "now", "unknown key", "now_s"}},
         {"\"jobs\": [", "\"jobs\": [ oops", {"s.json:5"}},
         {"\"now_s\": 100,", "\"now_s\": 100, \"placement\": \"yarm\",", {"s.json:4", "placement", "yarn"}},
         {"\"now_s\": 100,",
          "\"now_s\": 100, \"placement\": \"buddy\",",
          {"s.json:4", "placement", "found 'buddy'"}},
         {"\"now_s\": 100,",
          "\"now_s\": 100, \"placement\": \"yarn\",",
          {"s.json:6", "jobs[0].nodes", "missing", "yarn"}},
         {"\"now_s\": 100,",
          "\"now_s\": 100, \"out_of_service\": [0],",
          {"s.json:4", "out_of_service", "'count' knows no nodes"}},
         {"\"name\": \"b\"", "\"name\": \"a\"", {"s.json:8", "jobs[1].name", "jobs[0]", "found 'a'"}},
         {"\"name\": \"b\"", "\"name\": \"\"", {"s.json:8", "jobs[1].name", "the name of a job"}},
         {"\"submit_s\": 10",
          "\"submit_s\": 100.5",
          {"s.json:8", "jobs[1].submit_s", "none after now_s", "100.5"}},
         {"\"submit_s\": 10", "\"submit_s\": -10", {"s.json:8", "jobs[1].submit_s", "seconds from 0", "-10"}},
         {"\"submit_s\": 10, ", "", {"s.json:8", "jobs[1].submit_s", "missing"}},
         {"\"num_gpus\": 8", "\"num_gpus\": 0", {"s.json:8", "jobs[1].num_gpus", "from 1", "0"}},
         {"\"num_gpus\": 8", "\"num_gpus\": 9", {"s.json:8", "num_gpus", "job 'b'", "at most 8", "9"}},
         {"\"duration_s\": 40", "\"duration_s\": 0", {"s.json:8", "jobs[1].duration_s", "more than 0 s"}},
         {"\"duration_s\": 40",
          "\"duration_s\": 40, \"deadline_s\": 5",
          {"s.json:8", "deadline_s", "job 'b'", "5 s"}},
         {"\"duration_s\": 40",
          "\"duration_s\": 40, \"attained_s\": 40",
          {"s.json:8", "jobs[1].attained_s", "less than 40 s", "40 s"}},
         {"\"duration_s\": 40",
          "\"duration_s\": 40, \"attained_s\": -1",
          {"s.json:8", "jobs[1].attained_s", "-1"}},
         {"\"duration_s\": 40",
          "\"duration_s\": 40, \"started_s\": 40",
          {"s.json:8", "jobs[1].started_s", "the job waits"}},
         {"\"duration_s\": 40",
          "\"duration_s\": 40, \"gpu_type\": \"h100\"",
          {"s.json:8", "jobs[1].gpu_type", "a100", "found 'h100'"}},
         {"\"state\": \"running\"",
          "\"state\": \"done\"",
          {"s.json:7", "jobs[0].state", "running", "found 'done'"}},
         {", \"started_s\": 0", "", {"s.json:6", "jobs[0].started_s", "missing"}},
         {"\"submit_s\": 0",
          "\"submit_s\": 5",
          {"s.json:7", "jobs[0].started_s", "from submit_s", "found '0'"}},
         {"\"started_s\": 0",
          "\"started_s\": 101",
          {"s.json:7", "jobs[0].started_s", "to now_s", "found '101'"}},
         {"\"duration_s\": 150",
          "\"duration_s\": 100",
          {"s.json:7", "jobs[0].started_s", "less than 100 s", "found '100 s'"}},
         {"\"requested_s\": 300", "\"requested_s\": 60", {"s.json:7", "jobs[0].started_s", "less than 60 s"}},
         {"\"started_s\": 0",
          "\"started_s\": 0, \"gpus\": 8",
          {"s.json:7", "jobs[0].gpus", "expected 4", "found '8'"}},
         {"\"num_gpus\": 4",
          "\"num_gpus\": 9",
          {"s.json:6", "jobs[0].num_gpus", "at most 8, the GPUs of the cluster", "found '9'"}},
         {"\"duration_s\": 40}",
          "\"duration_s\": 400, \"state\": \"running\", \"started_s\": 50}",
          {"s.json:8", "jobs[1].num_gpus", "at most 4, the GPUs of the cluster that no other job holds",
           "found '8'"}}});
  check(
      kStateOfNodes,
      {{"\"node\": 0",
        "\"node\": 3",
        {"s.json:6", "jobs[0].nodes[0].node", "a node from 0 to 2", "found '3'"}},
       {"\"node\": 0", "\"node\": \"n0\"", {"s.json:6", "jobs[0].nodes[0].node", "a node from 0 to 2", "n0"}},
       {"\"node\": 0, ", "", {"s.json:6", "jobs[0].nodes[0].node", "missing"}},
       {"\"node\": 1", "\"node\": 0", {"s.json:6", "jobs[0].nodes[1].node", "each node once", "0"}},
       {"\"gpus\": 8",
        "\"gpus\": 9",
        {"s.json:6", "jobs[0].nodes[0].gpus", "at most 8, the GPUs of node 0", "found '9'"}},
       {"\"gpus\": 8", "\"gpus\": 7", {"s.json:6", "jobs[0].nodes", "expected 12 GPUs", "found '11'"}},
       {"\"node\": 1, \"gpus\": 4}]},\n    {\"name\": \"b\"",
        "\"node\": 1, \"gpus\": 4}]},\n    {\"name\": \"a\"",
        {"s.json:7", "jobs[1].name"}},
       {"\"gpus\": 4, \"nodes\": [{\"node\": 1",
        "\"gpus\": 4, \"nodes\": [{\"node\": 0",
        {"s.json:8", "jobs[1].nodes[0].gpus", "at most 0, the GPUs of node 0 that no other job holds",
         "found '4'"}},
       {"\"gpus\": 4, \"nodes\": [{\"node\": 1",
        "\"gpus\": 4, \"nodes\": [{\"node\": 2",
        {"s.json:8", "jobs[1].nodes[0].node", "the job's gpu_type", "found '2'"}},
       {"\"node\": 1, \"gpus\": 4}]",
        "\"node\": 2, \"gpus\": 4}]",
        {"s.json:6", "jobs[0].nodes[1].node", "one type of GPUs"}},
       {"\"nodes\": [{\"node\": 0, \"gpus\": 8}, {\"node\": 1, \"gpus\": 4}]",
        "\"nodes\": 2",
        {"s.json:6", "jobs[0].nodes", "a list", "found '2'"}},
       {"\"out_of_service\": []",
        "\"out_of_service\": [3]",
        {"s.json:11", "out_of_service[0]", "from 0 to 2", "found '3'"}},
       {"\"out_of_service\": []",
        "\"out_of_service\": [1, 1]",
        {"s.json:11", "out_of_service", "each node once", "found '1'"}}});
  // Without nodes the type of a job's GPUs must be plain, if jobs ask for types.
  const std::string by_count = replaced(kStateOfNodes, "\"placement\": \"yarn\"", "\"placement\": \"count\"");
  check(by_count,
        {{", \"nodes\": [{\"node\": 0, \"gpus\": 8}, {\"node\": 1, \"gpus\": 4}]",
          "",
          {"s.json:5", "jobs[0].nodes", "missing", "several types"}},
         {"\"num_gpus\": 4, \"duration_s\": 200, \"gpu_type\": \"A100\",\n     \"state\": \"running\", "
          "\"started_s\": 20, \"attained_s\": 5, \"gpus\": 4, \"nodes\": [{\"node\": 1, \"gpus\": 4}]",
          "\"num_gpus\": 5, \"duration_s\": 200, \"gpu_type\": \"h100\",\n     \"state\": \"running\", "
          "\"started_s\": 20",
          {"s.json:7", "jobs[1].num_gpus", "at most 4, the GPUs of type 'h100' that no other job holds",
           "found '5'"}}});
}

TEST_CASE("decide: policies that cannot begin in the middle exit 2 and name those that can") {
  const TemporaryFolder work;
  work.write("s.json", kState);
  for (const std::string policy :
       {"las", "edf", "elasticflow:admission=batch", "chronus", "easy:planning=hosts"}) {
    CAPTURE(policy);
    const auto result = run_vtrain("decide s.json --policy " + policy, work.path());
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    for (const std::string piece : {"--policy", "fifo", "srtf", "easy", "conservative"})
      CHECK(result.err.find(piece) != std::string::npos);
  }
}

}  // namespace vtrain::testing
