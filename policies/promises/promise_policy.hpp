/// Common part of the policies that promise deadlines under real costs: `deadline`, and `elasticflow` where
/// interruptions or placement cost time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "policies/promises/work_plan.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Settings of the policies that promise deadlines.
struct PromiseOptions {
  /// True if a job with a deadline holds GPUs only with a promise, and is rejected as soon as it is clear
  /// that it cannot get one.
  bool only_promised = false;
  /// True if jobs that cannot be in time and have not started are rejected; otherwise they run last.
  bool rejects_late = true;
  /// Time between the planned end of a job and its deadline when it is promised, in run times of the job on
  /// the GPUs that it requests: 0 or more. What a job takes longer than predicted uses it up.
  double margin = 0;
  /// True if jobs without a deadline that run when a simulation begins keep their gangs to their ends.
  bool keeps_running = false;
};

/// Runs jobs that may be promised to be done by their deadlines.
///
/// Every promised job has a plan in a calendar, and all plans fit on the cluster. A plan is sure: it counts
/// setups, checkpoints and the slowest gang that placement may choose. It is either `Keep`, the present gang
/// at its known speed to its end, or lies as late as possible. Until a late plan begins, the job may run on
/// spare GPUs, and may lose them at any time. Its work there makes the rest of the plan shorter. So no
/// promise breaks unless nodes fail.
///
/// A plan is replaced only by another that fits. A new job is promised its deadline if a plan fits with all
/// others. If none does, all plans are made again in the order of deadlines, and count only if each is in
/// time.
///
/// If run times differ from predictions, the end of a running job is expected anew at each pass, from the
/// work that it has left. Promises may then break.
class PromisePolicy final : public Policy {
 public:
  explicit PromisePolicy(const PromiseOptions& options) : options_(options) {}

  /// Takes in live jobs. Known ones keep their plans, unless a fact has changed them. Of others those with a
  /// promise are planned first, in the order of deadlines; a promise for which nothing fits is kept if it can
  /// be.
  void begin(const SchedulingPass& view) override;
  bool can_begin_with_jobs() const override { return true; }
  std::shared_ptr<const PolicyMemory> memory(const SchedulingPass& view,
                                             std::span<const JobId> live) const override;
  Result<std::shared_ptr<const PolicyMemory>> read_memory(const nlohmann::json& memory,
                                                          const SimulationState& state) const override;
  bool gives_promises() const override { return true; }
  void schedule(SchedulingPass& pass) override;
  ProgressRule progress_rule() const override { return ProgressRule::Policy; }
  bool supports_disruptions() const override { return true; }
  bool chooses_types() const override { return true; }

 private:
  static constexpr std::int32_t kNoGear = -1;
  static constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();
  static constexpr PlanTime kNever = std::numeric_limits<PlanTime>::max();

  /// Claims of jobs on GPUs, the strongest first.
  enum class Claim : std::uint8_t {
    Stays,       ///< its node is out of service: it keeps what it holds
    Must,        ///< its plan holds GPUs now
    Hopes,       ///< it has a promise, or may get one on the gang that it gets
    Chance,      ///< it may still be in time, but the GPUs that it needs are promised to others
    BestEffort,  ///< it has no deadline
    Late,        ///< it cannot be in time
  };

  /// A job that has come and not ended.
  struct LiveJob {
    JobId id;
    std::vector<Gear> gears;  ///< ascending by GPUs within a pool, and by speed
    double fastest = 0;       ///< speed of the fastest gear
    std::int64_t least = 0;   ///< GPUs of the smallest gear
    double left = 0;          ///< iterations left when its work was last booked
    SimDuration booked{0};    ///< work booked so far
    SimDuration run_time{0};  ///< run time when its work was last taken in, by which changes are noticed
    PlanTime deadline = kNever;
    PlanTime aim = kNever;  ///< deadline minus what is left of the margin
    WorkPlan plan;          ///< entered in the calendar
    bool has_started = false;
    bool is_kept = false;  ///< it keeps its gang to its end, though it has no promise
    bool is_new = false;   ///< it came with the state of the cluster, and admission has not looked at it
    std::int32_t gear = kNoGear;  ///< gear that it holds
    PlanTime end = kNever;        ///< end of its work on the gang that it holds
    double speed = 0;             ///< iterations a second on that gang
    PlanTime works_from = 0;      ///< end of the setup of that gang

    // Members of one pass.
    double left_now = 0;
    Claim claim = Claim::Hopes;
    double key = 0;
    PlanTime slack = kNever;  ///< time until its plan must hold GPUs, if it does no work until then
    PlanBlock next{};         ///< block in which that is
    std::int32_t target = kNoGear;
    bool is_tried = false;         ///< it was stopped or could not start, and is not considered again
    std::uint32_t rank = kNoRank;  ///< place in the order of the last pass

    template <class Archive>
    void members(Archive& archive);
    /// Sets what follows from the gears.
    void take_gears();
    bool runs() const { return gear != kNoGear; }
    bool promised() const { return plan.kind != WorkPlan::Kind::None; }
    bool has_deadline() const { return deadline != kNever; }
  };

  struct Memory;

  /// The first value of a memory that contradicts others or the state, if any.
  static std::optional<Error> contradiction(const Memory& memory, const SimulationState& state);
  static const char* contradiction(const Memory& memory, const LiveJob& job, const SimulationState& state);
  /// Takes over what another policy remembers.
  void take_over(const SchedulingPass& view, const Memory& memory);
  /// A job that waits or runs, as it shows itself.
  LiveJob job_of(const SchedulingPass& view, JobId id) const;
  /// Sets the gear of a running job and the end of its work there.
  void take_gang(const SchedulingPass& view, LiveJob& job) const;
  /// True if a fact has changed a job.
  static bool has_changed(const SchedulingPass& view, const LiveJob& job);
  /// Plans jobs with a promise that have no plan.
  void plan_promised(const SchedulingPass& view);
  void count_tenant_time(const SchedulingPass& pass);
  void begin_pass(const SchedulingPass& pass);
  void take_interruptions(const SchedulingPass& pass);
  void take_ends(SchedulingPass& pass);
  /// Ends of jobs that run longer or shorter than planned, from the work that is left; plans follow them.
  void correct_ends(const SchedulingPass& pass);
  /// Drops the plans of jobs that cannot be in time on any gang. Otherwise nobody would be promised anything
  /// while they run, as not all plans fit any more.
  void drop_lost_plans();
  void take_arrivals(SchedulingPass& pass);
  /// Gears of a job. One that it `holds` is among them, even if it is no faster than a smaller one.
  std::vector<Gear> gears_of(const SchedulingPass& pass, JobId id, const Allocation& holds = {}) const;
  WorkRequest request(const LiveJob& job) const;
  /// Books the work that a job has done on its gang.
  static void book(const SchedulingPass& pass, LiveJob& job);
  /// Iterations a second of a segment, checkpoints included.
  static double speed_on(const Gear& gear, const SegmentTiming& timing);
  static double left_now(const SchedulingPass& pass, const LiveJob& job);

  /// Replaces the plan of a job in the calendar.
  void set_plan(LiveJob& job, WorkPlan plan);
  /// The plan of a running job on its gang to its end.
  WorkPlan keep_to_end(const LiveJob& job) const;
  /// Plans a running job on its gang to its end, if that is in time and fits.
  bool try_keep(LiveJob& job);
  /// Promises a job its deadline if plans of all promised jobs fit.
  bool try_promise(LiveJob& job);
  bool plan_all_again(LiveJob& newcomer);

  void find_claims(SchedulingPass& pass);
  void find_claim(LiveJob& job);
  /// Plans a job anew whose plan cannot be held; where none fits, its promise is broken.
  void replace_plan(LiveJob& job);
  /// True if the job is in time on a gear that it gets now.
  bool in_time(const LiveJob& job, std::uint32_t gear) const;
  /// Time to the end of the work on a gear from now on.
  PlanTime time_on(const LiveJob& job, std::uint32_t gear) const;
  /// True if the promise of a job allows another gear now.
  bool may_change(const LiveJob& job, std::uint32_t gear) const;

  /// True if a job without a promise may still be in time.
  static bool may_hope(const LiveJob& job);
  /// Sorts live jobs by their claims. O(n) where few have changed places since the last pass.
  void sort_jobs(const SchedulingPass& pass);
  void choose_targets(const SchedulingPass& pass);
  void give_base(LiveJob& job);
  void give_back(LiveJob& job);
  void give_rest(LiveJob& job);
  bool give_refused(const SchedulingPass& pass);
  void grow();
  bool fits(const LiveJob& job, std::uint32_t gear) const;
  /// False if no gear of the job fits.
  bool may_fit(const LiveJob& job) const { return job.least <= std::ranges::max(left_); }
  void give(LiveJob& job, std::int32_t gear);

  void apply(SchedulingPass& pass);
  /// True if a running job is to get GPUs of another type.
  static bool moves(const LiveJob& job);
  void leave_types(SchedulingPass& pass);
  static void stop(SchedulingPass& pass, LiveJob& job);
  void change(SchedulingPass& pass, LiveJob& job);
  bool starts_in_time(SchedulingPass& pass, const LiveJob& job, const Gear& gear) const;
  void begin_segment(const SchedulingPass& pass, LiveJob& job);
  void secure(SchedulingPass& pass, LiveJob& job);
  void reject_late(SchedulingPass& pass);
  /// Time at which the plan of a job must hold GPUs, if the job goes on as it is.
  PlanTime due(const LiveJob& job) const;
  /// First time at which a job cannot be in time on any gang.
  PlanTime late_from(const LiveJob& job) const;
  void ask_to_wake(SchedulingPass& pass);

  PromiseOptions options_;
  PlanTime now_ = 0;
  bool begun_ = false;
  bool goes_on_ = false;             ///< it has taken over a memory, and no pass has come since
  bool any_gpus_ = true;             ///< a gang finds room wherever enough GPUs are free
  std::vector<std::int64_t> total_;  ///< GPUs by pool
  std::vector<std::int64_t> left_;   ///< GPUs not yet given in this pass, by pool
  PlanCalendar calendar_;
  std::vector<LiveJob> jobs_;         ///< live jobs
  std::vector<std::uint32_t> order_;  ///< live jobs, the strongest claim first
  /// Place of a job in the order.
  struct SortKey {
    Claim claim;
    double key;
    double tenant_time;
    std::uint32_t id;
    std::uint32_t job;

    bool operator<(const SortKey& other) const {
      return std::tie(claim, key, tenant_time, id) <
             std::tie(other.claim, other.key, other.tenant_time, other.id);
    }
  };
  std::vector<SortKey> keys_;          ///< memory of `sort_jobs`
  std::vector<std::uint32_t> active_;  ///< jobs of `order_` that hold GPUs or get some
  std::vector<double> tenant_gpu_s_;   ///< GPU time of tenants, by `TenantId`
  PlanTime last_pass_ = 0;
};

}  // namespace vtrain
