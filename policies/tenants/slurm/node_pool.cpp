#include "policies/tenants/slurm/node_pool.hpp"

#include <algorithm>
#include <utility>

namespace vtrain::slurm {
namespace {

/// Nodes that follow each other and have room.
struct NodeRun {
  std::size_t first = 0;  ///< position in the list of nodes with room
  std::size_t count = 0;
};

/// Takes nodes from runs of neighbours: from the smallest run that suffices, or else all of the largest one.
std::vector<std::uint32_t> pick(const std::vector<std::uint32_t>& fitting, std::size_t wanted) {
  std::vector<NodeRun> runs;
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    if (i > 0 && fitting[i] == fitting[i - 1] + 1)
      ++runs.back().count;
    else
      runs.push_back({i, 1});
  }
  std::vector<std::uint32_t> chosen;
  while (chosen.size() < wanted) {
    const std::size_t left = wanted - chosen.size();
    NodeRun* best = nullptr;
    for (NodeRun& run : runs) {
      if (run.count == 0) continue;
      const bool suffices = run.count >= left;
      const bool best_suffices = best != nullptr && best->count >= left;
      if (best == nullptr || (suffices && !best_suffices) ||
          (suffices == best_suffices && (suffices ? run.count < best->count : run.count > best->count)))
        best = &run;
    }
    const std::size_t count = std::min(left, best->count);
    chosen.insert(chosen.end(), fitting.begin() + static_cast<std::ptrdiff_t>(best->first),
                  fitting.begin() + static_cast<std::ptrdiff_t>(best->first + count));
    best->count = 0;
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace

NodePool::NodePool(const std::vector<NodeConf>& nodes) {
  free_.reserve(nodes.size());
  for (const NodeConf& node : nodes)
    free_.push_back({static_cast<std::int32_t>(node.cpus), static_cast<std::int32_t>(node.gpus)});
}

const Holder* NodePool::find(std::uint32_t job) const {
  const auto found = std::ranges::find(holders_, job, &Holder::job);
  return found == holders_.end() ? nullptr : &*found;
}

void NodePool::take(Holder holder) {
  for (const std::uint32_t node : holder.nodes)
    free_[node].take(holder.request);
  insert(std::move(holder));
}

void NodePool::insert(Holder holder) {
  const auto order = [](const Holder& each) { return std::pair(each.end, each.job); };
  const auto place = std::ranges::upper_bound(holders_, order(holder), {}, order);
  holders_.insert(place, std::move(holder));
}

void NodePool::set_end(std::uint32_t job, SimTime end) {
  const auto found = std::ranges::find(holders_, job, &Holder::job);
  Holder holder = std::move(*found);
  holders_.erase(found);
  holder.end = end;
  insert(std::move(holder));
}

void NodePool::release(std::uint32_t job) {
  const auto found = std::ranges::find(holders_, job, &Holder::job);
  for (const std::uint32_t node : found->nodes)
    free_[node].take(found->request, -1);
  holders_.erase(found);
}

std::optional<std::vector<std::uint32_t>> NodePool::choose(const NodeRequest& request, const NodeSet& allowed,
                                                           const std::vector<FreeNode>& free) {
  std::vector<std::uint32_t> fitting;
  allowed.each([&](std::uint32_t node) {
    if (free[node].fits(request)) fitting.push_back(node);
  });
  const auto wanted = static_cast<std::size_t>(request.nodes);
  if (fitting.size() < wanted) return std::nullopt;
  return pick(fitting, wanted);
}

std::optional<NodePool::Start> NodePool::earliest(const NodeRequest& request, const NodeSet& allowed,
                                                  const EndWindows& windows) const {
  if (auto nodes = choose(request, allowed)) return Start{windows.now, *std::move(nodes)};
  std::vector<FreeNode> free = free_;
  SimDuration window = std::chrono::seconds(30);
  const auto meets = [&](const Holder& holder) {
    return std::ranges::any_of(holder.nodes, [&](std::uint32_t node) { return allowed.has(node); });
  };
  std::optional<SimTime> half_minute;
  for (auto next = holders_.begin(); next != holders_.end();) {
    const Holder* last = nullptr;
    const auto is_beyond = [&] {
      return next != holders_.end() && next->end > saturating_sum(*half_minute, window);
    };
    while (next != holders_.end()) {
      const Holder& holder = *next++;
      // As in Slurm, a job on other nodes is no reason to end the group, even beyond its window.
      if (!meets(holder)) continue;
      if (!half_minute)
        half_minute = holder.end + (window - (holder.end.time_since_epoch() + windows.clock) % window);
      last = &holder;
      for (const std::uint32_t node : holder.nodes)
        free[node].take(holder.request, -1);
      if (is_beyond()) break;
    }
    if (last == nullptr) break;
    do {
      window = windows.linear.count() > 0 ? window + windows.linear : window * 2;
    } while (is_beyond());
    if (auto nodes = choose(request, allowed, free))
      return Start{std::max(last->end, windows.now + std::chrono::seconds(1)), *std::move(nodes)};
  }
  return std::nullopt;
}

}  // namespace vtrain::slurm
