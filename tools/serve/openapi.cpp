#include "tools/serve/openapi.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/strings.hpp"
#include "tools/serve/tokens.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

ordered_json content(std::string_view media_type, ordered_json schema) {
  ordered_json body = ordered_json::object();
  body[std::string(media_type)]["schema"] = std::move(schema);
  return body;
}

ordered_json problem_schema() {
  const ordered_json text = {{"type", "string"}};
  const ordered_json number = {{"type", "integer"}};
  return {{"type", "object"},
          {"required", {"title", "status", "detail"}},
          {"properties",
           {{"title", text}, {"status", number}, {"detail", text}, {"field", text}, {"line", number}}}};
}

/// Values in the path, all required, and those behind it.
ordered_json parameters_of(const Route& route) {
  ordered_json parameters = ordered_json::array();
  for (const std::string_view part : split(route.path, '/')) {
    if (!part.starts_with('{')) continue;
    parameters.push_back({{"name", part.substr(1, part.size() - 2)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  for (const QueryParameter& parameter : route.query) {
    parameters.push_back({{"name", parameter.name},
                          {"in", "query"},
                          {"description", parameter.meaning},
                          {"schema", {{"type", "string"}}}});
  }
  return parameters;
}

/// `post_v1_jobs_id`, unique in the table.
std::string operation_id(const Route& route) {
  std::string id = lower_case(route.method);
  for (const std::string_view part : split(route.path, '/')) {
    if (part.empty()) continue;
    id += '_';
    for (const char letter : part) {
      if (letter == '.' || letter == '-')
        id += '_';
      else if (letter != '{' && letter != '}')
        id += letter;
    }
  }
  return id;
}

ordered_json operation(const Route& route) {
  ordered_json json = {{"operationId", operation_id(route)}, {"summary", route.summary}};
  if (route.role == Role::None)
    json["security"] = ordered_json::array();
  else
    json["description"] = "Needs a token with the role " + std::string(name_of(route.role)) + " or above.";
  if (auto parameters = parameters_of(route); !parameters.empty()) json["parameters"] = std::move(parameters);
  if (route.request_schema != nullptr)
    json["requestBody"] = {{"required", true}, {"content", content(route.body_type, route.request_schema())}};
  const ordered_json text = {{"type", "string"}};
  ordered_json& responses = json["responses"];
  responses["200"] = {
      {"description", "The answer"},
      {"content",
       content(route.media_type, route.response_schema != nullptr ? route.response_schema() : text)}};
  if (route.created_schema != nullptr)
    responses["201"] = {{"description", "What is new"},
                        {"content", content(route.media_type, route.created_schema())}};
  responses["default"] = {{"$ref", "#/components/responses/Problem"}};
  return json;
}

}  // namespace

ordered_json openapi_document(std::span<const Route> routes, std::string_view version) {
  ordered_json paths = ordered_json::object();
  for (const Route& route : routes) {
    if (route.is_described) paths[std::string(route.path)][lower_case(route.method)] = operation(route);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "vtrain serve"},
            {"version", version},
            {"summary", "Predictions, plan searches and admission of LLM training jobs"},
            {"license", {{"name", "Apache 2.0"}, {"identifier", "Apache-2.0"}}}}},
          {"servers", {{{"url", "/"}}}},
          {"security", {{{"token", ordered_json::array()}}}},
          {"paths", std::move(paths)},
          {"components",
           {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"responses",
             {{"Problem",
               {{"description", "Why there is no answer (RFC 9457)"},
                {"content", content("application/problem+json", problem_schema())}}}}}}}};
}

}  // namespace vtrain::serve
