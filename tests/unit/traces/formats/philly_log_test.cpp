#include "traces/formats/formats.hpp"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>

#include "core/text/calendar.hpp"
#include "traces/trace_format.hpp"

using nlohmann::json;
using std::chrono::seconds;
using vtrain::Job;
using vtrain::JobStatus;
using vtrain::parse_trace;

namespace {

std::string error_of(const std::string& text, bool strict = false) {
  const auto trace = parse_trace(text, "log", "philly-log", {.strict = strict});
  return trace ? "no error" : trace.error().describe();
}

std::string gpus(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i > 0 ? ",\"gpu" : "\"gpu") + std::to_string(i) + "\"";
  return "[" + text + "]";
}

/// A job with these attempts, on its own line.
std::string job(const std::string& id, const std::string& attempts,
                const std::string& submitted = "\"2017-10-07 01:00:00\"") {
  return "\n{\"status\": \"Pass\", \"vc\": \"v1\", \"jobid\": \"" + id + "\", \"attempts\": [" + attempts +
         "], \"submitted_time\": " + submitted + ", \"user\": \"u1\"}";
}

std::string attempt(const std::string& start, const std::string& end, int num_gpus) {
  const auto time = [](const std::string& text) { return text == "null" ? text : "\"" + text + "\""; };
  return "{\"start_time\": " + time(start) + ", \"end_time\": " + time(end) +
         ", \"detail\": [{\"ip\": \"m1\", \"gpus\": " + gpus(num_gpus) + "}]}";
}

const std::string kGood = job("good", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 1));

/// The reason why a job next to a good one is skipped.
std::string reason_of(const std::string& bad) {
  const auto trace = parse_trace("[" + kGood + "," + bad + "]", "log");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->workload.jobs.size() == 1);
  if (trace->skipped.reasons().size() != 1) return "not one reason";
  CHECK(trace->skipped.reasons()[0].first_lines == std::vector<std::int64_t>{3});
  return std::string(trace->skipped.reasons()[0].text);
}

}  // namespace

TEST_CASE("philly-log: every field of a job, and the sum over its attempts") {
  const auto trace = parse_trace(
      "[{\"status\":\"Killed\",\"vc\":\"v9\",\"jobid\":\"application_1_2\",\"attempts\":[\n"
      "{\"start_time\":\"2017-10-07 01:01:00\",\"end_time\":\"2017-10-07 01:02:00\",\"detail\":["
      "{\"ip\":\"m1\",\"gpus\":[\"gpu0\",\"gpu1\"]},{\"ip\":\"m2\",\"gpus\":[\"gpu3\"]}]},\n"
      "{\"start_time\":\"2017-10-07 02:00:00\",\"end_time\":\"2017-10-07 03:00:05\",\"detail\":[]}],"
      "\"submitted_time\":\"2017-10-07 01:00:00\",\"user\":\"u7\"}]",
      "log");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == "philly-log");
  REQUIRE(trace->workload.jobs.size() == 1);
  const Job& only = trace->workload.jobs[0];
  CHECK(only.name == "application_1_2");
  CHECK(only.num_gpus.value == 3);
  CHECK(only.duration == seconds(60 + 3605));
  CHECK(only.original_start.time_since_epoch() == seconds(60));
  CHECK(only.status == JobStatus::Cancelled);
  CHECK(trace->workload.tenants[only.tenant.value] == "v9");
  CHECK(trace->workload.users[only.user.value] == "u7");
  CHECK(trace->assumptions[0] == "time 0 is the first submission, 2017-10-07 08:00:00 UTC");
  CHECK(trace->assumptions[1] == "run time is the sum over a job's scheduling attempts");
}

TEST_CASE("philly-log: jobs that cannot be replayed are counted with the line on which they begin") {
  CHECK(reason_of(job("a", "")) == "never started");
  CHECK(reason_of("\n{\"jobid\": \"a\", \"submitted_time\": \"2017-10-07 01:00:00\"}") == "never started");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "None", 1))) == "not ended when the log was taken");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "null", 1))) == "not ended when the log was taken");
  CHECK(reason_of(job("a", attempt("null", "2017-10-07 01:00:10", 1))) == "an attempt without a start");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "", 1) + "," +
                               attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 1))) ==
        "an attempt without an end");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 0))) == "no GPU requested");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:10", 1))) == "run time of zero");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:09", 1))) ==
        "ends before it starts");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "yesterday", 1))) == "malformed time");
  CHECK(reason_of(job("a", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 1), "null")) ==
        "no submission time");
  CHECK(reason_of(job("good", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 1))) ==
        "job id of an earlier row");
  CHECK(reason_of(job("", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 1))) == "malformed name");
  CHECK(reason_of("\n17") == "malformed row (columns, quotes or length)");
  CHECK(reason_of("\n[]") == "malformed row (columns, quotes or length)");
  CHECK(reason_of(job("a", "5")) == "malformed row (columns, quotes or length)");
  // Nothing of another kind makes a smaller job.
  const std::string whole = job("a", attempt("2017-10-07 01:00:10", "2017-10-07 01:00:20", 2));
  const auto with = [&](std::string_view part, const std::string& other) {
    std::string changed = whole;
    const std::size_t at = changed.find(part);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, part.size(), other);
  };
  const std::string gpu_list = "[\"gpu0\",\"gpu1\"]";
  const std::string machines = "[{\"ip\": \"m1\", \"gpus\": " + gpu_list + "}]";
  for (const std::string& bad :
       {with(gpu_list, "2"), with(gpu_list, "null"), with(gpu_list, "\"gpu0\""), with(gpu_list, "{}"),
        with("\"gpu1\"", "1"), with("\"gpu1\"", "[]"), with(machines, "2"), with(machines, "null"),
        with(machines, "{}"), with(machines, "[[], " + machines.substr(1)), with("\"v1\"", "5"),
        with("\"u1\"", "[]"), with("\"2017-10-07 01:00:20\"", "5"),
        std::string(
            "\n{\"jobid\": \"a\", \"attempts\": \"x\", \"submitted_time\": \"2017-10-07 01:00:00\"}")}) {
    CAPTURE(bad);
    CHECK(reason_of(bad) == "malformed row (columns, quotes or length)");
  }
}

TEST_CASE("philly-log: an attempt over the hour that came twice") {
  // Submitted at 1:40 and started at 1:50 of summer time; 1:10 can only be that of winter time, 20 minutes
  // later.
  const auto trace = parse_trace(
      "[" + job("a", attempt("2017-11-05 01:50:00", "2017-11-05 01:10:00", 1), "\"2017-11-05 01:40:00\"") +
          "]",
      "log");
  REQUIRE(trace.has_value());
  CHECK(trace->workload.jobs[0].duration == std::chrono::minutes(20));
  // Three hours on the clock are four.
  const auto across = parse_trace(
      "[" + job("a", attempt("2017-11-05 00:00:00", "2017-11-05 03:00:00", 1), "\"2017-11-05 00:00:00\"") +
          "]",
      "log");
  REQUIRE(across.has_value());
  CHECK(across->workload.jobs[0].duration == std::chrono::hours(4));
}

TEST_CASE("philly-log: what is no such log is an error with its line") {
  CHECK(error_of("{\"jobid\": 1}") == "log:1: expected a JSON array of jobs");
  CHECK(error_of("\n7") == "log:2: expected a JSON array of jobs");
  CHECK(error_of("[]") == "log: no jobs in the trace");
  CHECK(error_of("[" + kGood + ",\n{\"jobid\" 1}]").starts_with("log:3: malformed JSON: "));
  CHECK(error_of("[" + kGood).starts_with("log:2: malformed JSON: "));
  CHECK(error_of("[" + kGood + ",{\"a\":1e999}]") ==
        "log:2: a: expected a number within the range of a double, found '1e999'");
  CHECK(error_of("[{\"a\":" + std::string(100, '[')) == "log:1: JSON nested more than 64 levels deep");
  CHECK(error_of("").starts_with("log:1: malformed JSON: "));
  CHECK(error_of("[" + kGood + "," + job("b", "") + "]", true) ==
        "log:3: expected a job to replay (never started), found 'b'");
  CHECK(error_of("[" + kGood + "]", true) == "no error");
}

namespace {

/// A second reader of the log, with a JSON tree and the C library's calendar.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> read_with_tree(const std::string& text) {
  const auto utc = [](const json& value) -> std::optional<std::int64_t> {
    if (!value.is_string() || value == "None" || value == "") return std::nullopt;
    std::tm local{};
    REQUIRE(strptime(value.get<std::string>().c_str(), "%Y-%m-%d %H:%M:%S", &local) != nullptr);
    return timegm(&local) + 7 * 3600;  // all in October
  };
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> kept;
  const json document = json::parse(text);
  for (const json& entry : document) {
    const auto submitted = utc(entry.value("submitted_time", json()));
    const json attempts = entry.value("attempts", json::array());
    std::int64_t run_time = 0;
    std::int64_t num_gpus = 0;
    bool good = submitted.has_value() && !attempts.empty();
    for (const json& each : attempts) {
      const auto start = utc(each.value("start_time", json()));
      const auto end = utc(each.value("end_time", json()));
      std::int64_t count = 0;
      for (const json& machine : each.value("detail", json::array()))
        count += static_cast<std::int64_t>(machine.value("gpus", json::array()).size());
      if (num_gpus == 0) num_gpus = count;
      good = good && start && end && *end >= *start;
      if (good) run_time += *end - *start;
    }
    if (good && num_gpus > 0 && run_time > 0) kept[entry["jobid"]] = {run_time, num_gpus};
  }
  return kept;
}

}  // namespace

TEST_CASE("philly-log: agrees with a tree of the document on random logs") {
  std::mt19937 random(5);
  const auto chance = [&](int one_in) { return random() % static_cast<unsigned>(one_in) == 0; };
  const auto time = [&](json::object_t& to, const char* key) {
    if (chance(40)) return;
    char text[32];
    std::snprintf(text, sizeof text, "2017-10-%02u %02u:%02u:%02u", 1 + static_cast<unsigned>(random() % 28),
                  static_cast<unsigned>(random() % 24), static_cast<unsigned>(random() % 60),
                  static_cast<unsigned>(random() % 60));
    to[key] = chance(40) ? json() : chance(40) ? json("None") : json(text);
  };
  for (int round = 0; round < 20; ++round) {
    json log = json::array();
    for (int i = 0; i < 60; ++i) {
      json::object_t entry = {{"jobid", "job" + std::to_string(i)}, {"vc", "v"}, {"status", "Pass"}};
      if (chance(10)) entry["extra"] = {{"attempts", {1, 2}}, {"gpus", "x"}};
      time(entry, "submitted_time");
      json attempts = json::array();
      for (auto k = random() % 4; k > 0; --k) {
        json::object_t each;
        time(each, "start_time");
        time(each, "end_time");
        if (chance(2) && each.contains("start_time")) each["end_time"] = each["start_time"];
        if (each.contains("end_time") && each["end_time"].is_string() && each["end_time"] != "None" &&
            chance(2)) {
          each["end_time"] = "2017-10-30" + each["end_time"].get<std::string>().substr(10);
        }
        json machines = json::array();
        for (auto m = random() % 3; m > 0; --m)
          machines.push_back({{"ip", "m1"}, {"gpus", json::array_t(random() % 9, "gpu")}});
        if (!chance(10)) each["detail"] = machines;
        attempts.push_back(each);
      }
      if (!chance(20)) entry["attempts"] = attempts;
      log.push_back(entry);
    }
    const std::string text = log.dump(chance(2) ? -1 : 2);
    const auto expected = read_with_tree(text);
    const auto trace = parse_trace(text, "log", "philly-log");
    REQUIRE(trace.has_value() == !expected.empty());
    if (!trace) continue;
    CHECK(trace->workload.jobs.size() == expected.size());
    CHECK(trace->workload.jobs.size() + static_cast<std::size_t>(trace->skipped.total()) == 60);
    for (const Job& each : trace->workload.jobs) {
      const auto found = expected.find(std::string(each.name));
      REQUIRE(found != expected.end());
      CHECK(each.duration == seconds(found->second.first));
      CHECK(each.num_gpus.value == found->second.second);
    }
  }
}
