#include "sched/disruption/outage.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/sim_time.hpp"

namespace vtrain {

TEST_CASE("outage: rows are failures or drains of a node or a range, with or without an end") {
  const auto outages = parse_outages(
      "begin_s,node,end_s,kind\n"
      "10,0,20,failure\n"
      "0.5,2-3,,drain\n"
      "7,1,9,\n",
      "outages.csv", 4);
  REQUIRE(outages);
  const std::vector<Outage> expected = {
      {NodeId(0), OutageKind::Failure, at(10), at(20)},
      {NodeId(2), OutageKind::Drain, SimTime(SimDuration(500'000'000)), Outage::kNeverEnds},
      {NodeId(3), OutageKind::Drain, SimTime(SimDuration(500'000'000)), Outage::kNeverEnds},
      {NodeId(1), OutageKind::Failure, at(7), at(9)}};
  CHECK(*outages == expected);
  CHECK(parse_outages("node,begin_s,end_s\n0,1,2\n", "f", 1)->front().kind == OutageKind::Failure);
}

TEST_CASE("outage: JSON lines say the same as CSV") {
  const auto outages = parse_outages(
      "\xef\xbb\xbf\n{\"node\": 0, \"begin_s\": 10, \"end_s\": 20, \"kind\": \"failure\"}\r\n"
      "{\"kind\": \"drain\", \"node\": \"2-3\", \"begin_s\": 0.5, \"end_s\": null}\n\n"
      "{\"node\": \"1\", \"begin_s\": \"7\"}",
      "outages.jsonl", 4);
  REQUIRE_MESSAGE(outages, outages.error().describe());
  const auto csv = parse_outages("node,kind,begin_s,end_s\n0,failure,10,20\n2-3,drain,0.5,\n1,,7,\n", "f", 4);
  REQUIRE(csv);
  CHECK(*outages == *csv);
}

TEST_CASE("outage: a wrong JSON line names file, line and key") {
  const std::string good = "{\"node\": 0, \"begin_s\": 1}\n";
  const auto error_of = [&](const std::string& line) {
    const auto outages = parse_outages(good + line, "f", 4);
    return outages ? "no error" : outages.error().describe();
  };
  CHECK(error_of("{\"node\": 9, \"begin_s\": 1}") ==
        "f:2: node: expected a node from 0 to 3 of this cluster, or a range such as 0-3, found '9'");
  CHECK(error_of("{\"node\": 1, \"begin_s\": -1}") ==
        "f:2: begin_s: expected seconds of at least 0, found '-1'");
  CHECK(error_of("{\"node\": 1, \"begin_s\": 2, \"end_s\": 2}") ==
        "f:2: end_s: expected seconds after begin_s, found '2'");
  CHECK(error_of("{\"begin_s\": 1}") == "f:2: node: missing");
  CHECK(error_of("{\"node\": 1}") == "f:2: begin_s: missing");
  CHECK(error_of("{\"node\": 1, \"node\": 2, \"begin_s\": 1}") ==
        "f:2: node: the key stands twice in this line");
  CHECK(error_of("{\"node\": 1, \"begin_s\": 2, \"why\": 3}") ==
        "f:2: why: expected the keys 'node', 'kind', 'begin_s' and 'end_s', found 'why'");
  CHECK(error_of("{\"node\": [1]}") == "f:2: node: expected a number or a string, found 'an array'");
  CHECK(error_of("{\"node\": 1").starts_with("f:2: malformed JSON"));
  CHECK(error_of("0,1,2") == "f:2: expected a JSON object, found '0'");
  using namespace std::string_literals;
  CHECK(error_of("{\"node\":0,\"begin_s\":5}\0garbage\n"s) == "f:2: malformed JSON: a NUL character");
}

TEST_CASE("outage: what is written is read back") {
  const std::vector<Outage> outages = {{NodeId(3), OutageKind::Drain, SimTime(SimDuration(1)), at(20)},
                                       {NodeId(0), OutageKind::Failure, at(10), Outage::kNeverEnds}};
  const std::string text = outages_to_csv(outages);
  CHECK(text == "node,kind,begin_s,end_s\n3,drain,0.000000001,20\n0,failure,10,\n");
  CHECK(*parse_outages(text, "f", 4) == outages);
}

TEST_CASE("outage: a wrong row names file, line, column, what was expected and what was found") {
  struct Wrong {
    std::string text;
    std::int64_t line;
    std::string field;
    std::string found;
  };
  const std::string header = "node,kind,begin_s,end_s\n";
  const std::vector<Wrong> rows = {
      {header + "0,drain,1,2\n16,failure,1,2\n", 3, "node", "from 0 to 15"},
      {header + "-1,failure,1,2\n", 2, "node", "'-1'"},
      {header + "3-1,failure,1,2\n", 2, "node", "'3-1'"},
      {header + "0-99,failure,1,2\n", 2, "node", "'0-99'"},
      {header + "0,crash,1,2\n", 2, "kind", "'crash'"},
      {header + "0,failure,x,2\n", 2, "begin_s", "'x'"},
      {header + "0,failure,-1,2\n", 2, "begin_s", "'-1'"},
      {header + "0,failure,5,5\n", 2, "end_s", "after begin_s"},
      {"node,begin_s\n0,1\n", 1, "end_s", "column missing"},
      {"node,begin_s,end_s,what\n0,1,2,3\n", 1, "what", "'what'"},
  };
  for (const Wrong& wrong : rows) {
    CAPTURE(wrong.text);
    const auto outages = parse_outages(wrong.text, "outages.csv", 16);
    REQUIRE_FALSE(outages);
    const std::string message = outages.error().describe();
    CAPTURE(message);
    CHECK(outages.error().file == "outages.csv");
    CHECK(outages.error().line == wrong.line);
    CHECK(message.find(wrong.field) != std::string::npos);
    CHECK(message.find(wrong.found) != std::string::npos);
  }
}

TEST_CASE("outage: ranges cannot grow without bound") {
  std::string text = "node,begin_s,end_s\n";
  for (int i = 0; i < 3; ++i)
    text += "0-499999,1,2\n";
  const auto outages = parse_outages(text, "f", 500'000);
  REQUIRE_FALSE(outages);
  CHECK(outages.error().line == 4);
  CHECK(outages.error().message.find("1,000,000") != std::string::npos);
}

}  // namespace vtrain
