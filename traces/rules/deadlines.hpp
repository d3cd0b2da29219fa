/// Gives deadlines to jobs that have none, by a stated and seeded rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/rng.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Rule deadline = submit + U(low, high) x duration, with one draw for each job. Some jobs may get no
/// deadline.
struct DeadlineRule {
  /// ElasticFlow's choice (Gu et al., ASPLOS'23: the factor is uniform in [0.5, 1.5]). A job with a factor
  /// below 1 cannot meet its deadline on the GPUs that it requests.
  double low = 0.5;
  double high = 1.5;
  /// The probability that a job gets no deadline.
  double best_effort = 0;

  /// Reads `elasticflow`, `LOW:HIGH` with 0 <= LOW <= HIGH, for instance `1.2:3`, or one factor for all, for
  /// instance `1.2`. Each may end with `,best-effort=SHARE`, a share from 0 to 1, for instance
  /// `elasticflow,best-effort=0.3`.
  static Result<DeadlineRule> parse(std::string_view text);
  /// Text for people: `deadline = submit + U(0.5, 1.5) x duration`.
  std::string describe() const;
  /// Draws one deadline. Beyond `kMaxTraceTime` there is none.
  SimTime deadline(SimTime submit, SimDuration duration, RandomStream& random) const;
};

/// Applies the rule to every job without a deadline. A job's draws depend only on the seed and on its
/// position, not on other jobs' deadlines. A job without a known duration gets no deadline. Returns a
/// sentence on the change, empty if no job got a deadline.
std::string assign_deadlines(Workload& workload, const DeadlineRule& rule, std::uint64_t seed);

}  // namespace vtrain
