#include "tools/serve/page/page.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tools/serve/openapi.hpp"

namespace vtrain::serve {
namespace {

std::string header(const Response& response, const std::string& wanted) {
  for (const auto& [name, value] : response.headers) {
    if (name == wanted) return value;
  }
  return {};
}

Response file(std::string_view path) {
  for (const Route& route : page_routes()) {
    if (route.path == path) return route.handler({});
  }
  return {.status = 404};
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("page: everybody gets its files, under a strict policy for their content") {
  const std::vector<Route> routes = page_routes();
  CHECK(routes.size() == 5);
  for (const Route& route : routes) {
    CAPTURE(route.path);
    CHECK(route.method == "GET");
    CHECK(route.role == Role::None);
    const Response response = route.handler({});
    CHECK(response.status == 200);
    CHECK(response.content_type == route.media_type);
    CHECK_FALSE(response.body.empty());
    const std::string policy = header(response, "Content-Security-Policy");
    CHECK(policy.find("default-src 'none'; script-src 'self'; style-src 'self';") == 0);
    CHECK_FALSE(has(policy, "unsafe"));
    CHECK(header(response, "Referrer-Policy") == "no-referrer");
  }
}

TEST_CASE("page: nothing in it is inline or from elsewhere, and no script makes markup") {
  const std::string html = file("/").body;
  for (const char* const part :
       {"<script>", "<style", " style=", " onclick=", "http:", "https:", "=\"//", "{{"}) {
    CAPTURE(part);
    CHECK_FALSE(has(html, part));
  }
  CHECK(has(html, "<option value=\"gpt3-13b\">"));
  const std::string script = file("/page.js").body;
  for (const char* const part :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http:", "https:"}) {
    CAPTURE(part);
    CHECK_FALSE(has(script, part));
  }
  CHECK_FALSE(has(file("/page.css").body, "url("));
  CHECK(has(file("/uplot.js").body, "Permission is hereby granted"));
}

TEST_CASE("page: its files are no operations") {
  const nlohmann::ordered_json document = openapi_document(page_routes(), "1.0");
  CHECK(document["paths"].empty());
}

}  // namespace
}  // namespace vtrain::serve
