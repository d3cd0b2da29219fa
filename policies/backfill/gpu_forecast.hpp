/// Forecast of free GPUs by type, after running jobs and reservations.
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

/// GPUs by type that a job holds or will hold in `[begin, end)`.
struct Booking {
  SimTime begin{};
  SimTime end{};
  std::vector<TypeCount> gpus{};
};

/// Plans with the time limits of running jobs and with bookings. If types matter, each has a count of its
/// own. A job that may use several types gets the first one with room, or parts of several if placement
/// splits gangs. GPUs that are out of service are never expected back.
class GpuForecast {
 public:
  /// Begins with the cluster of a replay, with all its usable GPUs free.
  explicit GpuForecast(const SchedulingPass& pass);

  /// Moves to this pass. Returns true if GPUs have gone out of service or come back since the last one.
  bool advance(const SchedulingPass& pass);
  /// Books the GPUs of a job that has just started until its time limit.
  void start(const SchedulingPass& pass, JobId job);
  /// Returns the GPUs of a job that no longer runs. The result is the cancelled part of its booking, from now
  /// until its latest end.
  Booking end(const SchedulingPass& pass, JobId job);

  /// Most GPUs that a job requesting this type can have together in `[now, end)`.
  std::int64_t most_until(GpuTypeId asked, SimTime end) const;
  /// The booking with the earliest begin in the window; none if there is none.
  std::optional<Booking> earliest(GpuTypeId asked, GpuCount num_gpus, SimDuration length,
                                  const CountTimeline::Window& window) const;
  /// Takes the GPUs of a booking.
  void book(const Booking& booking) { add(booking, -1); }
  /// Returns the GPUs of a booking, from now on.
  void cancel(const Booking& booking) { add(booking, 1); }
  /// True if all GPUs are alike to jobs.
  bool is_uniform() const { return by_type_ == nullptr; }
  /// Kind of jobs that request this type: jobs of one kind may use equal GPUs.
  GpuTypeId kind_of(GpuTypeId asked) const { return is_uniform() ? GpuTypeId() : asked; }
  /// Number of types; 1 if all GPUs are alike.
  std::size_t num_types() const { return free_.size(); }
  /// Types that a job requesting this type may get.
  std::span<const std::uint32_t> allowed(GpuTypeId asked) const;
  /// True if there are several of these types.
  bool may_choose(GpuTypeId asked) const { return allowed(asked).size() > 1; }

 private:
  /// GPUs for a job from counts by type, if they suffice.
  std::optional<std::vector<TypeCount>> choose(std::span<const std::uint32_t> types,
                                               std::span<const std::int64_t> counts,
                                               std::int64_t needed) const;
  void add(const Booking& booking, std::int64_t times);
  void add(std::span<const TypeCount> gpus, SimTime begin, SimTime end, std::int64_t times);

  const GpusByType* by_type_;
  SimTime now_;
  std::vector<std::int64_t> usable_;   ///< [types]
  std::vector<CountTimeline> free_;    ///< [types]
  std::vector<std::int64_t> scratch_;  ///< [types]
  /// GPUs of each running job, if types matter.
  std::unordered_map<std::uint32_t, std::vector<TypeCount>> held_;
};

}  // namespace vtrain
