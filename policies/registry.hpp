/// The one table that names every policy.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "policies/base/policy_info.hpp"

namespace vtrain {

/// All policies, in the order in which they are listed to users.
std::span<const PolicyInfo> policies();

/// Takes `NAME:key=value,...` apart and checks it against the table. Errors: an unknown policy (with the
/// nearest known name), and those of `PolicyArguments::parse`.
Result<PolicyArguments> parse_policy(std::string_view spec);

/// Makes the policy of a spec such as `fifo` or `las:attained=time,queues=3250;7200`. Errors: those of
/// `parse_policy`, a value out of range.
Result<std::unique_ptr<Policy>> make_policy(std::string_view spec);

}  // namespace vtrain
