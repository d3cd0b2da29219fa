/// The table that names every policy.
#pragma once

#include <deque>
#include <memory>
#include <string_view>

#include "core/base/result.hpp"
#include "policies/base/policy_info.hpp"

namespace vtrain {

/// Names of policies, with their factories. It begins with the policies of vtrain; others can be added. Rows
/// keep their addresses. Several threads may use a registry to which nothing is added.
class PolicyRegistry {
 public:
  PolicyRegistry();
  PolicyRegistry(const PolicyRegistry&) = delete;
  PolicyRegistry& operator=(const PolicyRegistry&) = delete;

  /// The registry with only the policies of vtrain.
  static const PolicyRegistry& built_in();

  /// Adds a policy. Errors: a name that is taken, or that is not made of lower-case letters, digits and `-`.
  Result<void> add(PolicyInfo policy);
  /// All policies, in the order in which they are listed to users.
  const std::deque<PolicyInfo>& policies() const { return policies_; }
  /// Parses `NAME:key=value,...` and checks it against the table. Errors: an unknown policy (with the nearest
  /// known name), and those of `PolicyArguments::parse`.
  Result<PolicyArguments> parse(std::string_view spec) const;
  /// Makes the policy of a spec such as `fifo` or `las:attained=time,queues=3250;7200`. Errors: those of
  /// `parse`, a value out of range.
  Result<std::unique_ptr<Policy>> make(std::string_view spec) const;

 private:
  std::deque<PolicyInfo> policies_;
};

/// Makes one of vtrain's policies: `PolicyRegistry::built_in().make(spec)`.
Result<std::unique_ptr<Policy>> make_policy(std::string_view spec);

}  // namespace vtrain
