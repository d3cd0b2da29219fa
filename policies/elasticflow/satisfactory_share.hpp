/// Minimum satisfactory share: the fewest GPUs with which a job meets its deadline on the GPUs that others
/// leave free.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/elasticflow/free_view.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {

/// The input of a fill other than the job.
struct FillContext {
  WholeSeconds now = 0;
  WholeSeconds slot = 60;
  std::int64_t cluster_gpus = 0;
  WholeSeconds past_slot = 0;  ///< time since a slot began, if jobs that keep their plans set the slots
  bool drops_hopeless =
      false;                 ///< true if jobs may turn out to be late, and no longer count when it is certain
  bool keeps_plans = false;  ///< true if planned events happen at their exact second

  /// First beginning of a slot not before `time`.
  WholeSeconds slot_from(WholeSeconds time) const { return align_to_slot(now - past_slot, time, slot); }
  /// Whole seconds that work of `seconds` takes.
  WholeSeconds whole_seconds(double seconds) const;
  /// Time that counts as zero, s.
  double rounding_time() const { return keeps_plans ? kRoundingTime : 0; }
};

/// Properties of the free GPUs that a plan is based on. While none of them changes, another fill gives an
/// equal plan, except for the places of steps that change nothing.
struct PlanBasis {
  enum class Kind : std::uint8_t {
    Everything,  ///< any change may give another plan
    FirstStep,   ///< the work is done in the first step: it must not end before the plan
    Tail,   ///< after the first step all work is done beyond the last one: the first step must keep its end
    Level,  ///< one level and the one below it: all of the members below
  };
  Kind kind = Kind::Everything;
  WholeSeconds first_end = 0;  ///< end of the first step
  std::int64_t level = 0;      ///< number of GPUs that were free up to `due`, as a minimum or exactly
  WholeSeconds due = 0;
  WholeSeconds full_from = 0;      ///< beginning of `level`: the last step not after
  WholeSeconds full_latest = 0;    ///<   this time
  WholeSeconds end = 0;            ///< end of the plan; the next step began at
  WholeSeconds counted_until = 0;  ///<   this time
  /// True if more GPUs than the job needs were free all the time. Then the plan holds `below` and, from
  /// `full_from` on, `full` until `left` iterations are done, wherever the steps are.
  bool is_ample = false;
  SpeedByGpus::Level below{};
  SpeedByGpus::Level full{};
  double left = 0;
  /// Index of the last step of the GPUs that no plan holds not after `full_latest`.
  std::size_t full_step = 0;
  std::size_t end_step = 0;  ///<   index of the first one not before `end`
};

/// Plans jobs by progressive filling (Gu et al., "ElasticFlow", ASPLOS'23, algorithm 1, with the choices of
/// its artifact, pkusys/ElasticFlow). The plan uses the lowest level with which the job, filled in from the
/// deadline backwards, finishes its work on the free GPUs. That level is held close to the deadline and the
/// level below it before. If no level suffices, the plan holds the largest from the start and ends after the
/// deadline.
class ShareFill {
 public:
  /// Sets the context of the plans that follow.
  void set_context(const FillContext& context) { context_ = context; }

  /// Plans one job on the GPUs of `free`, which begins now and changes where slots begin. `forced` GPUs, if
  /// given, are held in the first step of `free`, at any level. The job must have work left. O(levels + log
  /// steps) if more GPUs than the job needs are free all the time, otherwise O(levels x steps).
  void plan(const SlottedJob& job, const FreeView& free, std::optional<std::int64_t> forced, SharePlan& plan);
  /// Plans again a job that has an ample plan, with the first step and its GPUs unchanged. False if `plan`
  /// must be used instead.
  bool plan_again(const SlottedJob& job, const FreeView& free, std::int64_t forced, const PlanBasis& basis,
                  SharePlan& plan);
  /// Computes the GPUs that the last plan leaves free. `free` and the plan must still exist.
  void leave(GpuTimeline& left);
  /// True if the last plan leaves the free GPUs minus those that it holds before `booked_until()`.
  bool leaves_remaining_gpus() const { return !late_ && plan_->end != context_.now; }
  WholeSeconds booked_until() const { return std::min(plan_->end, booked_until_); }
  /// Basis of the last plan.
  const PlanBasis& basis() const { return basis_; }

 private:
  std::int64_t fitting(std::int64_t level, std::int64_t free) const;
  WholeSeconds step_end(std::size_t step) const;
  double work(WholeSeconds begin, WholeSeconds end, double speed) const;
  WholeSeconds second_after(WholeSeconds begin, std::int64_t gpus) const;
  void note_near(double value, double limit);

  void begin(const SlottedJob& job, const FreeView& free, SharePlan& plan);
  void begin_plan();
  bool plan_if_gpus_suffice(const FreeView& free, std::optional<std::int64_t> forced);
  bool hold_if_gpus_suffice(const FreeView& free, const SpeedByGpus::Level& below,
                            const SpeedByGpus::Level& level);
  void plan_by_steps(std::optional<std::int64_t> forced);
  bool hold_first(std::int64_t gpus, WholeSeconds first_end);
  bool enough(std::int64_t level);
  void book_until_done(std::int64_t level, std::int64_t below);
  void finish_in_step(std::size_t step, std::int64_t gpus, double speed);
  void finish_after_rounding(std::int64_t level);
  void book_past_deadline(std::int64_t level, std::optional<std::int64_t> forced);
  void finish_late(WholeSeconds begin, std::int64_t gpus);

  FillContext context_;
  const SlottedJob* job_ = nullptr;
  const FreeView* view_ = nullptr;  ///< free GPUs before the plan
  GpuTimeline free_;                ///<   those GPUs, stored where needed
  bool written_ = false;
  SharePlan* plan_ = nullptr;
  WholeSeconds from_ = 0;      ///< time before which nothing is booked
  WholeSeconds due_ = 0;       ///< the deadline, rounded up to whole slots from now
  double left_ = 0;            ///< iterations left
  std::size_t full_step_ = 0;  ///< step from which the sufficient level is held
  std::size_t last_step_ = 0;  ///< last step before the deadline with room for the job
  bool tight_ = false;         ///< true if a comparison was so close that the order of a sum might decide it
  WholeSeconds booked_until_ = 0;  ///< end of the bookings, if before the end of the plan
  bool late_ = false;
  GpuTimeline left_when_late_;
  PlanBasis basis_;
};

}  // namespace vtrain
