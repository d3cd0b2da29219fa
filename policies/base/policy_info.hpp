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
  std::string_view name;                    ///< key in a spec
  std::string_view default_value;           ///< value of a spec without the parameter
  std::string_view unit{};                  ///< empty for choices, and if the default contains it
  std::string_view summary;                 ///< a phrase for people
  std::vector<std::string_view> choices{};  ///< the only valid values, if limited
  bool is_file = false;                     ///< true if the value is the path of a file that the policy reads
  std::string_view condition{};    ///< `name=value` of another parameter without which it has no effect
  bool ignores_gpu_types = false;  ///< true if any value but the default sets `PolicyInfo::ignores_gpu_types`
};

struct PolicyInfo;

/// Values of all parameters of one policy, checked against its row of the table.
class PolicyArguments {
 public:
  /// Reads `key=value,...`, which may be empty. Other parameters have their defaults. The policy must outlive
  /// the arguments.
  ///
  /// Errors: an unknown parameter (with the nearest known name), one without a value or given twice, a value
  /// not among its choices, a parameter that has no effect with the other values.
  static Result<PolicyArguments> parse(const PolicyInfo& policy, std::string_view text);
  /// Row of the policy in the table.
  const PolicyInfo& policy() const { return *policy_; }
  /// Value given, or the default. The parameter must be in the policy's table.
  std::string_view operator[](std::string_view parameter) const;
  /// True if the policy, with these values, plans with the number of all GPUs regardless of type.
  bool ignores_gpu_types() const;
  /// Sentence with the new spelling, for a spec whose spelling the next version removes; otherwise empty.
  const std::string& hint() const { return hint_; }
  /// Sets the sentence of `hint()`.
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

/// Facts about jobs that a policy needs in a trace. A run reports before it starts if no job has one.
struct PolicyNeeds {
  bool recorded_starts = false;  ///< starts of jobs; a trace without any is refused
  bool deadlines = false;        ///< deadlines by which it orders or admits jobs
  bool time_limits = false;      ///< time limits of users; run times replace absent ones
  bool tenants = false;          ///< tenants whose shares it enforces
  bool curves = false;           ///< throughput curves, or models that give them: it resizes jobs
};

/// One row of the table. Its texts outlive the registry that it is added to.
struct PolicyInfo {
  std::string_view name;                      ///< name in a spec
  std::string_view summary;                   ///< a sentence for people
  std::vector<PolicyParameter> parameters{};  ///< parameters that a spec may set
  /// Makes a policy of checked arguments.
  std::function<Result<std::unique_ptr<Policy>>(const PolicyArguments&)> make{};
  bool is_clairvoyant = false;     ///< true if it knows run times, not only time limits
  bool ignores_gpu_types = false;  ///< true if it plans with the number of all GPUs regardless of type
  bool follows_requests = false;   ///< true if dependencies and numbers of nodes decide when jobs start
  bool never_interrupts = false;   ///< true if jobs keep their GPUs unless a node fails
  bool keeps_quotas = false;       ///< true if quotas and weights of the tenants decide, where they have some
  PolicyNeeds needs{};             ///< facts that it needs in a trace
  std::string_view source{};       ///< publication that describes it; empty where there is none
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
