/// Sessions of the Model Context Protocol from many threads. `tests/mcp` has the protocol with a real client.
#include "tools/mcp/session.hpp"

#include <atomic>
#include <mutex>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tools/mcp/eta_question.hpp"

namespace vtrain::mcp {
namespace {

using nlohmann::json;

/// A session whose responses are kept.
struct Example {
  std::mutex mutex{};
  std::vector<json> responses{};
  Session session{Calibration{}, 3, [this](std::string_view line) {
                    const std::scoped_lock lock(mutex);
                    responses.push_back(json::parse(line));
                  }};

  explicit Example(const std::string& version = "2025-06-18") {
    session.receive(fmt::format(
        R"({{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}"}}}})", version));
    responses.clear();
  }
};

std::string call(int id, const std::string& tool, const json& arguments) {
  return json{{"jsonrpc", "2.0"},
              {"id", id},
              {"method", "tools/call"},
              {"params", {{"name", tool}, {"arguments", arguments}}}}
      .dump();
}

json prediction(int batch) {
  return {{"model", "llama3-8b"},
          {"profile", "h100"},
          {"plan",
           {{"tensor", 2}, {"data", 4}, {"global_batch", batch}, {"micro_batch", 1}, {"recompute", "none"}}}};
}

std::string cancellation(int id) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}})",
                     id);
}

TEST_CASE("mcp: each call is answered once") {
  Example example;
  for (int i = 1; i <= 30; ++i)
    example.session.receive(call(i, "predict", prediction(64 * i)));
  example.session.finish();
  std::set<int> ids;
  for (const json& response : example.responses) {
    const int id = response["id"];
    ids.insert(id);
    CHECK(response["result"]["structuredContent"]["plan"]["global_batch"] == 64 * id);
  }
  CHECK(ids.size() == 30);
  CHECK(example.responses.size() == 30);
}

TEST_CASE("mcp: cancelled calls are answered at most once, others always") {
  Example example;
  for (int i = 1; i <= 40; ++i)
    example.session.receive(call(i, "predict", prediction(64 * i)));
  for (int i = 2; i <= 40; i += 2)
    example.session.receive(cancellation(i));
  example.session.finish();
  std::multiset<int> ids;
  for (const json& response : example.responses)
    ids.insert(response["id"].get<int>());
  for (int i = 1; i <= 40; ++i)
    CHECK(ids.count(i) <= 1);
  for (int i = 1; i <= 40; i += 2)
    CHECK(ids.count(i) == 1);
  // An id is free again.
  example.responses.clear();
  example.session.receive(call(2, "predict", prediction(64)));
  example.session.finish();
  CHECK(example.responses.size() == 1);
}

TEST_CASE("mcp: a batch is answered as a whole before the session is finished") {
  Example example("2025-03-26");
  std::string batch = "[";
  for (int i = 1; i <= 10; ++i)
    batch += call(i, "predict", prediction(64 * i)) + ",";
  example.session.receive(batch + R"({"jsonrpc":"2.0","id":"p","method":"ping"}])");
  example.session.finish();
  REQUIRE(example.responses.size() == 1);
  CHECK(example.responses[0].size() == 11);
}

TEST_CASE("mcp: too many calls are refused, not kept") {
  Example example;
  constexpr int kCalls = 2000;
  for (int i = 1; i <= kCalls; ++i)
    example.session.receive(call(i, "plan", json{{"x", 1}}));
  example.session.finish();
  CHECK(example.responses.size() == kCalls);
}

TEST_CASE("mcp: errors of options are errors of keys") {
  CHECK(in_question({.field = "--time-zone"}).field == "time_zone");
  CHECK(in_question({.field = "--policy: conf"}).field == "policy: conf");
  CHECK(in_question({.field = "now[0]"}).field == "now[0]");
}

}  // namespace
}  // namespace vtrain::mcp
