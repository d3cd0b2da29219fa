/// Reasons why jobs wait: the vocabulary, and the changes of a job's reason as values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// The first reason why a waiting job does not hold GPUs. A reason is kept as long as it holds, even if
/// others join it. `docs/reasons.md` says what has to change for the job to start.
enum class WaitReason : std::uint8_t {
  Gpus,          ///< fewer GPUs are free than it asks for
  Type,          ///< enough GPUs are free, but too few of a type that it may use
  Placement,     ///< enough GPUs are free, but the placement has no room for the gang
  OutOfService,  ///< it asks for more GPUs than are in service
  Dependency,    ///< it waits for another job to start or end
  Limit,         ///< a limit of its tenant, QOS, partition or array holds it
  Reservation,   ///< it would delay the reservation of another job
  Order,         ///< another job comes before it
  NextDecision,  ///< the policy decides on it at a later instant
  Preempted,     ///< another job has taken its GPUs
  Policy,        ///< there is room, and the policy gives no reason
  TooLarge,      ///< it would not fit on the empty cluster; it never starts
  Rejected,      ///< the policy turned it away; it never starts
  None,          ///< it waits no longer: it holds GPUs
};

/// A word of the vocabulary.
struct WaitReasonInfo {
  WaitReason reason;         ///< reason of this row
  std::string_view word;     ///< word in files
  std::string_view summary;  ///< one line, as part of a sentence about the job
};

/// All reasons, in the order of the enumeration.
std::span<const WaitReasonInfo> wait_reasons();
/// Row of a reason.
const WaitReasonInfo& info_of(WaitReason reason);

/// Cause for which a policy does not start a job for which there is room.
struct WaitCause {
  WaitReason reason = WaitReason::Policy;  ///< `Policy`, `Order`, `Reservation` or `NextDecision`
  JobId by{};                              ///< job that comes before it or that has the reservation
  std::optional<SimTime> at{};             ///< begin of the reservation, or time of the decision
};

/// A job's reason from one instant on.
struct ReasonChange {
  SimTime time{};                          ///< instant of the pass after which it holds
  JobId job{};                             ///< job that waits
  WaitReason reason = WaitReason::Policy;  ///< reason from now on
  JobId by{};                              ///< job of the reservation, the order or the preemption
  GpuCount asked{0};                       ///< GPUs that it asks for, the fewest of an elastic job
  GpuCount available{0};  ///< GPUs that are free; in service or in the cluster where these are too few
  /// Begin of a reservation, time of a decision, or earliest deadline with which it would have been admitted.
  std::optional<SimTime> at{};

  friend bool operator==(const ReasonChange&, const ReasonChange&) = default;
};

/// Receives changes of reasons during a replay, in the order of time.
class ReasonObserver {
 public:
  virtual ~ReasonObserver() = default;
  /// Takes in some changes, which are valid during the call.
  virtual void take(std::span<const ReasonChange> changes) = 0;
};

/// Jobs whose reasons are recorded.
struct ReasonOptions {
  ReasonObserver* all = nullptr;      ///< receives the changes of all jobs; null: nobody does
  ReasonObserver* watched = nullptr;  ///< receives the changes of one job; null: nobody does
  /// Job of `watched`. A change of the other job that its reason names counts as a change.
  JobId job{};

  /// True if reasons are recorded.
  bool any() const { return all != nullptr || watched != nullptr; }
};

}  // namespace vtrain
