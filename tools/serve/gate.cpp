#include "tools/serve/gate.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/strings.hpp"
#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

/// True for a name of this machine that leads nowhere else. A page from the web that has its own name point
/// here (DNS rebinding) calls the service by that name.
bool is_loopback_name(std::string_view host) {
  const std::size_t port = host.rfind(':');
  if (port != std::string_view::npos && host.find(']', port) == std::string_view::npos)
    host = host.substr(0, port);
  return equal_in_any_case(host, "localhost") || host == "[::1]" || host.starts_with("127.");
}

Response unauthorized(std::string_view detail) {
  Response response = problem(401, detail);
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"vtrain\"");
  return response;
}

}  // namespace

bool RateLimit::admit(double per_second, Clock::time_point now) {
  const double passed = last_ ? std::chrono::duration<double>(now - *last_).count() : 1.0;
  left_ = std::min(std::max(per_second, 1.0), left_ + passed * per_second);
  last_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

Gate::Gate(std::optional<Tokens> tokens, double requests_per_second)
    : requests_per_second_(requests_per_second),
      tokens_(tokens ? std::make_shared<const Tokens>(*std::move(tokens)) : nullptr) {}

void Gate::replace(Tokens tokens) {
  auto replacement = std::make_shared<const Tokens>(std::move(tokens));
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(replacement);
}

tl::expected<Caller, Response> Gate::identify(const RequestHead& head) const {
  std::shared_ptr<const Tokens> tokens;
  {
    const std::lock_guard lock(mutex_);
    tokens = tokens_;
  }
  if (tokens == nullptr) {
    if (is_loopback_name(head.host)) return Caller{.tenant = "", .role = Role::Operate};
    return tl::unexpected(problem(421, "without tokens the service answers to names of this machine alone"));
  }
  const auto [scheme, token] = split_once(head.authorization, ' ');
  if (!token || !equal_in_any_case(scheme, "bearer"))
    return tl::unexpected(unauthorized("expected the header Authorization: Bearer TOKEN"));
  auto caller = tokens->find(*token);
  if (!caller) return tl::unexpected(unauthorized("the token is not known"));
  return *std::move(caller);
}

tl::expected<Caller, Response> Gate::admit(const RequestHead& head, Role needed, Clock::time_point now) {
  if (needed == Role::None) return Caller{};
  auto caller = identify(head);
  if (!caller) return caller;
  if (caller->role < needed) {
    return tl::unexpected(problem(403, std::string("the token has the role ") +
                                           std::string(name_of(caller->role)) + ", this needs " +
                                           std::string(name_of(needed))));
  }
  if (requests_per_second_ > 0) {
    const std::lock_guard lock(mutex_);
    if (!by_tenant_[caller->tenant].admit(requests_per_second_, now)) {
      Response response = problem(429, "too many requests of this tenant");
      response.headers.emplace_back("Retry-After", "1");
      return tl::unexpected(std::move(response));
    }
  }
  return caller;
}

}  // namespace vtrain::serve
