/// Checks that every trace reader makes of what a file says of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "workloads/job.hpp"

namespace vtrain {

/// The longest time that a trace may name, 100 years of 365 days: an instant plus a duration then stays
/// within the 292 years that 64 bits of nanoseconds hold.
inline constexpr SimDuration kMaxTraceTime = std::chrono::hours(24 * 365 * 100);

/// The longest name of a job, tenant or model in bytes.
inline constexpr std::size_t kMaxNameBytes = 1000;

/// Errors of these carry only the message; the caller adds file, line and field.
/// A name: 1 to `kMaxNameBytes` bytes of UTF-8 without control characters.
Result<void> check_name(std::string_view text);
/// Decimal seconds from the trace's origin: 0 to `kMaxTraceTime`.
Result<SimTime> parse_instant(std::string_view text);
/// Decimal seconds above 0, up to `kMaxTraceTime`.
Result<SimDuration> parse_duration(std::string_view text);
/// A whole number of GPUs of at least 1.
Result<GpuCount> parse_num_gpus(std::string_view text);

/// Finds jobs that have the same name. A table of 8-byte slots beside the jobs, at most two thirds full; O(1)
/// a job.
class JobNameIndex {
 public:
  /// `jobs` must outlive the index; names of jobs that were added must not change.
  explicit JobNameIndex(const std::vector<Job>& jobs) : jobs_(jobs) {}

  /// Makes room for this many jobs.
  void reserve(std::size_t num_jobs);
  /// Adds the job at a position of `jobs`. If an earlier one has its name, that one's position.
  std::optional<std::uint32_t> add(std::uint32_t position);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = kFree;
  };
  static constexpr std::uint32_t kFree = UINT32_MAX;

  void resize(std::size_t num_slots);

  const std::vector<Job>& jobs_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace vtrain
