/// The clock of the service's jobs: the system's, or one that requests move.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace vtrain::serve {

/// Nanoseconds since 1970.
using UnixTime = std::int64_t;

/// Tells the time. Threads may share it.
class Clock {
 public:
  /// A simulated clock begins at 1970, or where the jobs have got to, and stands still.
  explicit Clock(bool is_simulated) : is_simulated_(is_simulated) {}

  bool is_simulated() const { return is_simulated_; }
  UnixTime now() const {
    if (is_simulated_) return simulated_;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  /// Moves a simulated clock forward. False: the time has been already.
  bool move_to(UnixTime time) {
    UnixTime before = simulated_;
    while (before <= time) {
      if (simulated_.compare_exchange_weak(before, time)) return true;
    }
    return false;
  }

 private:
  const bool is_simulated_;
  std::atomic<UnixTime> simulated_ = 0;
};

}  // namespace vtrain::serve
