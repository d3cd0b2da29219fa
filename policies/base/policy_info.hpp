/// Names, parameters and factories of policies, as their table lists them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  std::string_view condition{};  ///< `name=value` of another parameter, in effect, that it needs to have any
  bool ignores_gpu_types = false;  ///< any value but the default sets `PolicyInfo::ignores_gpu_types`
};

struct PolicyInfo;

/// Values of all parameters of one policy, checked against its row of the table.
class PolicyArguments {
 public:
  /// Reads `key=value,...`, which may be empty, for a policy that must outlive the arguments. Parameters that
  /// are not given have their defaults.
  ///
  /// Errors: an unknown parameter (with the nearest known name), one without a value or given twice, a value
  /// that is none of its choices, a parameter that has no effect with the other values.
  static Result<PolicyArguments> parse(const PolicyInfo& policy, std::string_view text);
  /// Row of the policy in the table.
  const PolicyInfo& policy() const { return *policy_; }
  /// The value given, or the default. The parameter must be in the policy's table.
  std::string_view operator[](std::string_view parameter) const;
  /// True if the policy, with these values, plans with the number of all GPUs, whatever their type.
  bool ignores_gpu_types() const;
  /// A sentence with the present spelling, of a spec whose spelling goes with the next version; else empty.
  const std::string& hint() const { return hint_; }
  void set_hint(std::string hint) { hint_ = std::move(hint); }
  /// The error for a value that the policy cannot use.
  Error bad_value(std::string_view parameter, std::string_view expected) const;

 private:
  explicit PolicyArguments(const PolicyInfo& policy);
  Result<void> check_conditions(std::span<const std::string_view> given) const;

  const PolicyInfo* policy_;
  std::vector<std::string> values_;  ///< [parameters of the policy]
  std::string hint_;
};

/// Facts about jobs that a policy needs a trace to have. A run says before it starts where no job says so.
struct PolicyNeeds {
  bool recorded_starts = false;  ///< when jobs started; a trace without any is refused
  bool deadlines = false;        ///< by which it orders or admits jobs
  bool time_limits = false;      ///< times that users ask for; run times take their place
  bool tenants = false;          ///< whose shares it keeps
  bool curves = false;           ///< throughput curves, or models that give them: it resizes jobs
};

/// One row of the table. Its texts outlive the registry that it is added to.
struct PolicyInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<PolicyParameter> parameters{};
  std::function<Result<std::unique_ptr<Policy>>(const PolicyArguments&)> make{};
  bool is_clairvoyant = false;     ///< it knows run times, whatever times were requested
  bool ignores_gpu_types = false;  ///< it plans with the number of all GPUs, whatever their type
  bool never_interrupts = false;   ///< jobs keep the GPUs that they were given, unless a node fails
  PolicyNeeds needs{};             ///< from a trace
  std::string_view source{};       ///< publication that describes it; empty: it is folklore
};

/// Lists the names of rows, or of parameters, in their order.
template <class Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  names.reserve(rows.size());
  for (const auto& row : rows)
    names.push_back(row.name);
  return names;
}

/// Ends a sentence about an unknown name: with the nearest known one, or with a full stop.
std::string guess_or_stop(std::string_view word, std::span<const std::string_view> known);

}  // namespace vtrain
