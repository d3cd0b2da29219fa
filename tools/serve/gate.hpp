/// Admission of clients: tokens, the name by which they call the service, and the rate of each tenant.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "tools/serve/http.hpp"
#include "tools/serve/tokens.hpp"

namespace vtrain::serve {

/// Lets a number of requests through each second, and as many at once after a pause of a second.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// True if a request may pass now. `per_second` is above 0.
  bool admit(double per_second, Clock::time_point now);

 private:
  std::optional<Clock::time_point> last_;
  double left_ = 0;  ///< requests that may pass at once
};

/// Decides on requests from their headers. Threads may share it.
class Gate {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without tokens every client on this machine may do everything. `requests_per_second` of a tenant; 0:
  /// unlimited.
  explicit Gate(std::optional<Tokens> tokens, double requests_per_second = 0);

  /// Takes the tokens of a file that was read again. Requests under way go on with what they were granted.
  void replace(Tokens tokens);

  /// The caller; or the problem: 401 without a known token, 403 for a role that does not include `needed`,
  /// 421 for the name of another host, 429 for too many requests.
  tl::expected<Caller, Response> admit(const RequestHead& head, Role needed, Clock::time_point now);

 private:
  tl::expected<Caller, Response> identify(const RequestHead& head) const;

  double requests_per_second_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;        ///< null: no tokens; guarded by `mutex_`
  std::map<std::string, RateLimit> by_tenant_;  ///< guarded by `mutex_`
};

}  // namespace vtrain::serve
