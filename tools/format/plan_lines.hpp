/// Lines of a list of plans, in which plans that are almost equally fast share a line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

/// Plans of one line, as positions in a list; the first of them is shown in full.
using PlanLine = std::vector<std::size_t>;

/// Divides plans, fastest first, into lines. A plan joins the earliest line to whose first plan it is close:
/// the iteration takes less than 0.5 % longer, and both have the same degrees of parallelism. Only the
/// micro-batch, virtual stages, recomputation, sharding, the schedule and the like may differ.
std::vector<PlanLine> fold_plans(std::span<const RankedPlan> plans);

/// True if plans, the first of a longer list, hold `count` whole lines: no later plan can join one.
bool has_lines(std::span<const RankedPlan> plans, std::size_t count);

/// Differences of a line's other plans from its first: `1 and 2 more within 0.5 %: micro-batch 2; recompute
/// none, micro-batch 2`. `label` is the name of the line. Empty for a single plan.
std::string folded_text(std::string_view label, const PlanLine& line, std::span<const RankedPlan> plans);

}  // namespace vtrain
