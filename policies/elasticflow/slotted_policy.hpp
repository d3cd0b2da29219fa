/// Common part of ElasticFlow's elastic policies: jobs that progress in whole seconds, planned ends, and
/// decisions at least a slot apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/base/policy_info.hpp"
#include "policies/list/gpu_pool.hpp"

namespace vtrain {

/// Whole seconds from the trace's origin: the clock of ElasticFlow's simulator.
using WholeSeconds = std::int64_t;

/// First whole second not before an instant.
WholeSeconds to_whole_seconds(SimTime time);
/// Last whole second not after an instant, as the scheduler's clock shows it.
WholeSeconds whole_seconds_passed(SimTime time);
/// Instant of a second; `SimTime::max()` if it exceeds the range of the simulated clock.
SimTime to_sim_time(WholeSeconds seconds);

/// Smallest `start` + k x `slot`, k whole, that is not before `time`.
WholeSeconds align_to_slot(WholeSeconds start, WholeSeconds time, WholeSeconds slot);

/// Jobs that have come since the last decision, in order. A job that comes within a slot of it waits for the
/// slot to end, together with all that come until then. The last jobs of the trace do not wait if they come
/// alone and no other event follows (ElasticFlow's simulator; Gu et al., ASPLOS'23).
class SlottedArrivals {
 public:
  explicit SlottedArrivals(WholeSeconds slot) : slot_(slot) {}

  /// Takes in the arrivals of this pass. `others`: events other than arrivals are still to come.
  void collect(const SchedulingPass& pass, std::optional<WholeSeconds> last_decision, bool others);
  /// Time of the decision on the collected jobs; none if there are no jobs.
  std::optional<WholeSeconds> due() const { return jobs_.empty() ? std::nullopt : std::optional(due_); }
  /// True if a job is among the collected ones.
  bool has(JobId job) const { return std::ranges::binary_search(jobs_, job); }
  /// Returns the collected jobs and forgets them.
  std::vector<JobId> take() { return std::exchange(jobs_, {}); }
  /// Adds a job that came before, to be decided on at `time`.
  void add(JobId job, WholeSeconds time) {
    if (jobs_.empty()) due_ = time;
    jobs_.push_back(job);
    std::ranges::sort(jobs_);
  }
  /// Forgets jobs.
  template <class Forgotten>
  void forget_if(Forgotten forgotten) {
    std::erase_if(jobs_, forgotten);
  }
  /// Lists the members for `core/io/json_members.hpp`.
  template <class Archive>
  void members(Archive& archive) {
    archive("due_s", due_);
    archive("jobs", jobs_, {});
    archive.check(std::ranges::is_sorted(jobs_, std::less_equal{}), "jobs", "ascending numbers");
  }
  /// The collected jobs.
  std::span<const JobId> jobs() const { return jobs_; }
  /// Gives each job another number.
  template <class NumberOf>
  void renumber(NumberOf number_of) {
    std::ranges::for_each(jobs_, [&](JobId& job) { job = number_of(job); });
  }

 private:
  WholeSeconds slot_;
  WholeSeconds due_ = 0;
  std::vector<JobId> jobs_;
};

/// A job that has come and not ended.
struct SlottedJob {
  JobId job;
  const SpeedByGpus* base_levels = nullptr;  ///< levels with the speeds that measure its work
  const SpeedByGpus* levels = nullptr;       ///< levels on its type of GPUs
  std::optional<std::uint32_t> type{};       ///< type of its GPUs, if the policy chooses types
  SimDuration run_time{0};                   ///< by which changes are noticed
  std::int64_t min_gpus = 0;                 ///< smallest level
  std::int64_t max_gpus = 0;                 ///< largest level that it may hold
  double iterations_left = 0;
  WholeSeconds deadline = 0;
  bool best_effort = false;
  /// True if nodes went out of service while it was live or, where plans are kept, had no room for it.
  bool disrupted = false;
  bool planned = false;                    ///< true if its planned end is an event
  std::int64_t gpus = 0;                   ///< GPUs held since the last decision
  double overhead = 0;                     ///< s of the time after the last decision that are lost
  SimDuration work_booked{0};              ///< work already counted from the simulator, in disrupted replays
  WholeSeconds end = 0;                    ///< planned time at which it is considered again
  std::optional<WholeSeconds> finished{};  ///< planned end of its work, if that is not `end`

  template <class Archive>
  void members(Archive& archive);
  double speed(std::int64_t num_gpus) const {
    return levels->iterations_per_s(GpuCount(static_cast<std::int32_t>(num_gpus)));
  }
  /// Iterations a second at the speed in which the simulator counts work.
  double base_speed(std::int64_t num_gpus) const {
    return base_levels->iterations_per_s(GpuCount(static_cast<std::int32_t>(num_gpus)));
  }
  /// Largest level of at most `num_gpus` that the job may hold, or 0.
  std::int64_t level_within(std::int64_t num_gpus) const;
  /// Next level above `num_gpus` that the job may hold; `num_gpus` if there is none.
  std::int64_t level_above(std::int64_t num_gpus) const;
};

/// Largest time that rounding adds to work, s. Where plans are kept, work that takes no longer counts as
/// done.
inline constexpr double kRoundingTime = 1e-6;

/// Rounds up to whole seconds; 2^60 if there are more.
WholeSeconds seconds_up(double seconds);
/// Whole seconds that work takes where plans are kept: at least one, and none for rounding errors.
WholeSeconds kept_seconds(double seconds);

/// Reads the parameter `slot`: a duration of whole seconds from 1 s to a day; a number alone counts seconds.
Result<WholeSeconds> parse_slot(const PolicyArguments& arguments);

/// Base of policies that plan the end of each job and decide again when something happens. It keeps the live
/// jobs, their progress and the clock of decisions. In `decide` a policy sets the GPUs that jobs hold from
/// now on.
///
/// If the trace gives a job both measured levels and a maximum number of GPUs, it may hold all levels up to
/// that, as in ElasticFlow's simulator. Other jobs may hold only levels on which they are faster than on
/// fewer GPUs: more GPUs would make them late.
///
/// The semantics are those of ElasticFlow's simulator (pkusys/ElasticFlow, Apache-2.0). Events within a slot
/// of the last decision wait for the slot to end, unless there is only one event left. A job whose work is
/// done keeps its GPUs until then. Its booked end is the planned one. If other events came first and it ran
/// out of work before, its booked end is that second.
///
/// A policy may rely on its plans instead. Then planned events happen at their exact second, also within a
/// slot of the last decision, and only arrivals wait.
///
/// That simulator has no failures, checkpoints or costs of interruption. Where these disrupt jobs, the
/// simulation decides progress and ends: a job that has not done its work at its planned end is planned
/// again. A failure, or a node that goes or comes back, is an event. Plans assume the whole cluster and jobs
/// that lose no time; a job that finds no room waits for the next decision.
class SlottedPolicy : public Policy {
 public:
  explicit SlottedPolicy(WholeSeconds slot, bool keeps_plans = false)
      : slot_(slot), keeps_plans_(keeps_plans), arrivals_(slot) {}

  /// Takes in live jobs: those that it knows as they are, those of a memory as they were there, and others as
  /// they show themselves. Jobs with a deadline and without a promise arrive now.
  void begin(const SchedulingPass& view) override;
  void schedule(SchedulingPass& pass) final;
  ProgressRule progress_rule() const final { return ProgressRule::Policy; }
  bool supports_disruptions() const override { return true; }
  std::optional<SimTime> considers_at(const SchedulingPass&, JobId job) const override {
    return arrivals_.has(job) ? next_pass_ : std::nullopt;
  }
  WaitCause holds_back(const SchedulingPass&, JobId) const override {
    return next_pass_ ? WaitCause{.reason = WaitReason::NextDecision, .at = next_pass_} : WaitCause{};
  }

 protected:
  /// Makes one decision. `arrived` are live from now on unless rejected; ended jobs are gone. Afterwards
  /// every live job's `gpus`, `end` and `planned` are up to date.
  virtual void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) = 0;
  /// Time at which a plan changes although no job ends.
  virtual std::optional<WholeSeconds> next_change() const { return std::nullopt; }

  /// True if planned events happen at their exact second: only the policy stops jobs or costs them time.
  bool keeps_plans(const SchedulingPass& pass) const { return keeps_plans_ && !pass.disrupted(); }

  /// A time later than all times of a trace (100 years), and within the simulated clock (292 years).
  static constexpr WholeSeconds kNever = WholeSeconds{1} << 32;

  SlottedJob& live_job(std::uint32_t id) { return jobs_[id]; }
  const SlottedJob& live_job(std::uint32_t id) const { return jobs_[id]; }
  WholeSeconds slot() const { return slot_; }
  std::int64_t cluster_gpus() const { return cluster_gpus_; }
  /// GPUs by type if the policy chooses types; null if it does not, or if all are alike.
  const GpusByType* types(const SchedulingPass& pass) const {
    return chooses_types() ? GpuPool::types(pass) : nullptr;
  }
  /// Gives a job a type of GPUs, with the levels that it may hold there. False if there are none.
  bool use_type(const SchedulingPass& pass, SlottedJob& job, std::uint32_t type);

  /// All that decisions depend on. Jobs have their places among the live ones as ids, and no levels.
  struct Memory : PolicyMemory {
    explicit Memory(WholeSeconds slot) : arrivals(slot) {}

    std::vector<std::int64_t> total{};  ///< GPUs by type; empty if the policy takes all as alike
    bool disrupted = false;             ///< work is booked as the simulation counts it
    std::vector<SlottedJob> jobs{};     ///< jobs that it knows
    std::vector<std::uint32_t> live{};
    std::vector<std::uint32_t> planned{};
    SlottedArrivals arrivals;
    std::optional<WholeSeconds> last_decision{};
    std::optional<WholeSeconds> disrupted_at{};
    std::vector<std::pair<std::uint32_t, std::int64_t>> refused{};
    bool refused_again = false;
    std::optional<WholeSeconds> standstill{};

    /// Lists the members for `core/io/json_members.hpp`.
    template <class Archive>
    void members(Archive& archive);
    /// The first value that contradicts others or the state, if any.
    std::optional<Error> contradiction(const SimulationState& state) const;
  };
  /// The memory that a simulation begins with, if it is of a policy like this one and of such a cluster.
  const Memory* memory_of(const SchedulingPass& view) const;
  /// Writes the memory of this class. False if the jobs are not those of the last pass.
  bool remember(const SchedulingPass& view, std::span<const JobId> live, Memory& memory) const;

  std::vector<std::uint32_t> live_;  ///< live jobs; the policy's order decides ties

 private:
  void take_over(const SchedulingPass& view, const Memory& memory);
  /// Forgets jobs that are no longer live, or that a fact has changed.
  void forget_changed(const SchedulingPass& view);
  /// A job as it shows itself, with the levels that it may hold.
  void take_job(const SchedulingPass& view, JobId id);
  /// Takes in a job that runs or waits.
  void take_live(const SchedulingPass& view, JobId id);
  void find_levels(const SchedulingPass& view, SlottedJob& job);
  void progress(const SchedulingPass& pass, WholeSeconds now);
  /// Takes in the disruptions of jobs at this instant.
  void take_disruptions(const SchedulingPass& pass);
  /// Forgets jobs that have ended by themselves, and decides again in the next slot.
  void take_ends_by_themselves(const SchedulingPass& pass);
  /// Books the work that a job has done, or lost, since the last time. Only in disrupted replays.
  void book_work(const SchedulingPass& pass, SlottedJob& job);
  /// Ends a job in a disrupted replay if its work is done.
  bool end_if_done(SchedulingPass& pass, const SlottedJob& job);
  void take_ends(SchedulingPass& pass, WholeSeconds now);
  std::vector<std::uint32_t> take_arrivals(SchedulingPass& pass);
  /// Levels of a curve on which a job is faster than on all smaller ones.
  const SpeedByGpus& worthwhile(const SpeedByGpus& curve, CurveId id);
  /// Levels of a job on a type of GPUs.
  const SpeedByGpus* levels_on(const SchedulingPass& pass, const SlottedJob& job, std::uint32_t type);
  /// Sets the levels that a job may hold: those of at most `most` GPUs.
  static void set_levels(const Job& description, SlottedJob& job, const SpeedByGpus& levels,
                         std::int64_t most);
  void apply(SchedulingPass& pass);
  /// True if all later decisions would equal the one just made, until a node goes or comes back.
  bool repeats_decision(const SchedulingPass& pass, WholeSeconds now) const;
  /// Counts the decisions of a standstill that would have come before this instant as made.
  void end_standstill(const SchedulingPass& pass);
  /// Time at which the next decision is due, as far as known.
  std::optional<WholeSeconds> due(const SchedulingPass& pass) const;

  WholeSeconds slot_;
  bool keeps_plans_;
  SlottedArrivals arrivals_;
  std::deque<SlottedJob> jobs_;         ///< by `JobId`
  std::vector<std::uint32_t> planned_;  ///< planned jobs of `live_`, in its order: others hold no GPUs
  std::deque<SpeedByGpus> rigid_;       ///< levels of jobs without a curve
  std::map<CurveId, std::optional<SpeedByGpus>> worthwhile_;
  /// Curves by type, keyed by levels.
  std::map<std::vector<std::pair<std::int32_t, double>>, SpeedByGpus> typed_;
  std::int64_t cluster_gpus_ = 0;
  std::optional<WholeSeconds> last_decision_;
  std::optional<SimTime> next_pass_;          ///< time at which it has asked to decide again
  std::optional<WholeSeconds> disrupted_at_;  ///< time of a disruption that no decision has taken in yet
  /// GPUs that the last decision gave jobs, in the order of `live_`, if placement refused all of them and no
  /// job ran.
  std::vector<std::pair<std::uint32_t, std::int64_t>> refused_;
  bool refused_again_ = false;  ///< true if the decision before gave them equal GPUs
  /// Time between the skipped decisions of a standstill. Jobs whose gangs find no room on the nodes in
  /// service would otherwise be planned once a slot until the end of the replay.
  std::optional<WholeSeconds> standstill_;
};

}  // namespace vtrain
