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

void BackfillMap::keep_free(NodeSet& nodes, SimTime from, SimTime to, bool touching) const {
  for (std::size_t i = step_at(from); i < steps_.size(); ++i) {
    if ((touching ? steps_[i].begin > to : steps_[i].begin >= to) && steps_[i].begin > from) break;
    nodes.keep(steps_[i].free);
  }
}

std::optional<SimTime> BackfillMap::next_change(SimTime time) const {
  const std::size_t next = step_at(time) + 1;
  return next < steps_.size() ? std::optional(steps_[next].begin) : std::nullopt;
}

std::size_t BackfillMap::split(SimTime time) {
  const std::size_t step = step_at(time);
  if (steps_[step].begin >= time) return step;
  Step second{time, steps_[step].free};
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(step) + 1, std::move(second));
  return step + 1;
}

void BackfillMap::promise(const NodeSet& nodes, SimTime from, SimTime to) {
  const std::size_t first = split(from);
  const std::size_t last = split(to);
  for (std::size_t i = first; i < last; ++i)
    steps_[i].free.remove(nodes);
}

}  // namespace vtrain::slurm
