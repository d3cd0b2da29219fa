#include "policies/tenants/slurm/backfill_map.hpp"

#include <algorithm>
#include <cstdint>

namespace vtrain::slurm {

BackfillMap::BackfillMap(SimTime now, std::size_t num_nodes) {
  NodeSet all(num_nodes);
  for (std::uint32_t node = 0; node < num_nodes; ++node)
    all.add(node);
  steps_.push_back({now, std::move(all)});
}

std::size_t BackfillMap::step_at(SimTime time) const {
  const auto after = std::ranges::upper_bound(steps_, time, {}, &Step::begin);
  return after == steps_.begin() ? 0 : static_cast<std::size_t>(after - steps_.begin()) - 1;
}

std::optional<SimTime> BackfillMap::keep_free(NodeSet& nodes, SimTime from, SimTime to, std::size_t wanted,
                                              SimTime not_before) const {
  const NodeSet all = nodes;
  std::optional<SimTime> later;
  std::size_t count = nodes.count();
  bool is_short = false;
  for (std::size_t i = step_at(from); i < steps_.size(); ++i) {
    if (steps_[i].begin > to && steps_[i].begin > from) break;
    // A set that is too small only gets smaller, so that it takes no more part in the search for `later`.
    if (!is_short) {
      count -= nodes.keep_counted(steps_[i].free);
      is_short = count < wanted;
    }
    if (!later && i + 1 < steps_.size() && !steps_[i + 1].free.is_within(nodes, all)) {
      later = steps_[i + 1].begin;
      if (*later < not_before) break;
    }
    if (later && is_short) break;
  }
  return later;
}

bool BackfillMap::are_free(const NodeSet& nodes, SimTime from, SimTime to) const {
  for (std::size_t i = step_at(from); i < steps_.size() && steps_[i].begin < to; ++i) {
    if (!nodes.is_within(steps_[i].free, nodes)) return false;
  }
  return true;
}

std::size_t BackfillMap::split(SimTime time) {
  const std::size_t step = step_at(time);
  if (steps_[step].begin >= time) return step;
  Step second{time, steps_[step].free};
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(step) + 1, std::move(second));
  ++num_records_;
  return step + 1;
}

void BackfillMap::promise(const NodeSet& nodes, SimTime from, SimTime to) {
  const std::size_t first = split(from);
  const std::size_t last = split(to);
  for (std::size_t i = first; i < last; ++i)
    steps_[i].free.remove(nodes);
  for (const std::size_t i : {last, first}) {
    if (i > 0 && i < steps_.size() && steps_[i].free == steps_[i - 1].free)
      steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace vtrain::slurm
