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

/// Options of a search.
struct PlanSearchOptions {
  std::size_t top = 1;  ///< plans to return; 0: all that fit
  /// Plans that do not fit keep the activations of as few layers as they must in the memory of the CPU, where
  /// the stack can (`PlanChoices::offload`). More layers would only make the iteration longer. How much
  /// memory the CPU has is not asked.
  bool offload = false;
  /// Plans with full recomputation let as few layers as they must run again, where the stack can
  /// (`PlanChoices::partial_recompute`).
  bool partial_recompute = false;
  /// Plans without virtual stages may have ZB-H1 for a schedule, where a fork of the stack's framework has it
  /// (`PlanChoices::zero_bubble`).
  bool zero_bubble = false;
  PlanLimits limits{};
};

/// Plans that a search found, and their numbers.
struct PlanSearchResult {
  std::vector<RankedPlan> best{};  ///< plans that fit into memory, fastest first
  std::int64_t num_plans = 0;      ///< plans that divide
  std::int64_t num_fitting = 0;    ///< of these, plans that fit into memory
  std::int64_t num_timed = 0;      ///< of these, plans whose time had to be known exactly
};

/// Searches for plans of one model. What plans of different GPU counts and global batches share is kept from
/// search to search. One per thread; the profile must outlive it.
class PlanSearch {
 public:
  /// `find` checks the model. The stack is copied; its choices are what plans may be.
  PlanSearch(TransformerModel model, const GpuProfile& profile, const Stack& stack);
  ~PlanSearch();

  /// Model, GPU and software that plans are searched for.
  const TransformerModel& model() const;
  const GpuProfile& profile() const;
  const Stack& stack() const;

  /// Time of an iteration with one plan, which must have passed `check_plan`.
  Nanoseconds iteration_of(const ParallelPlan& plan);

  /// All plans that divide, which `find` looks at. The model must have passed `check_model`.
  std::vector<ParallelPlan> plans(GpuCount num_gpus, std::int64_t global_batch,
                                  const PlanSearchOptions& options = {}) const;

  /// The fastest plans that fit into memory. Of equally fast ones the first in the order of
  /// `enumerate_plans` wins.
  ///
  /// Memory is looked at first, and with it what is offloaded and recomputed. When only some of the plans are
  /// asked for, they are timed in the order of `PlanTimer::lower_bound`, until no other plan can be faster
  /// than those: the result is that of timing all.
  ///
  /// Errors: `InvalidInput` if the model is not valid (`check_model`) or no plan divides; `Failed` if plans
  /// divide but none fits into memory, with the least that any of them needs.
  Result<PlanSearchResult> find(GpuCount num_gpus, std::int64_t global_batch,
                                const PlanSearchOptions& options = {});

 private:
  /// A plan that fits into memory.
  struct Candidate {
    std::size_t place = 0;  ///< among all plans
    MemoryEstimate memory{};
    Nanoseconds bound{0};
    Nanoseconds iteration{0};
    Breakdown breakdown{};  ///< of those that are returned
  };

  /// Gives a plan the fewest of some `layers`, of which each needs no more memory than one less, with which
  /// it fits: from 1 to `most`, or `most` if it does not fit with so many either. Its memory.
  MemoryEstimate fewest_to_fit(ParallelPlan& plan, std::int64_t ParallelPlan::*layers,
                               std::int64_t most) const;
  /// Makes a plan that needs too much memory fit by offloading the fewest layers that suffice, if any do.
  void offload_to_fit(ParallelPlan& plan, MemoryEstimate& memory) const;
  /// Makes a plan that fits with full recomputation recompute the fewest layers with which it does. Nothing
  /// changes where it fits without, which is a plan of its own.
  void recompute_to_fit(ParallelPlan& plan, MemoryEstimate& memory) const;
  /// Iterations and breakdowns.
  void time_in_full(const std::vector<ParallelPlan>& plans, std::vector<Candidate>& candidates);
  std::int64_t time_best(const std::vector<ParallelPlan>& plans, std::vector<Candidate>& candidates,
                         std::size_t top);

  std::unique_ptr<PlanTimer> timer_;
};

}  // namespace vtrain
