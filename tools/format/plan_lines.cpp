#include "tools/format/plan_lines.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

/// Largest ratio of two iteration times in one line.
constexpr double kClose = 1.005;

bool is_close(const RankedPlan& first, const RankedPlan& other) {
  const auto degrees = [](const ParallelPlan& plan) {
    return std::tie(plan.tensor, plan.context, plan.expert, plan.expert_tensor, plan.pipeline, plan.data,
                    plan.replicate);
  };
  return other.iteration.count() < kClose * first.iteration.count() &&
         degrees(first.plan) == degrees(other.plan);
}

}  // namespace

std::vector<PlanLine> fold_plans(std::span<const RankedPlan> plans) {
  std::vector<PlanLine> lines;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto joined = std::ranges::find_if(
        lines, [&](const PlanLine& line) { return is_close(plans[line.front()], plans[i]); });
    if (joined == lines.end())
      lines.push_back({i});
    else
      joined->push_back(i);
  }
  return lines;
}

bool has_lines(std::span<const RankedPlan> plans, std::size_t count) {
  const std::vector<PlanLine> lines = fold_plans(plans);
  return count == 0 ||
         (lines.size() >= count &&
          plans.back().iteration.count() >= kClose * plans[lines[count - 1].front()].iteration.count());
}

std::string folded_text(std::string_view label, const PlanLine& line, std::span<const RankedPlan> plans) {
  if (line.size() < 2) return {};
  constexpr std::size_t kShown = 3;
  std::string text = fmt::format("{} and {} more within 0.5 %: ", label, line.size() - 1);
  for (std::size_t i = 1; i < std::min(line.size(), kShown + 1); ++i) {
    text += (i > 1 ? "; " : "") + describe_changes(plans[line.front()].plan, plans[line[i]].plan);
  }
  if (line.size() > kShown + 1) text += "; …";
  return wrap_text(text, text_columns(), 2) + "\n";
}

}  // namespace vtrain
