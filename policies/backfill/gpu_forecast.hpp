/// Free GPUs over time by type, as running jobs and reservations leave them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "policies/backfill/count_timeline.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// GPUs of one type.
struct TypeCount {
  std::uint32_t type = 0;
  std::int64_t gpus = 0;
};

/// GPUs by type that a job holds, or is to hold, in `[begin, end)`.
struct Booking {
  SimTime begin{};
  SimTime end{};
  std::vector<TypeCount> gpus{};
};

/// Plans with the time limits of running jobs and with bookings. Where types matter each has a count of its
/// own, and a job that may use several gets the first of them with room, or parts of several where placement
/// splits gangs. GPUs that are out of service are expected back never.
class GpuForecast {
 public:
  /// For the cluster of a replay, with all its usable GPUs free.
  explicit GpuForecast(const SchedulingPass& pass);

  /// Moves on to this pass. Returns whether GPUs have gone out of service or come back since the last one.
  bool advance(const SchedulingPass& pass);
  /// Books what a job that has just started holds until its time limit.
  void start(const SchedulingPass& pass, JobId job);
  /// Gives back what a job held that runs no longer, and returns that: its GPUs from now until the job should
  /// have ended at the latest.
  Booking end(const SchedulingPass& pass, JobId job);

  /// The most GPUs that a job which asks for this type can have together in `[now, end)`.
  std::int64_t most_until(GpuTypeId asked, SimTime end) const;
  /// The booking with the earliest begin in the window; none where there is none.
  std::optional<Booking> earliest(GpuTypeId asked, GpuCount num_gpus, SimDuration length,
                                  const CountTimeline::Window& window) const;
  /// Takes the GPUs of a booking.
  void book(const Booking& booking) { add(booking, -1); }
  /// Gives them back, from now on.
  void cancel(const Booking& booking) { add(booking, 1); }
  /// Whether all GPUs are alike to jobs.
  bool is_uniform() const { return by_type_ == nullptr; }
  /// The kind of jobs that ask for this type: jobs of one kind may use the same GPUs.
  GpuTypeId kind_of(GpuTypeId asked) const { return is_uniform() ? GpuTypeId() : asked; }
  /// Number of types; 1 where all GPUs are alike.
  std::size_t num_types() const { return free_.size(); }
  /// The types whose GPUs a job may get that asks for this type.
  std::span<const std::uint32_t> allowed(GpuTypeId asked) const;
  /// Whether there are several of them.
  bool may_choose(GpuTypeId asked) const { return allowed(asked).size() > 1; }

 private:
  /// GPUs for a job among counts by type, if they suffice.
  std::optional<std::vector<TypeCount>> choose(std::span<const std::uint32_t> types,
                                               std::span<const std::int64_t> counts,
                                               std::int64_t needed) const;
  void add(const Booking& booking, std::int64_t times);
  void add(std::span<const TypeCount> gpus, SimTime begin, SimTime end, std::int64_t times);

  const GpusByType* by_type_;
  SimTime now_;
  std::vector<std::int64_t> usable_;                                ///< [types]
  std::vector<CountTimeline> free_;                                 ///< [types]
  std::vector<std::int64_t> scratch_;                               ///< [types]
  std::unordered_map<std::uint32_t, std::vector<TypeCount>> held_;  ///< by job, where types matter
};

}  // namespace vtrain
