/// Problem details of HTTP APIs (RFC 9457): every error of the service in one form.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "tools/serve/http.hpp"

namespace vtrain::serve {

/// Meaning of a status, for people: `Not Found`.
std::string_view status_text(int status);

/// `{"title": "Not Found", "status": 404, "detail": ...}` as `application/problem+json`.
Response problem(int status, std::string_view detail);

/// The problem of a service that has too much to do, with the time to try again.
Response busy();

/// A problem from an error of the project: its status by its kind, its field and line of the body. Errors of
/// the service itself (status 500 and up) and names of files are not told to clients.
Response problem(const Error& error);

}  // namespace vtrain::serve
