/// Changes of a pending job with which it would start earlier, each simulated.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "tools/live/cluster_now.hpp"

namespace vtrain {

/// A change that helps.
struct Suggestion {
  std::string change{};  ///< what to ask for instead
  std::string price{};   ///< what it costs; empty: nothing
  LikelyTime start{};    ///< its start then
};

/// Changes of one kind each, the smallest of its kind that helps: the best plan, for a job that names a
/// slower one; a shorter time limit, where past runs were shorter; GPUs of any type, or of another; another
/// partition; fewer GPUs. A job whose model is known runs as predicted then. A change helps if half of the
/// starts are earlier by at least five minutes and a tenth of the wait, another plan always. Errors: those of
/// `estimate_starts`.
Result<std::vector<Suggestion>> suggest_changes(const ClusterNow& cluster, const JobEta& as_it_is,
                                                const PolicyRegistry& registry);

}  // namespace vtrain
