/// Run times as users estimate them, by a stated and seeded rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// What becomes of the requested times of jobs. A job is ended at its requested time, so that no estimate
/// that is made is below the duration: one that would be is the duration. Those of the trace stay as they
/// are.
struct EstimateRule {
  enum class Kind : std::uint8_t {
    Trace,      ///< as the trace says
    Exact,      ///< none: durations are known
    LogNormal,  ///< duration x exp(N(0, sigma)), half of which would be below the duration
    Factor,     ///< duration x factor
    Rounded,    ///< the smallest of a list of round times that is not below the duration
  };
  Kind kind = Kind::Trace;
  double value = 0;                   ///< sigma or factor
  std::vector<SimDuration> limits{};  ///< of `Rounded`, ascending; above the last one, whole multiples of it

  /// `trace`, `exact`, `lognormal:SIGMA` (0 to 10), `factor:F` (1 to 1000), `rounded` (to 1h/4h/12h/1d/2d/4d/
  /// 7d/14d/30d), or `rounded:A/B/...` with times such as `30m` or `1d`.
  static Result<EstimateRule> parse(std::string_view text);
  /// For people: `requested time = duration × max(1, exp(N(0, 0.5)))`.
  std::string describe() const;
};

/// Sets the requested time of every job. A job's draw depends on the seed and on its position only. Estimates
/// are at most `kMaxTraceTime`. A job without a known duration keeps what it has, unless the rule is `Exact`.
/// Returns a sentence that says what was done, empty for `Trace`.
std::string set_estimates(Workload& workload, const EstimateRule& rule, std::uint64_t seed);

}  // namespace vtrain
