#include "workloads/physical/extrapolation_list.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "workloads/physical/physical_predictor.hpp"

namespace vtrain {

void ExtrapolationList::add(const Fallbacks& fallbacks, std::int64_t uses) {
  for (const Extrapolation& each : fallbacks.extrapolated) {
    Entry& entry = entries_[each.name];
    entry.reach = entry.uses == 0 ? each.reach : further(entry.reach, each.reach);
    entry.uses += uses;
  }
}

double ExtrapolationList::furthest() const {
  double factor = 1;
  for (const auto& [name, entry] : entries_)
    factor = std::max(factor, entry.reach.factor());
  return factor;
}

std::string ExtrapolationList::to_csv(std::string_view counted) const {
  std::vector<std::pair<std::string_view, Entry>> rows(entries_.begin(), entries_.end());
  std::ranges::stable_sort(
      rows, [](const auto& a, const auto& b) { return a.second.reach.factor() > b.second.reach.factor(); });
  std::string text = fmt::format("kernel,size,unit,nearest_measured,factor,{}\n", counted);
  for (const auto& [name, entry] : rows) {
    const Reach& reach = entry.reach;
    text += fmt::format("{},{:.0f},{},{:.0f},{:.4f},{}\n", name, reach.asked, reach.unit, reach.nearest,
                        reach.factor(), entry.uses);
  }
  return text;
}

}  // namespace vtrain
