/// How often jobs save their state while they run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Young's interval, in seconds of work between checkpoints: sqrt(2 d M), d being the time that a checkpoint
/// takes and M the job's mean time between failures (Young, "A first order approximation to the optimum
/// checkpoint interval", CACM 17(9), 1974).
double young_interval_s(double checkpoint_s, double mtbf_s);

/// Daly's: sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + d / 18M) - d where d < 2M, else M (Daly, "A higher order
/// estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006).
double daly_interval_s(double checkpoint_s, double mtbf_s);

/// Periodic checkpoints. What a policy interrupts is saved first in any case; these guard against failures.
struct CheckpointRule {
  enum class Kind : std::uint8_t { None, Interval, Young, Daly };
  Kind kind = Kind::None;
  SimDuration interval{0};  ///< of work, with `Interval`

  /// Reads `none`, `young`, `daly` or a duration such as `30m`.
  static Result<CheckpointRule> parse(std::string_view text);

  /// Whether intervals follow from how often nodes fail.
  bool needs_mtbf() const { return kind == Kind::Young || kind == Kind::Daly; }
  /// Work between two checkpoints of a job, at least 1 ns; none: it writes none. `mtbf_s` is the job's mean
  /// time between failures in seconds, infinite if nothing of it can fail.
  std::optional<SimDuration> interval_of(double checkpoint_s, double mtbf_s) const;
};

}  // namespace vtrain
