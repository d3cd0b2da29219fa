/// Policies as they are named on the command line, made before anything else is read.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// A policy that has been made, once, so that a file that it reads may be a pipe. It remembers the passes
/// that it was given: it is for one run.
struct PreparedPolicy {
  std::string spec;  ///< as given
  PolicyArguments arguments;
  std::unique_ptr<Policy> policy;
  /// The files that it has read, each with its description for provenance (`path_and_hash`).
  std::vector<std::pair<std::string, std::string>> files{};

  /// Whether it may give jobs other numbers of GPUs than they ask for.
  bool is_elastic() const { return policy->progress_rule() != ProgressRule::Duration; }
};

/// Makes the policies of these specs. Errors as of `make_policy`, and a file that cannot be hashed.
Result<std::vector<PreparedPolicy>> prepare_policies(const std::vector<std::string>& specs);

}  // namespace vtrain
