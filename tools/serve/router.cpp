#include "tools/serve/router.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <exception>
#include <utility>

#include "core/base/strings.hpp"
#include "tools/serve/event_log.hpp"
#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

/// The value of a hexadecimal digit; none for another character.
std::optional<int> hex_digit(char digit) {
  const char lower = lower_case(digit);
  if (lower >= '0' && lower <= '9') return lower - '0';
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

/// A part of a path with `%2F` and the like replaced; none where it is malformed or has a control character.
std::optional<std::string> decode(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    char letter = part[i];
    if (letter == '%') {
      if (i + 2 >= part.size()) return std::nullopt;
      const auto high = hex_digit(part[i + 1]);
      const auto low = hex_digit(part[i + 2]);
      if (!high || !low) return std::nullopt;
      letter = static_cast<char>(*high * 16 + *low);
      i += 2;
    }
    constexpr char kFirstPrintable = ' ';
    constexpr char kDelete = 127;
    if ((letter >= 0 && letter < kFirstPrintable) || letter == kDelete) return std::nullopt;
    text += letter;
  }
  return text;
}

/// The values in a path that has the form of the template; none for another path.
std::optional<std::map<std::string, std::string>> match(std::string_view form, std::string_view path) {
  std::map<std::string, std::string> values;
  const std::vector<std::string_view> names = split(form, '/');
  const std::vector<std::string_view> parts = split(path, '/');
  if (names.size() != parts.size()) return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_value = names[i].starts_with('{');
    if (!is_value && names[i] != parts[i]) return std::nullopt;
    if (!is_value) continue;
    auto value = decode(parts[i]);
    if (!value || value->empty()) return std::nullopt;
    values.emplace(names[i].substr(1, names[i].size() - 2), *std::move(value));
  }
  return values;
}

/// Browsers send other types without asking the service first, so that pages of others could post here.
bool is_json(std::string_view content_type) {
  return equal_in_any_case(split_once(content_type, ';').first, "application/json");
}

}  // namespace

std::map<std::string, std::string> query_values(std::string_view query) {
  std::map<std::string, std::string> values;
  if (query.empty()) return values;
  for (const std::string_view part : split(query, '&')) {
    const auto [name, value] = split_once(part, '=');
    values.emplace(decode(name).value_or(""), decode(value.value_or("")).value_or(""));
  }
  return values;
}

Router::Router(std::vector<Route> routes, Gate& gate) : routes_(std::move(routes)), gate_(gate) {}

tl::expected<Admitted, Response> Router::admit(const RequestHead& head) const {
  const std::string_view method = head.method == "HEAD" ? "GET" : std::string_view(head.method);
  std::vector<std::string_view> methods;
  for (const Route& route : routes_) {
    auto parameters = match(route.path, head.path);
    if (!parameters) continue;
    methods.push_back(route.method);
    if (route.method != method) continue;
    auto caller = gate_.admit(head, route.role, std::chrono::steady_clock::now());
    if (!caller) return tl::unexpected(std::move(caller.error()));
    if (route.request_schema != nullptr && route.body_type != "*/*" && !is_json(head.content_type))
      return tl::unexpected(problem(415, "expected Content-Type: application/json"));
    return Admitted{.route = &route, .parameters = *std::move(parameters), .caller = *std::move(caller)};
  }
  if (methods.empty()) return tl::unexpected(problem(404, "there is no such path; /openapi.json lists all"));
  Response response = problem(405, fmt::format("this path takes {}", fmt::join(methods, ", ")));
  response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(methods, ", ")));
  return tl::unexpected(std::move(response));
}

Response Router::answer(const Route& route, const Request& request) const try {
  if (std::chrono::steady_clock::now() > request.deadline) return busy();
  return route.handler(request);
} catch (const std::exception& error) {
  log_event(Severity::Error, "handler failed", {{"id", request.head.id}, {"what", error.what()}});
  return problem(500, "the service cannot answer; its log says why");
}

}  // namespace vtrain::serve
