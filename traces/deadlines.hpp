/// Gives deadlines to jobs that have none, by a stated and seeded rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/rng.hpp"
#include "workloads/job.hpp"

namespace vtrain {

/// deadline = submit + U(low, high) x duration, each job with its own draw.
struct DeadlineRule {
  /// ElasticFlow's choice (Gu et al., ASPLOS'23: the factor is uniform in [0.5, 1.5]). A job
  /// with a factor below 1 cannot meet its deadline on the GPUs that it asks for.
  double low = 0.5;
  double high = 1.5;

  /// `elasticflow`, or `LOW:HIGH` with 0 <= LOW <= HIGH, for instance `1.2:3`.
  static Result<DeadlineRule> parse(std::string_view text);
  /// For people: `deadline = submit + U(0.5, 1.5) x duration`.
  std::string describe() const;
  /// One draw.
  SimTime deadline(SimTime submit, SimDuration duration, RandomStream& random) const;
};

/// Applies the rule to every job without a deadline; returns how many there were. A job's draw depends on the
/// seed and on its position only, not on which other jobs have deadlines. A job without a known duration is
/// an error.
Result<std::int64_t> assign_deadlines(Workload& workload, const DeadlineRule& rule, std::uint64_t seed);

}  // namespace vtrain
