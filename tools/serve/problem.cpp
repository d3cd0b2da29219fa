#include "tools/serve/problem.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/format/text_format.hpp"

namespace vtrain::serve {
namespace {

/// Statuses of errors.
constexpr std::array<std::pair<ErrorKind, int>, 4> kStatusOfKind = {{
    {ErrorKind::InvalidInput, 400},
    {ErrorKind::NotFound, 404},
    {ErrorKind::Failed, 422},  // correct input, but there is no answer: no plan fits into memory
    {ErrorKind::Io, 500},
}};

constexpr std::array<std::pair<int, std::string_view>, 18> kStatusTexts = {{
    {200, "OK"},
    {201, "Created"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
}};

int status_of(const Error& error) {
  // A body may name what does not exist: only the path decides what is not found.
  constexpr int kBadRequest = 400;
  if (error.kind == ErrorKind::NotFound && !error.field.empty()) return kBadRequest;
  for (const auto& [known, status] : kStatusOfKind) {
    if (known == error.kind) return status;
  }
  return 500;
}

Response problem_of(const nlohmann::ordered_json& details) {
  return {.status = details["status"].get<int>(),
          .body = json_text(details),
          .content_type = "application/problem+json"};
}

nlohmann::ordered_json details_of(int status, std::string_view detail) {
  return {{"title", status_text(status)}, {"status", status}, {"detail", detail}};
}

}  // namespace

std::string_view status_text(int status) {
  for (const auto& [known, text] : kStatusTexts) {
    if (known == status) return text;
  }
  return "Unknown";
}

Response problem(int status, std::string_view detail) {
  return problem_of(details_of(status, detail));
}

Response busy() {
  Response response = problem(503, "the service is busy");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response problem(const Error& error) {
  const int status = status_of(error);
  constexpr int kOwnFault = 500;
  if (status >= kOwnFault) return problem(status, "the service cannot answer; its log says why");
  nlohmann::ordered_json details = details_of(status, error.message);
  if (!error.field.empty()) details["field"] = error.field;
  if (error.line > 0) details["line"] = error.line;
  return problem_of(details);
}

}  // namespace vtrain::serve
