/// The one table that names every policy.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// One parameter of a policy, as `vtrain policies` shows it.
struct PolicyParameter {
  std::string_view name;
  std::string_view default_value;
  std::string_view unit{};  ///< empty for choices, and where the default has it
  std::string_view summary;
  std::vector<std::string_view> choices{};  ///< the only values, if there are any
  bool is_file = false;                     ///< the value is the path of a file that the policy reads
  std::string_view condition{};  ///< `name=value` of another parameter without which it has no effect
};

struct PolicyInfo;

/// `NAME:key=value,...` taken apart and checked against the table: every parameter has a value.
class PolicyArguments {
 public:
  /// Errors: an unknown policy or parameter (with the nearest known name), a parameter without a value or
  /// given twice, a value that is none of the parameter's choices, a parameter without effect beside the
  /// others.
  static Result<PolicyArguments> parse(std::string_view spec);
  /// The policy's row of the table.
  const PolicyInfo& policy() const { return *policy_; }
  /// The value given, or the default. The parameter must be in the policy's table.
  std::string_view operator[](std::string_view parameter) const;
  /// Whether the policy plans with the number of all GPUs, whatever their type: its row of the table says so,
  /// and ElasticFlow's presets of others do.
  bool ignores_gpu_types() const;
  /// The error for a value that the policy cannot use.
  Error bad_value(std::string_view parameter, std::string_view expected) const;

 private:
  Result<void> check_conditions(std::span<const std::string_view> given) const;

  const PolicyInfo* policy_ = nullptr;
  std::vector<std::pair<std::string_view, std::string>> values_;
};

/// One row of the table.
struct PolicyInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<PolicyParameter> parameters{};
  Result<std::unique_ptr<Policy>> (*make)(const PolicyArguments&);
  bool is_clairvoyant = false;         ///< it knows run times, whatever times were requested
  bool ignores_gpu_types = false;      ///< it plans with the number of all GPUs, whatever their type
  bool needs_recorded_starts = false;  ///< it is of use only where the trace says when jobs started
};

/// All policies, in the order in which they are listed to users.
std::span<const PolicyInfo> policies();

/// Makes the policy of a spec such as `fifo` or `las:attained=time,queues=3250;7200`. Errors: an unknown
/// policy or parameter (with the nearest known name), a value out of range.
Result<std::unique_ptr<Policy>> make_policy(std::string_view spec);

}  // namespace vtrain
