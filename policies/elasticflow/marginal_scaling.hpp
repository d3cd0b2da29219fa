/// Who gets the GPUs that the minimum satisfactory shares leave over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/elasticflow/satisfactory_share.hpp"

namespace vtrain {

/// Which job gets spare GPUs first.
enum class SpareGpus : std::uint8_t {
  Smallest,  ///< the one whose plan then takes the fewest more GPU-seconds per GPU
  Largest,   ///< the one whose plan takes the most, as in the artifact
};

/// A live job and its plan.
struct PlannedJob {
  std::uint32_t id = 0;  ///< index of its `JobId`
  SlottedJob* job = nullptr;
  SharePlan plan;
  bool is_lost = false;  ///< late whoever else is admitted, since nodes have gone out of service

  bool is_late() const { return plan.finished > job->deadline; }
  /// Makes the plan the job's.
  void adopt_plan(WholeSeconds now);
};

/// Greedy marginal scaling (Gu et al., "ElasticFlow", ASPLOS'23, algorithm 2, with the choices of its
/// artifact): as long as GPUs are free now, one job after the other is planned anew with its next level in
/// the first step. The job goes first whose plan then takes the fewest (or the most) more GPU-seconds per
/// GPU; a job without GPUs goes before all others. Equals keep their order. Where plans are kept, no job is
/// made late.
///
/// A job's gain is computed again only when what its plan rests on (`PlanBasis`) has changed.
class MarginalScaling {
 public:
  /// Gives the GPUs that are free now. `jobs` come in the order that decides between equals, and each has
  /// its plan; `free` is what all plans together leave. Returns the indexes of the jobs, the next to grow
  /// first.
  std::span<const std::uint32_t> run(const FillContext& context, SpareGpus greedy, std::span<PlannedJob> jobs,
                                     GpuTimeline& free);

 private:
  /// What a job would gain.
  struct Candidate {
    std::int64_t gpus = 0;          ///< that it holds now
    std::int64_t larger_gpus = 0;   ///< its next level; `gpus` if there is none
    double gpu_seconds = 0;         ///< of its plan
    WholeSeconds first_change = 0;  ///< when its plan first changes, and by how many GPUs
    std::int64_t first_change_gpus = 0;
    bool known = false;  ///< whether its gain was computed and rests on `basis`
    PlanBasis basis;
  };
  /// A time at which the free GPUs grow by a different number than before.
  struct StepChange {
    WholeSeconds time = 0;
    std::int64_t before = 0;
    std::int64_t after = 0;
  };
  /// A time in which other numbers of GPUs are free than before, and the fewest of them.
  struct ValueChange {
    WholeSeconds begin = 0;
    WholeSeconds end = 0;
    std::int64_t least = 0;
  };

  static void take_plan(const PlannedJob& planned, Candidate& candidate);
  bool adopt_first();
  bool adopt_larger(std::uint32_t index);
  void update_all();
  void compute_gain(std::uint32_t index);
  void set_gain(std::uint32_t index, double gain);
  void sort();
  void note_changes(const GpuTimeline& before, const GpuTimeline& after);
  bool still_holds(const Candidate& candidate, const SharePlan& plan) const;

  FillContext context_;
  SpareGpus greedy_ = SpareGpus::Smallest;
  std::span<PlannedJob> jobs_;
  GpuTimeline* free_ = nullptr;
  std::int64_t least_free_ = 0;  ///< after the first step
  std::int64_t spare_ = 0;
  WholeSeconds first_change_ = 0;  ///< of what is free, and by how many GPUs
  std::int64_t first_change_gpus_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<double> ranks_;  ///< of the candidates: who has the highest goes first
  std::vector<std::uint32_t> order_;
  ShareFill fill_;
  SharePlan larger_;
  GpuTimeline left_;
  std::vector<StepChange> step_changes_;
  std::vector<ValueChange> value_changes_;
  std::int64_t least_changed_ = 0;  ///< the fewest of these after the first step
};

}  // namespace vtrain
