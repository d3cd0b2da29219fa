/// Decisions of Kueue's scheduler, transcribed from its own tests, through `vtrain decide`.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/tenants/kueue/quantity.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;

namespace vtrain::testing {
namespace {

using nlohmann::json;

json read_json(const fs::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

/// Lists whose order means nothing, by their key.
bool is_unordered(const std::string& key) {
  return key == "pending" || key == "inadmissible" || key == "queued" || key == "available" ||
         key == "potential_available";
}

/// A value in a form in which equal decisions are equal texts: quantities as amounts, lists of amounts, and
/// those without an order, sorted.
json canonical(const json& value, bool sorts = false) {
  if (value.is_array()) {
    json list = json::array();
    for (const json& each : value)
      list.push_back(canonical(each));
    const bool has_amounts = !list.empty() && list.front().is_object() &&
                             (list.front().contains("amount") || list.front().contains("node"));
    if (sorts || has_amounts) std::sort(list.begin(), list.end());
    return list;
  }
  if (!value.is_object()) return value;
  json object = json::object();
  for (const auto& item : value.items()) {
    if (item.key() == "usage" && item.value().is_object()) {
      for (const auto& each : item.value().items()) {
        object["usage"][each.key()] =
            each.value().is_string()
                ? json(kueue::parse_quantity(each.value().get<std::string>(), each.key()).value())
                : canonical(each.value());
      }
    } else if (is_unordered(item.key()) && item.value().is_object()) {
      for (const auto& each : item.value().items())
        object[item.key()][each.key()] = canonical(each.value(), true);
      if (item.value().empty()) object[item.key()] = json::object();
    } else {
      object[item.key()] = canonical(item.value());
    }
  }
  return object;
}

/// True if an answer has everything that is expected. Answers may tell more about parts of an object.
bool has_all(const json& expected, const json& answer, bool is_exact) {
  if (expected.is_object() && answer.is_object()) {
    if (is_exact && expected.size() != answer.size()) return false;
    for (const auto& item : expected.items()) {
      if (!answer.contains(item.key())) return false;
      // Names below these keys are all that there are; other keys are optional parts of a case.
      const std::string& key = item.key();
      const bool names_all = key == "admitted" || key == "preempted" || is_unordered(key) ||
                             key == "flavors" || key == "pending_reason" || key == "skipped_preemptions" ||
                             key == "holding_quota_after_second" || key == "usage";
      if (!has_all(item.value(), answer[key], names_all)) return false;
    }
    return true;
  }
  if (expected.is_array() && answer.is_array()) {
    return std::equal(expected.begin(), expected.end(), answer.begin(), answer.end(),
                      [](const json& a, const json& b) { return has_all(a, b, false); });
  }
  if (expected.is_number_float() || answer.is_number_float())
    return expected.get<double>() == doctest::Approx(answer.get<double>()).epsilon(1e-12);
  return expected == answer;
}

/// What a case expects, in the form of the answer.
json wanted(const json& given) {
  if (given["kind"] == "scenario") {
    json steps = json::array();
    for (std::size_t i = 0; i < given["steps"].size(); ++i) {
      json step = given["steps"][i];
      if (!step.contains("expect")) continue;
      step["step"] = i;
      steps.push_back(step);
    }
    return {{"steps", steps}};
  }
  if (given["expected"].is_object()) return given["expected"];
  return {{"answer", given["expected"]}};
}

}  // namespace

TEST_CASE("kueue: every known decision is met exactly") {
  std::vector<fs::path> files;
  for (const char* const folder : {"golden/kueue/cases", "golden/kueue/drs"}) {
    const fs::path path = shared_folder(folder);
    if (path.empty() || !fs::exists(path)) {
      MESSAGE("skipped: no known decisions of Kueue");
      return;
    }
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 283);
  const TemporaryFolder work;
  for (const fs::path& file : files) {
    json given = read_json(file);
    const json expected = canonical(wanted(given));
    // The program must not see what is expected.
    given.erase("expected");
    work.write("case.json", given.dump());
    const auto result = run_vtrain("decide case.json --policy kueue", work.path());
    CAPTURE(file.string());
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const json answer = canonical(json::parse(result.out));
    CAPTURE(expected.dump());
    CAPTURE(answer.dump());
    CHECK(has_all(expected, answer, false));
  }
}

TEST_CASE("kueue: bad cases are errors with file, line and key") {
  const auto error_of = [](const std::string& text) {
    const TemporaryFolder work;
    work.write("case.json", text);
    const auto result = run_vtrain("decide case.json --policy kueue", work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(error_of(R"({"kind": "cicle"})").find("case.json:1: kind: expected one of") != std::string::npos);
  CHECK(error_of("{\"kind\": \"cycle\",\n \"cohortz\": []}").find("case.json:2: cohortz: unknown key") !=
        std::string::npos);
  CHECK(error_of(R"({"kind": "cycle", "feature_gates": {"Fast": true}})").find("unknown feature gate") !=
        std::string::npos);
  CHECK(error_of(
            R"({"kind": "cycle", "cohorts": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]})")
            .find("cohorts: the cohort 'a' is above itself") != std::string::npos);
  CHECK(
      error_of(R"({"kind": "cycle", "cohorts": [{"name": "a"}, {"name": "a"}]})").find("'a' stands twice") !=
      std::string::npos);
  CHECK(error_of(R"({"kind": "cycle", "cohorts": [{"name": "a", "fair_weight": "-1"}]})")
            .find("cohorts[0].fair_weight: expected a quantity of 0 or more") != std::string::npos);
  CHECK(error_of(R"({"kind": "cycle", "cluster_queues": 3})")
            .find("cluster_queues: expected a list, found '3'") != std::string::npos);
  CHECK(error_of(R"({"kind": "usage", "remove": ["x"]})").find("remove: expected the name of a workload") !=
        std::string::npos);
}

}  // namespace vtrain::testing
