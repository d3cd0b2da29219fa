/// Plans with their predicted times and memory, and the choice among those of several GPU counts: time
/// against cost against GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/memory_model.hpp"

namespace vtrain {

/// A plan with its iteration time by the physical predictor, the parts of that time, and its memory.
struct RankedPlan {
  ParallelPlan plan{};       ///< parallel plan
  Nanoseconds iteration{0};  ///< time of one iteration
  MemoryEstimate memory{};   ///< memory of a GPU on the fullest stage
  Breakdown breakdown{};     ///< parts of the time of the slowest stage
  /// Its time uses numbers that no measurement covers (`Fallbacks`). Set only for the fastest plan of a
  /// search.
  bool has_fallbacks = false;
};

/// Quantity that the best plan minimises.
enum class Objective : std::uint8_t {
  Time,  ///< time of an iteration
  Cost,  ///< GPU-seconds of an iteration
  Gpus   ///< number of GPUs
};

/// Cost of an iteration with a plan: the time for which it holds its GPUs, in GPU-seconds. A price per
/// GPU-hour scales it and does not change the order.
double gpu_seconds(const RankedPlan& plan);

/// The plans, as positions in `plans` from fewest to most GPUs, that no other plan beats: none is at least as
/// fast, as cheap and as small, and better in one of the three. Of equal ones the first is kept.
/// O(plans^2).
std::vector<std::size_t> pareto_front(std::span<const RankedPlan> plans);

/// The position of the best plan that takes at most `longest` an iteration; none if every plan is slower.
/// Ties go to the faster, then to the smaller, then to the earlier plan.
std::optional<std::size_t> choose_plan(std::span<const RankedPlan> plans, Objective objective,
                                       Nanoseconds longest);

}  // namespace vtrain
