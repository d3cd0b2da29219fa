#include "sched/accounting/gpu_time.hpp"

#include <fmt/format.h>

#include <iterator>

namespace vtrain {

void GpuTime::append_to(std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{}", seconds_);
  if (trillionths_ == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:012}", trillionths_);
  out.erase(out.find_last_not_of('0') + 1);
}

}  // namespace vtrain
