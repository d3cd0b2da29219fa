/// Plans of jobs over time that count what starts, resizes and checkpoints cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/base/gpu_timeline.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Nanoseconds from the trace's origin.
using PlanTime = GpuTimeline::Time;

/// A number of GPUs of one type on which a job can run.
struct Gear {
  Allocation gpus{};
  std::uint32_t pool = 0;   ///< number of the GPUs' type; 0 where all are alike
  double work_per_s = 0;    ///< iterations in a second of work, as the simulation counts work
  double speed = 0;         ///< iterations a second on a packed gang, checkpoints included
  double sure_speed = 0;    ///< iterations a second on the slowest gang that placement may choose
  PlanTime setup = 0;       ///< time without work after an interruption
  SegmentTiming slowest{};  ///< timing of a first segment on the slowest gang
  SegmentTiming packed{};   ///< timing of a first segment on a packed gang

  /// True if no gang is slower than a packed one.
  bool has_sure_speed() const { return sure_speed >= speed * (1 - 1e-9); }
};

/// A time in which a job holds the GPUs of one gear.
struct PlanBlock {
  PlanTime begin = 0;
  PlanTime end = 0;
  std::uint32_t gear = 0;
};

/// The GPUs that a job will hold.
struct WorkPlan {
  /// Forms of a plan.
  enum class Kind : std::uint8_t {
    None,      ///< nothing is planned
    Keep,      ///< the job keeps the gang that it holds to its end
    Deferred,  ///< the job may do without GPUs until the first block; every block begins with a setup
    First,     ///< the first start of the job is that of the first block, which has no setup
  };
  Kind kind = Kind::None;
  std::vector<PlanBlock> blocks;  ///< ascending by time

  PlanTime begin() const { return blocks.front().begin; }
  PlanTime end() const { return blocks.back().end; }
};

/// Work to be planned.
struct WorkRequest {
  std::span<const Gear> gears;  ///< ascending by GPUs within a pool
  double left = 0;              ///< iterations
  PlanTime now = 0;
  PlanTime deadline = 0;
  bool has_started = false;  ///< true if its next start costs a setup
};

/// Iterations that a block does for certain.
double sure_work(const Gear& gear, PlanTime time, bool has_setup);

/// Instant from which the last blocks of a plan suffice for `left` iterations. Drops the blocks before. Never
/// later than the true one.
void trim(WorkPlan& plan, std::span<const Gear> gears, double left);

/// GPUs that no plan holds, by type. Plans are filled in from the deadline backwards, with the fewest GPUs
/// that suffice (Gu et al., "ElasticFlow", ASPLOS'23, algorithm 1); here every change of the number of GPUs
/// costs its setup.
class PlanCalendar {
 public:
  /// Begins with empty pools of these numbers of GPUs.
  void assign(PlanTime now, std::span<const std::int64_t> gpus);
  /// Forgets the time before.
  void begin_at(PlanTime now);
  /// Adds a plan, or takes it out with `times` = -1.
  void add(const WorkPlan& plan, std::span<const Gear> gears, std::int64_t times = 1);
  /// Plans a job as late as possible on the GPUs that are free. None if it cannot be in time for certain.
  /// O(levels x steps).
  std::optional<WorkPlan> defer(const WorkRequest& request) const;
  /// Plans the first start of a job now, without a stop to its end, on the fewest GPUs that suffice.
  std::optional<WorkPlan> start_now(const WorkRequest& request) const;
  /// True if this many GPUs of a pool are free all the time.
  bool is_free(std::uint32_t pool, PlanTime from, PlanTime until, std::int64_t gpus) const;

 private:
  std::optional<WorkPlan> defer_in(const WorkRequest& request, std::span<const Gear> gears,
                                   std::uint32_t first_gear, bool first_has_setup) const;

  std::vector<GpuTimeline> free_;  ///< by pool
};

}  // namespace vtrain
