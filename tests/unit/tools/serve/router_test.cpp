#include "tools/serve/router.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tools/serve/answer_cache.hpp"
#include "tools/serve/metrics.hpp"
#include "tools/serve/openapi.hpp"
#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json any_object() {
  return {{"type", "object"}};
}

Response echo(const Request& request) {
  return {.body = request.parameters.contains("id") ? request.parameters.at("id") : "all"};
}

Response throws(const Request&) {
  throw std::runtime_error("/secret/path");
}

std::vector<Route> example_routes() {
  return {
      {.method = "GET", .path = "/v1/jobs", .role = Role::None, .handler = echo},
      {.method = "POST",
       .path = "/v1/jobs",
       .role = Role::None,
       .request_schema = any_object,
       .handler = echo},
      {.method = "GET", .path = "/v1/jobs/{id}", .role = Role::None, .handler = echo},
      {.method = "GET", .path = "/v1/cluster", .role = Role::Operate, .handler = throws},
  };
}

struct Example {
  Gate gate{std::nullopt};
  Router router{example_routes(), gate};

  /// The status of a request, with what its handler says.
  std::string ask(const std::string& method, const std::string& path, const std::string& type = {}) {
    RequestHead head;
    head.method = method;
    head.path = path;
    head.host = "localhost";
    head.content_type = type;
    auto admitted = router.admit(head);
    if (!admitted) return std::to_string(admitted.error().status);
    Request request{.head = head, .parameters = admitted->parameters};
    request.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const Response response = router.answer(*admitted->route, request);
    return std::to_string(response.status) + " " + response.body;
  }
};

TEST_CASE("router: finds routes by method and path") {
  Example example;
  CHECK(example.ask("GET", "/v1/jobs") == "200 all");
  CHECK(example.ask("HEAD", "/v1/jobs") == "200 all");
  CHECK(example.ask("GET", "/v1/jobs/7") == "200 7");
  CHECK(example.ask("GET", "/v1/jobs/a%2Fb%20c") == "200 a/b c");
  for (const char* const path : {"/", "/v1", "/v1/jobs/", "/v1/jobs/7/8", "/v1/jobs/%", "/v1/jobs/%2",
                                 "/v1/jobs/%zz", "/v1/jobs/%00", "/v1/jobs/%0a", "//v1/jobs", "/V1/jobs", ""})
    CHECK(example.ask("GET", path) == "404");
}

TEST_CASE("router: a known path with another method names its methods") {
  Example example;
  CHECK(example.ask("DELETE", "/v1/jobs") == "405");
  RequestHead head;
  head.method = "PUT";
  head.path = "/v1/jobs";
  const auto refused = example.router.admit(head);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().headers.at(0) == std::pair<std::string, std::string>("Allow", "GET, POST"));
}

TEST_CASE("router: bodies are JSON") {
  Example example;
  CHECK(example.ask("POST", "/v1/jobs", "application/json") == "200 all");
  CHECK(example.ask("POST", "/v1/jobs", "Application/JSON; charset=utf-8") == "200 all");
  CHECK(example.ask("POST", "/v1/jobs", "text/plain") == "415");
  CHECK(example.ask("POST", "/v1/jobs") == "415");
}

TEST_CASE("router: what a handler throws is not told") {
  Example example;
  const std::string answer = example.ask("GET", "/v1/cluster");
  CHECK(answer.find("500") == 0);
  CHECK(answer.find("secret") == std::string::npos);
}

TEST_CASE("router: a request that waited too long is not begun") {
  Example example;
  const Response response = example.router.answer(example.router.routes()[0], {});
  CHECK(response.status == 503);
}

TEST_CASE("problem: kinds of errors have statuses") {
  const auto status = [](ErrorKind kind) { return problem(Error{.kind = kind, .message = "m"}).status; };
  CHECK(status(ErrorKind::InvalidInput) == 400);
  CHECK(status(ErrorKind::NotFound) == 404);
  CHECK(status(ErrorKind::Failed) == 422);
  CHECK(status(ErrorKind::Io) == 500);
  // A body that names an unknown model is a bad request to a route that there is.
  CHECK(problem(Error{.kind = ErrorKind::NotFound, .field = "model", .message = "m"}).status == 400);
}

TEST_CASE("problem: fields and lines are shown, files and causes of the service's own errors are hidden") {
  const Response bad =
      problem(Error{.file = "/etc/x", .line = 3, .field = "plan.tensor", .message = "expected 1"});
  CHECK(bad.content_type == "application/problem+json");
  CHECK(json::parse(bad.body) == json({{"title", "Bad Request"},
                                       {"status", 400},
                                       {"detail", "expected 1"},
                                       {"field", "plan.tensor"},
                                       {"line", 3}}));
  const Response own =
      problem(Error{.kind = ErrorKind::Io, .file = "/etc/x", .message = "cannot read /etc/x"});
  CHECK(own.body.find("/etc") == std::string::npos);
}

TEST_CASE("openapi: each route of the table is an operation") {
  Example example;
  const ordered_json document = openapi_document(example.router.routes(), "1.0");
  CHECK(document["openapi"] == "3.1.0");
  const ordered_json& paths = document["paths"];
  CHECK(paths.size() == 3);
  CHECK(paths["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]["type"] ==
        "object");
  CHECK(paths["/v1/jobs"]["get"]["operationId"] == "get_v1_jobs");
  CHECK(paths["/v1/jobs/{id}"]["get"]["parameters"][0]["name"] == "id");
  CHECK(paths["/v1/jobs"]["get"]["security"].is_array());
  CHECK_FALSE(paths["/v1/cluster"]["get"].contains("security"));
}

TEST_CASE("metrics: text in the format of Prometheus") {
  constexpr MetricFamily kCount = {"b_total", MetricKind::Counter, "Things."};
  constexpr MetricFamily kTime = {"a_seconds", MetricKind::Histogram, "Times."};
  constexpr MetricFamily kNow = {"c", MetricKind::Gauge, "Now."};
  Metrics metrics;
  metrics.count(kCount, label("of", "a\"b\\c\nd"));
  metrics.count(kCount, label("of", "a\"b\\c\nd"), 2);
  metrics.observe(kTime, "", 0.002);
  metrics.observe(kTime, "", 100);
  metrics.watch(kNow, "", [] { return 7.0; });
  const std::string text = metrics.text();
  CHECK(text.find("# HELP b_total Things.\n# TYPE b_total counter\nb_total{of=\"a\\\"b\\\\c\\nd\"} 3\n") !=
        std::string::npos);
  CHECK(text.find("a_seconds_bucket{le=\"0.001\"} 0\na_seconds_bucket{le=\"0.0025\"} 1\n") !=
        std::string::npos);
  CHECK(text.find("a_seconds_bucket{le=\"+Inf\"} 2\na_seconds_sum 100.002\na_seconds_count 2\n") !=
        std::string::npos);
  CHECK(text.find("# TYPE c gauge\nc 7\n") != std::string::npos);
}

TEST_CASE("answer cache: keeps what was asked last, within its room") {
  AnswerCache cache(16 * 20);  // entries of up to 20 bytes
  CHECK_FALSE(cache.find("a"));
  cache.keep("a", "answer of a");
  CHECK(cache.find("a") == "answer of a");
  cache.keep("large", std::string(30, 'x'));
  CHECK_FALSE(cache.find("large"));
  for (int i = 0; i < 100; ++i) {
    cache.keep("key" + std::to_string(i), "0123456789");
    CHECK(cache.find("a"));  // it is asked all the time
  }
  CHECK_FALSE(cache.find("key0"));
  CHECK(cache.find("key99"));
  CHECK(cache.figures().found == 102);
  CHECK(cache.figures().missing == 3);
}

}  // namespace
}  // namespace vtrain::serve
