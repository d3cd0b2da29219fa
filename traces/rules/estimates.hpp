/// Gives jobs the run times that users would estimate, by a stated and seeded rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Rule for the requested times of jobs. A job is ended at its requested time, so an estimate below the
/// duration is replaced by the duration. The rule `Trace` changes nothing.
struct EstimateRule {
  enum class Kind : std::uint8_t {
    Trace,      ///< requested times of the trace
    Exact,      ///< no requested times: durations are known
    LogNormal,  ///< duration x exp(N(0, sigma)); half of these values would be below the duration
    Factor,     ///< duration x factor
    Rounded,    ///< smallest of a list of round times that is not below the duration
  };
  Kind kind = Kind::Trace;
  double value = 0;                   ///< sigma or factor
  std::vector<SimDuration> limits{};  ///< ascending times of `Rounded`; above the last, its whole multiples

  /// Reads `trace`, `exact`, `lognormal:SIGMA` (0 to 10), `factor:F` (1 to 1000), `rounded` (to
  /// 1h/4h/12h/1d/2d/4d/7d/14d/30d), or `rounded:A/B/...` with times such as `30m` or `1d`.
  static Result<EstimateRule> parse(std::string_view text);
  /// Text for people: `requested time = duration × max(1, exp(N(0, 0.5)))`.
  std::string describe() const;
};

/// Sets the requested time of every job. A job's draw depends only on the seed and on its position. Estimates
/// are at most `kMaxTraceTime`. A job without a known duration keeps its requested time, unless the rule is
/// `Exact`. Returns a sentence on the change, empty for `Trace`.
std::string set_estimates(Workload& workload, const EstimateRule& rule, std::uint64_t seed);

}  // namespace vtrain
