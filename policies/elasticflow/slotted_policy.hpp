/// What ElasticFlow's elastic policies share: jobs that progress in whole seconds, ends that are planned, and
/// decisions that are at least a slot apart.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/base/policy_info.hpp"
#include "policies/list/gpu_pool.hpp"

namespace vtrain {

/// Whole seconds from the trace's origin: the clock of ElasticFlow's simulator.
using WholeSeconds = std::int64_t;

/// The first whole second not before an instant.
WholeSeconds to_whole_seconds(SimTime time);
/// The last whole second not after an instant: what the scheduler's clock shows then.
WholeSeconds whole_seconds_passed(SimTime time);
/// The instant; `SimTime::max()` where the simulated clock cannot tell it.
SimTime to_sim_time(WholeSeconds seconds);

/// The smallest `start` + k x `slot`, k whole, that is not before `time`.
WholeSeconds align_to_slot(WholeSeconds start, WholeSeconds time, WholeSeconds slot);

/// Jobs that have come since the last decision, in order. A job that comes within a slot of it waits for the
/// slot to end, together with all that come until then; the last jobs of the trace, if they come alone, do
/// not wait if nothing else is to come (ElasticFlow's simulator; Gu et al., ASPLOS'23).
class SlottedArrivals {
 public:
  explicit SlottedArrivals(WholeSeconds slot) : slot_(slot) {}

  /// Takes in what arrives in this pass. `others`: whether something else than arrivals is still to come.
  void collect(const SchedulingPass& pass, std::optional<WholeSeconds> last_decision, bool others);
  /// When the collected jobs are to be decided on; none while there are none.
  std::optional<WholeSeconds> due() const { return jobs_.empty() ? std::nullopt : std::optional(due_); }
  /// The collected jobs, which are then forgotten.
  std::vector<JobId> take() { return std::exchange(jobs_, {}); }

 private:
  WholeSeconds slot_;
  WholeSeconds due_ = 0;
  std::vector<JobId> jobs_;
};

/// A job that has come and not ended.
struct SlottedJob {
  JobId job;
  const SpeedByGpus* base_levels = nullptr;  ///< with the speeds in which its work counts
  const SpeedByGpus* levels = nullptr;       ///< on its type of GPUs
  std::optional<std::uint32_t> type{};       ///< where the policy chooses types
  std::int64_t min_gpus = 0;                 ///< the smallest level
  std::int64_t max_gpus = 0;                 ///< the largest level that it may hold
  double iterations_left = 0;
  WholeSeconds deadline = 0;
  bool best_effort = false;
  /// Whether nodes went out of service while it was live or, where plans are kept, had no room for it.
  bool disrupted = false;
  bool planned = false;                    ///< whether its planned end is an event
  std::int64_t gpus = 0;                   ///< held since the last decision
  double overhead = 0;                     ///< s of the time after the last decision that are lost
  SimDuration work_booked{0};              ///< of its work as the simulator has it, in disrupted replays
  WholeSeconds end = 0;                    ///< planned: when it is looked at again
  std::optional<WholeSeconds> finished{};  ///< planned: when its work is done, if that is not `end`

  double speed(std::int64_t num_gpus) const {
    return levels->iterations_per_s(GpuCount(static_cast<std::int32_t>(num_gpus)));
  }
  /// Iterations in a second of the work that the simulator counts.
  double base_speed(std::int64_t num_gpus) const {
    return base_levels->iterations_per_s(GpuCount(static_cast<std::int32_t>(num_gpus)));
  }
  /// The largest level of at most `num_gpus` that the job may hold, or 0.
  std::int64_t level_within(std::int64_t num_gpus) const;
  /// The next level above `num_gpus` that the job may hold; `num_gpus` when there is none.
  std::int64_t level_above(std::int64_t num_gpus) const;
};

/// Most time that rounding adds to work, s. Where plans are kept, work that takes no longer counts as done.
inline constexpr double kRoundingTime = 1e-6;

/// Whole seconds that work takes where plans are kept: at least one, and none for what rounding adds.
WholeSeconds kept_seconds(double seconds);

/// Reads the parameter `slot`: a duration of whole seconds from 1 s to a day; a number alone counts seconds.
Result<WholeSeconds> parse_slot(const PolicyArguments& arguments);

/// Base of policies that plan when each job will end and look again when something happens. It keeps the live
/// jobs, their progress and the clock of decisions; a policy says in `decide` which GPUs jobs hold from now
/// on.
///
/// A job for which the trace gives both measured levels and a most number of GPUs may hold all levels up to
/// it, as in ElasticFlow's simulator; any other only those on which it is faster than on fewer GPUs: more
/// would make it late.
///
/// Semantics of ElasticFlow's simulator (pkusys/ElasticFlow, Apache-2.0). What happens within a slot of the
/// last decision waits for the slot to end, unless it is the only thing still to come. A job whose work is
/// done keeps its GPUs until then; its booked end is the planned one, or, if other things came first and it
/// ran out of work before, that second.
///
/// A policy may rely on its plans instead: then what is planned happens at its very second, also within a
/// slot of the last decision, and only arrivals wait.
///
/// Where failures, checkpoints or costs of interruption disrupt jobs, which that simulator does not know,
/// progress is what the simulation says, and so is the end: a job that has not done its work at its planned
/// end is planned again. A failure, or nodes that come and go, are something that happens. Plans count on the
/// whole cluster and on jobs that lose no time; a job that finds no room waits for the next decision.
class SlottedPolicy : public Policy {
 public:
  explicit SlottedPolicy(WholeSeconds slot, bool keeps_plans = false)
      : slot_(slot), keeps_plans_(keeps_plans), arrivals_(slot) {}

  void schedule(SchedulingPass& pass) final;
  ProgressRule progress_rule() const final { return ProgressRule::Policy; }
  bool copes_with_disruptions() const override { return true; }

 protected:
  /// One decision. `arrived` are live from now on unless they are rejected; the ended ones are gone.
  /// Afterwards every live job's `gpus`, `end` and `planned` are up to date.
  virtual void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) = 0;
  /// When a plan changes though nothing ends.
  virtual std::optional<WholeSeconds> next_change() const { return std::nullopt; }

  /// Whether what is planned happens at its very second: nothing but the policy stops jobs or costs them
  /// time.
  bool keeps_plans(const SchedulingPass& pass) const { return keeps_plans_ && !pass.disrupted(); }

  /// Later than everything that a trace may hold (100 years), and within the simulated clock (292 years).
  static constexpr WholeSeconds kNever = WholeSeconds{1} << 32;

  SlottedJob& live_job(std::uint32_t id) { return jobs_[id]; }
  const SlottedJob& live_job(std::uint32_t id) const { return jobs_[id]; }
  WholeSeconds slot() const { return slot_; }
  std::int64_t cluster_gpus() const { return cluster_gpus_; }
  /// The GPUs by type if the policy chooses types; null where it does not, or where all are alike.
  const GpusByType* types(const SchedulingPass& pass) const {
    return chooses_types() ? GpuPool::types(pass) : nullptr;
  }
  /// Gives a job a type of GPUs, with the levels that it may hold there. False if there are none.
  bool use_type(const SchedulingPass& pass, SlottedJob& job, std::uint32_t type);

  std::vector<std::uint32_t> live_;  ///< the policy's order decides ties

 private:
  void progress(const SchedulingPass& pass, WholeSeconds now);
  /// Takes in what disrupted jobs at this instant.
  void take_disruptions(const SchedulingPass& pass);
  /// Books what a job has done, or lost, since the last time. Only in disrupted replays.
  void book_work(const SchedulingPass& pass, SlottedJob& job);
  /// Ends a job in a disrupted replay if its work is done.
  bool end_if_done(SchedulingPass& pass, const SlottedJob& job);
  void take_ends(SchedulingPass& pass, WholeSeconds now);
  std::vector<std::uint32_t> take_arrivals(SchedulingPass& pass);
  /// The levels of a curve on which a job is faster than on all smaller ones.
  const SpeedByGpus& worthwhile(const SpeedByGpus& curve, CurveId id);
  /// The levels of a job on a type of GPUs.
  const SpeedByGpus* levels_on(const SchedulingPass& pass, const SlottedJob& job, std::uint32_t type);
  /// Sets the levels that a job may hold: those of at most `most` GPUs.
  static void set_levels(const Job& description, SlottedJob& job, const SpeedByGpus& levels,
                         std::int64_t most);
  void apply(SchedulingPass& pass);
  /// Whether all decisions to come would be like the one just made, until a node comes or goes.
  bool stands_still(const SchedulingPass& pass, WholeSeconds now) const;
  /// Takes the decisions of a standstill for made that would have come before this instant.
  void end_standstill(const SchedulingPass& pass);
  /// When the next decision is due, as far as is known now.
  std::optional<WholeSeconds> due(const SchedulingPass& pass) const;

  WholeSeconds slot_;
  bool keeps_plans_;
  SlottedArrivals arrivals_;
  std::deque<SlottedJob> jobs_;         ///< by `JobId`
  std::vector<std::uint32_t> planned_;  ///< the planned ones of `live_`, in its order: others hold no GPUs
  std::deque<SpeedByGpus> rigid_;       ///< of jobs without a curve
  std::map<CurveId, std::optional<SpeedByGpus>> worthwhile_;
  std::map<std::vector<std::pair<std::int32_t, double>>, SpeedByGpus> typed_;  ///< by levels
  std::int64_t cluster_gpus_ = 0;
  std::optional<WholeSeconds> last_decision_;
  std::optional<WholeSeconds> disrupted_at_;  ///< by something that no decision has taken in yet
  /// What the last decision gave jobs, in the order of `live_`, if placement refused all of it and nothing
  /// ran.
  std::vector<std::pair<std::uint32_t, std::int64_t>> refused_;
  bool refused_again_ = false;  ///< the decision before gave them the same
  /// Time between the decisions of a standstill, which are left out. Jobs whose gangs find no room in what is
  /// in service would otherwise be planned once a slot to the end of the replay.
  std::optional<WholeSeconds> standstill_;
};

}  // namespace vtrain
