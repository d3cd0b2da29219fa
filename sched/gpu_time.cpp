#include "sched/gpu_time.hpp"

#include "core/text.hpp"

namespace vtrain {

void GpuTime::append_to(std::string& out) const {
  out += std::to_string(seconds_);
  if (billionths_ == 0) return;
  std::string fraction;
  append_ns_as_seconds(fraction, billionths_);
  out += fraction.substr(1);  // without the 0 before the point
}

}  // namespace vtrain
