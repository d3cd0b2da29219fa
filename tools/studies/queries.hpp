/// Statements of SQL that give the figures of a study's tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sched/metrics/metric_table.hpp"
#include "tools/studies/study_results.hpp"

namespace vtrain {

/// The policies that others are compared with, as far as SQL must know them.
struct ComparedPolicies {
  const Metric* ranking = nullptr;  ///< metric that ranks policies in each combination; null: `fixed`
  std::string fixed{};              ///< the same policy in all combinations
};

/// The means of metrics by combination and policy, in the order of the table. `all_paired` is true if each
/// combination has all of its policies under each seed; otherwise the statement leaves out other seeds.
std::string means_query(const StudyGrid& grid, std::span<const Metric* const> metrics, bool all_paired);

/// The mean differences from the policy that others are compared with, paired by seed.
std::string differences_query(const StudyGrid& grid, std::span<const Metric* const> metrics, bool all_paired,
                              const ComparedPolicies& compared);

}  // namespace vtrain
