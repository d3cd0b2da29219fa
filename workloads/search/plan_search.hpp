/// Finds the fastest parallel plans of a model on a number of GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/search/plan_space.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

class PlanTimer;
struct GpuProfile;
struct Stack;
struct TransformerModel;

/// Part of a GPU's memory that plans leave free by default: a plan to the last byte ends in an error after
/// hours.
inline constexpr double kDefaultHeadroom = 0.03;

/// Options of a search.
struct PlanSearchOptions {
  std::size_t top = 1;  ///< plans to return; 0: all that fit
  /// Plans that do not fit keep the activations of as few layers as possible in the memory of the CPU, if the
  /// stack can (`PlanChoices::offload`). More layers would only make the iteration longer. The CPU's memory
  /// is not checked.
  bool offload = false;
  /// Plans with full recomputation recompute as few layers as possible, if the stack can
  /// (`PlanChoices::partial_recompute`).
  bool partial_recompute = false;
  /// Plans without virtual stages may use the schedule ZB-H1, if a fork of the stack's framework has it
  /// (`PlanChoices::zero_bubble`).
  bool zero_bubble = false;
  double headroom = kDefaultHeadroom;  ///< part of a GPU's memory that plans leave free, 0 to 1
  PlanLimits limits{};                 ///< degrees that the plans must have
};

/// Plans that a search found, and their numbers.
struct PlanSearchResult {
  std::vector<RankedPlan> best{};  ///< plans that fit into memory, fastest first
  std::int64_t num_plans = 0;      ///< plans that divide the model, batch and GPUs
  std::int64_t num_fitting = 0;    ///< plans that also fit into memory
  std::int64_t num_timed = 0;      ///< fitting plans whose exact time was computed
};

/// Searches for plans of one model. Searches for different GPU counts and global batches share results. One
/// object per thread; the profile must outlive it.
class PlanSearch {
 public:
  /// `find` checks the model. The stack is copied; its choices limit the plans.
  PlanSearch(TransformerModel model, const GpuProfile& profile, const Stack& stack);
  ~PlanSearch();

  /// Model of the plans.
  const TransformerModel& model() const;
  /// GPU of the plans.
  const GpuProfile& profile() const;
  /// Software of the plans.
  const Stack& stack() const;

  /// Iteration time of one plan, which must have passed `check_plan`.
  Nanoseconds iteration_of(const ParallelPlan& plan);

  /// All plans that `find` considers: those that divide. The model must have passed `check_model`.
  std::vector<ParallelPlan> plans(GpuCount num_gpus, std::int64_t global_batch,
                                  const PlanSearchOptions& options = {}) const;

  /// True if any plan that `find` considers fits into memory. Stops at the first one.
  bool any_fits(GpuCount num_gpus, std::int64_t global_batch, const PlanSearchOptions& options = {}) const;

  /// Finds the fastest plans that fit into memory. Of equally fast ones, the first in the order of
  /// `enumerate_plans` wins.
  ///
  /// Memory is checked first, and with it offloading and recomputation. If `top` is not 0, plans are timed in
  /// the order of `PlanTimer::lower_bound` until no other plan can be faster. The result is that of timing
  /// all.
  ///
  /// Errors: `InvalidInput` if the model is not valid (`check_model`) or no plan divides; `Failed` if plans
  /// divide but none fits into memory, with the least memory that any of them needs.
  Result<PlanSearchResult> find(GpuCount num_gpus, std::int64_t global_batch,
                                const PlanSearchOptions& options = {});

 private:
  /// A plan that fits into memory.
  struct Candidate {
    std::size_t place = 0;  ///< position among all plans
    MemoryEstimate memory{};
    Nanoseconds bound{0};
    Nanoseconds iteration{0};
    Breakdown breakdown{};  ///< set for plans that are returned
  };

  /// Memory of a plan, which may change to fit: by offloading and recomputation as the options allow.
  MemoryEstimate fit(ParallelPlan& plan, const PlanSearchOptions& options) const;
  /// Sets the member `layers` of a plan to the smallest number from 1 to `most` with which it fits, or to
  /// `most` if none fits. Needs memory that does not grow with the number. Returns the plan's memory.
  MemoryEstimate fewest_to_fit(ParallelPlan& plan, std::int64_t ParallelPlan::*layers, std::int64_t most,
                               double headroom) const;
  /// Makes a plan that needs too much memory fit by offloading the fewest layers that suffice, if any do.
  void offload_to_fit(ParallelPlan& plan, MemoryEstimate& memory, double headroom) const;
  /// Makes a plan that fits with full recomputation recompute the fewest layers with which it fits. A plan
  /// that fits without recomputation stays as it is: the search has that one as well.
  void recompute_to_fit(ParallelPlan& plan, MemoryEstimate& memory, double headroom) const;
  /// Computes the iteration times and breakdowns of candidates.
  void time_in_full(const std::vector<ParallelPlan>& plans, std::vector<Candidate>& candidates);
  std::int64_t time_best(const std::vector<ParallelPlan>& plans, std::vector<Candidate>& candidates,
                         std::size_t top);

  std::unique_ptr<PlanTimer> timer_;
};

}  // namespace vtrain
