/// Arrivals as a scheduler that decides once a slot takes notice of them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Whole seconds from the trace's origin: the clock of ElasticFlow's simulator.
using WholeSeconds = std::int64_t;

/// The first whole second not before an instant.
WholeSeconds to_whole_seconds(SimTime time);
/// The last whole second not after an instant: what the scheduler's clock shows then.
WholeSeconds whole_seconds_passed(SimTime time);
/// The instant; `SimTime::max()` where the simulated clock cannot tell it.
SimTime to_sim_time(WholeSeconds seconds);

/// Jobs that have come since the last decision, in order. A job that comes within a slot of it waits for the
/// slot to end, together with all that come until then; the last jobs of the trace, if they come alone, do
/// not wait if nothing else is to come (ElasticFlow's simulator; Gu et al., ASPLOS'23).
class SlottedArrivals {
 public:
  explicit SlottedArrivals(WholeSeconds slot) : slot_(slot) {}

  /// Takes in what arrives in this pass. `others`: whether something else than arrivals is still to come.
  void collect(const SchedulingPass& pass, std::optional<WholeSeconds> last_decision, bool others);
  /// When the collected jobs are to be decided on; none while there are none.
  std::optional<WholeSeconds> due() const { return jobs_.empty() ? std::nullopt : std::optional(due_); }
  /// The collected jobs, which are then forgotten.
  std::vector<JobId> take() { return std::exchange(jobs_, {}); }

 private:
  WholeSeconds slot_;
  WholeSeconds due_ = 0;
  std::vector<JobId> jobs_;
};

}  // namespace vtrain
