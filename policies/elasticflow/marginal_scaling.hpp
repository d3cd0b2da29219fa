/// Distribution of the GPUs that the minimum satisfactory shares leave over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "policies/elasticflow/candidate_order.hpp"
#include "policies/elasticflow/satisfactory_share.hpp"

namespace vtrain {

/// Order in which jobs get spare GPUs.
enum class SpareGpus : std::uint8_t {
  Smallest,  ///< first the job whose plan then takes the fewest more GPU-seconds per GPU
  Largest,   ///< first the job whose plan takes the most, as in the artifact
};

/// A live job and its plan.
struct PlannedJob {
  std::uint32_t id = 0;  ///< index of its `JobId`
  SlottedJob* job = nullptr;
  SharePlan plan;
  WholeSeconds booked_until = 0;  ///< end of the time for which the plan's GPUs are taken
  GpuTimeline free_before;        ///< free GPUs before the plan, only if it leaves anything but the rest
  bool is_lost = false;           ///< true if late with any admissions, because nodes went out of service

  bool is_late() const { return plan.finished > job->deadline; }
  /// Copies the plan to the job.
  void adopt_plan(WholeSeconds now);
};

/// Greedy marginal scaling (Gu et al., "ElasticFlow", ASPLOS'23, algorithm 2, with the choices of its
/// artifact). While GPUs are free now, one job after another is planned again with its next level in the
/// first step. First is the job whose plan then takes the fewest (or the most) more GPU-seconds per GPU. A
/// job without GPUs goes before all others. Equal jobs keep their order. Where plans are kept, no job is made
/// late.
///
/// A job's gain is computed again only if the basis of its plan (`PlanBasis`) has changed. To find those
/// jobs, every step of the free GPUs lists the jobs that watch the time up to the next step.
class MarginalScaling {
 public:
  /// Gives the GPUs that are free now. `jobs` have plans, and their order decides between equal ones. `free`
  /// has the GPUs that all plans together leave. Returns the indexes of the jobs, the next to grow first.
  std::span<const std::uint32_t> run(const FillContext& context, SpareGpus greedy, std::span<PlannedJob> jobs,
                                     GpuTimeline& free);

 private:
  /// The gain that a job would have.
  struct Candidate {
    std::int64_t gpus = 0;          ///< GPUs that it holds now
    std::int64_t larger_gpus = 0;   ///< its next level; `gpus` if there is none
    double gpu_seconds = 0;         ///< GPU-seconds of its plan
    WholeSeconds first_change = 0;  ///< time of the first change of its plan, by the number below
    std::int64_t first_change_gpus = 0;
    bool known = false;         ///< true if its gain was computed and is based on `basis`
    std::uint32_t version = 0;  ///< number of the gain: watches of earlier gains no longer count
    PlanBasis basis;

    std::int64_t more() const { return larger_gpus - gpus; }
  };
  /// A change of the number of free GPUs from `time` on.
  struct Change {
    WholeSeconds time = 0;
    std::int64_t gpus = 0;
  };
  /// A time at which the step of the free GPUs has another height than before.
  struct StepChange {
    WholeSeconds time = 0;
    std::int64_t before = 0;
    std::int64_t after = 0;
  };
  /// A period in which the number of free GPUs differs from before, and the fewest of them.
  struct ValueChange {
    WholeSeconds begin = 0;
    WholeSeconds end = 0;
    std::int64_t least = 0;
  };
  /// An entry of a list of candidates.
  struct Watch {
    std::uint32_t candidate = 0;
    std::uint32_t version = 0;
    std::uint32_t next = 0;
  };
  static constexpr std::uint32_t kNoWatch = ~std::uint32_t{0};

  void begin(std::span<PlannedJob> jobs);
  static void take_plan(const PlannedJob& planned, Candidate& candidate);
  void take_first_change();
  std::optional<std::uint32_t> adopt_first();
  bool adopt_larger(std::uint32_t index);
  void update(std::uint32_t grown);
  void leave_out_too_large();
  double compute_rank(std::uint32_t index);
  double compute_gain(std::uint32_t index);

  void add_changes(const SharePlan& plan, WholeSeconds until, std::int64_t times);
  void add_changes(const GpuTimeline& before, const GpuTimeline& after);
  void merge_changes();
  void change_free();
  void change_step(std::size_t index, const Change& change, std::int64_t more_before);

  void forget(std::uint32_t index);
  void check(std::uint32_t index);
  void check_all();
  void find_changed(WholeSeconds change_before);
  void begin_checks();
  void check_later(std::uint32_t index);
  void count_first_change(const Candidate& candidate, int times);
  void find_alone();
  WholeSeconds first_end(const Candidate& candidate, const SharePlan& plan) const;
  bool still_holds(const Candidate& candidate, const SharePlan& plan) const;
  bool step_matters(const StepChange& change, const Candidate& candidate, const SharePlan& plan) const;

  void watch(std::uint32_t index);
  void add_watch(std::size_t step, std::uint32_t index);
  Watch take_watch(std::uint32_t& list);
  bool is_current(const Watch& watch) const { return candidates_[watch.candidate].version == watch.version; }
  void split_watches(std::size_t step, const StepChange& change);
  void check_watches(std::size_t step, const StepChange& change);

  FillContext context_;
  SpareGpus greedy_ = SpareGpus::Smallest;
  std::span<PlannedJob> jobs_;
  GpuTimeline* free_ = nullptr;
  std::int64_t least_free_ = 0;  ///< lower bound of the free GPUs after the first step
  std::int64_t spare_ = 0;
  WholeSeconds first_change_ = 0;  ///< first change of the free GPUs, by the number below
  std::int64_t first_change_gpus_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<double> ranks_;  ///< ranks before the first growth
  CandidateOrder order_;
  std::int64_t most_more_ = 0;          ///< most additional GPUs that a candidate wants
  std::vector<std::uint32_t> unknown_;  ///< candidates whose gain must be computed again
  ShareFill fill_;
  SharePlan larger_;
  GpuTimeline left_;
  std::vector<Change> changes_;
  std::vector<StepChange> step_changes_;
  std::vector<ValueChange> value_changes_;
  std::int64_t least_changed_ = 0;           ///< fewest of the changed numbers after the first step
  std::vector<std::uint32_t> watches_from_;  ///< first entry of the list of each step of the free GPUs
  std::vector<Watch> watches_;
  std::uint32_t unused_watch_ = kNoWatch;  ///< first entry of the list of unused ones
  std::vector<Watch> always_checked_;      ///< candidates that no list of a step finds
  std::int64_t highest_level_ = 0;         ///< most GPUs that a basis of watching candidates relies on
  WholeSeconds earliest_latest_ = 0;  ///< earliest time at which a step may come for those of `Kind::Tail`
  /// Number of candidates whose plans change at `first_change_`, by the number of GPUs.
  std::unordered_map<std::int64_t, int> num_first_changes_;
  /// Candidates that are the only ones to change the free GPUs at `first_change_`.
  std::vector<std::uint32_t> alone_;
};

}  // namespace vtrain
