/// Activity records from CUPTI.
#pragma once

#include "profiler/activity.hpp"

namespace vtrain::profiler {

/// CUPTI's activity source, one per process, as its buffers are global.
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

/// Begins a range: launches of this thread before the next `pop_range` belong to it.
void push_range(std::uint64_t range);
void pop_range();

}  // namespace vtrain::profiler
