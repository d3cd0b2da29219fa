/// Minimum satisfactory share: the fewest GPUs with which a job meets its deadline on what others leave free.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/elasticflow/free_view.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {

/// What a fill works with besides the job.
struct FillContext {
  WholeSeconds now = 0;
  WholeSeconds slot = 60;
  std::int64_t cluster_gpus = 0;
  WholeSeconds past_slot = 0;  ///< time since a slot began, where jobs that keep their plans set the slots
  bool keeps_plans = false;    ///< what is planned happens at its very second

  /// The first beginning of a slot not before `time`.
  WholeSeconds slot_from(WholeSeconds time) const { return align_to_slot(now - past_slot, time, slot); }
  /// Whole seconds that work of `seconds` takes.
  WholeSeconds whole_seconds(double seconds) const;
  /// Time that counts as none, s.
  double rounding_time() const { return keeps_plans ? kRoundingTime : 0; }
};

/// What of the free GPUs decided a plan. As long as none of it changes, another fill gives the same plan but
/// for the place of steps that change nothing.
struct PlanBasis {
  enum class Kind : std::uint8_t {
    Everything,  ///< any change may give another plan
    FirstStep,   ///< the work is done in the first step: it must end no earlier than the plan
    Tail,   ///< after the first step all is done behind the last one: the first step must end where it did
    Level,  ///< one level and the one below it: all of the following
  };
  Kind kind = Kind::Everything;
  WholeSeconds first_end = 0;  ///< end of the first step
  std::int64_t level = 0;      ///< GPUs that were free, at least, or the same number as before, up to `due`
  WholeSeconds due = 0;
  WholeSeconds full_from = 0;      ///< where `level` began: the last step not after
  WholeSeconds full_latest = 0;    ///<   this time
  WholeSeconds end = 0;            ///< of the plan; the next step began at
  WholeSeconds counted_until = 0;  ///<   this time
  /// True if more GPUs than the job needs were free all the time. Then the plan is to hold `below` and, from
  /// `full_from` on, `full` until `left` iterations are done, whatever the steps.
  bool is_ample = false;
  SpeedByGpus::Level below{};
  SpeedByGpus::Level full{};
  double left = 0;
  std::size_t full_step = 0;  ///< index of the last step of what no plan holds not after `full_latest`
  std::size_t end_step = 0;   ///<   and of the first one not before `end`
};

/// Plans jobs by progressive filling (Gu et al., "ElasticFlow", ASPLOS'23, algorithm 1, with the choices
/// of its artifact, pkusys/ElasticFlow): of the levels in ascending order the first with which the job,
/// filled in from the deadline backwards, gets its work done on what is free. That level is held close to
/// the deadline and the level below it before. When no level suffices, the plan holds the largest from the
/// start and ends after the deadline.
class ShareFill {
 public:
  /// The plans that follow are of this context.
  void set_context(const FillContext& context) { context_ = context; }

  /// Plans one job on what is `free`, which begins now and changes where slots begin. `forced` GPUs,
  /// if given, are held in the first step of `free`, whatever the level. The job has work left. O(levels +
  /// log steps) where more GPUs than the job needs are free all the time, otherwise O(levels x steps).
  void plan(const SlottedJob& job, const FreeView& free, std::optional<std::int64_t> forced, SharePlan& plan);
  /// Plans a job that has an ample plan again. The first step and the GPUs in it are as they were.
  /// False if `plan` has to do it.
  bool plan_again(const SlottedJob& job, const FreeView& free, std::int64_t forced, const PlanBasis& basis,
                  SharePlan& plan);
  /// What the last plan leaves of what was free; both must still be there.
  void leave(GpuTimeline& left);
  /// True if the last plan leaves what was free less the GPUs that it holds before `booked_until()`.
  bool leaves_the_rest() const { return !late_ && plan_->end != context_.now; }
  WholeSeconds booked_until() const { return std::min(plan_->end, booked_until_); }
  /// What the last plan rests on.
  const PlanBasis& basis() const { return basis_; }

 private:
  std::int64_t fitting(std::int64_t level, std::int64_t free) const;
  WholeSeconds step_end(std::size_t step) const;
  double work(WholeSeconds begin, WholeSeconds end, double speed) const;
  WholeSeconds second_after(WholeSeconds begin, std::int64_t gpus) const;
  void note_near(double value, double limit);

  void begin(const SlottedJob& job, const FreeView& free, SharePlan& plan);
  void begin_plan();
  bool plan_amply(const FreeView& free, std::optional<std::int64_t> forced);
  bool hold_amply(const FreeView& free, const SpeedByGpus::Level& below, const SpeedByGpus::Level& level);
  void plan_by_steps(std::optional<std::int64_t> forced);
  bool hold_first(std::int64_t gpus, WholeSeconds first_end);
  bool enough(std::int64_t level);
  void book_until_done(std::int64_t level, std::int64_t below);
  void finish_in_step(std::size_t step, std::int64_t gpus, double speed);
  void finish_after_rounding(std::int64_t level);
  void book_late(std::int64_t level, std::optional<std::int64_t> forced);
  void finish_late(WholeSeconds begin, std::int64_t gpus);

  FillContext context_;
  const SlottedJob* job_ = nullptr;
  const FreeView* view_ = nullptr;  ///< what is free before the plan
  GpuTimeline free_;                ///<   the same, written down where it is needed
  bool written_ = false;
  SharePlan* plan_ = nullptr;
  WholeSeconds from_ = 0;          ///< nothing is booked before
  WholeSeconds due_ = 0;           ///< the deadline, rounded up to whole slots from now
  double left_ = 0;                ///< iterations
  std::size_t full_step_ = 0;      ///< where the level that is enough begins
  std::size_t last_step_ = 0;      ///< the last one before the deadline with room for the job
  bool tight_ = false;             ///< a comparison was so close that the order of a sum might decide it
  WholeSeconds booked_until_ = 0;  ///< if before the end of the plan
  bool late_ = false;
  GpuTimeline left_when_late_;
  PlanBasis basis_;
};

}  // namespace vtrain
