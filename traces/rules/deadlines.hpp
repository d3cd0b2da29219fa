/// Gives deadlines to jobs that have none, by a stated and seeded rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/rng.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// deadline = submit + U(low, high) x duration, each job with its own draw; a part of the jobs gets none.
struct DeadlineRule {
  /// ElasticFlow's choice (Gu et al., ASPLOS'23: the factor is uniform in [0.5, 1.5]). A job
  /// with a factor below 1 cannot meet its deadline on the GPUs that it asks for.
  double low = 0.5;
  double high = 1.5;
  /// The probability that a job is left without a deadline.
  double best_effort = 0;

  /// `elasticflow`, `LOW:HIGH` with 0 <= LOW <= HIGH, for instance `1.2:3`, or one factor for all, for
  /// instance `1.2`; each with or without `,best-effort=SHARE` of 0 to 1, for instance
  /// `elasticflow,best-effort=0.3`.
  static Result<DeadlineRule> parse(std::string_view text);
  /// For people: `deadline = submit + U(0.5, 1.5) x duration`.
  std::string describe() const;
  /// One draw. No deadline where it would lie beyond `kMaxTraceTime`.
  SimTime deadline(SimTime submit, SimDuration duration, RandomStream& random) const;
};

/// Applies the rule to every job without a deadline. A job's draws depend on the seed and on its position
/// only, not on which other jobs have deadlines. A job without a known duration gets none. Returns a sentence
/// that says so, empty when no job got any.
std::string assign_deadlines(Workload& workload, const DeadlineRule& rule, std::uint64_t seed);

}  // namespace vtrain
