/// Activity records from CUPTI.
#pragma once

#include "profiler/activity.hpp"

namespace vtrain::profiler {

/// The one source of a process: CUPTI's buffers are global.
class CuptiActivity : public ActivitySource {
 public:
  CuptiActivity();
  ~CuptiActivity() override;
  CuptiActivity(const CuptiActivity&) = delete;
  CuptiActivity& operator=(const CuptiActivity&) = delete;

  void start() override;
  void stop() override;
  Activity collect() override;
};

/// Launches of this thread between the two belong to the range.
void push_range(std::uint64_t range);
void pop_range();

}  // namespace vtrain::profiler
