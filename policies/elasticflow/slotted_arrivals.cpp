#include "policies/elasticflow/slotted_arrivals.hpp"

namespace vtrain {

WholeSeconds to_whole_seconds(SimTime time) {
  return std::chrono::ceil<std::chrono::seconds>(time.time_since_epoch()).count();
}

WholeSeconds whole_seconds_passed(SimTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

SimTime to_sim_time(WholeSeconds seconds) {
  constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(SimTime::max().time_since_epoch());
  return seconds < kLast.count() ? SimTime(std::chrono::seconds(seconds)) : SimTime::max();
}

void SlottedArrivals::collect(const SchedulingPass& pass, std::optional<WholeSeconds> last_decision,
                              bool others) {
  if (pass.arrived().empty()) return;
  if (jobs_.empty()) {
    const WholeSeconds now = to_whole_seconds(pass.now());
    others = others || pass.jobs().back().submit > pass.now();
    const bool waits = others && last_decision && now - *last_decision <= slot_;
    due_ = waits ? *last_decision + slot_ : now;
  }
  jobs_.insert(jobs_.end(), pass.arrived().begin(), pass.arrived().end());
}

}  // namespace vtrain
