#include "policies/tenants/slurm/node_pool.hpp"

#include <algorithm>
#include <utility>

namespace vtrain::slurm {
namespace {

/// Nodes that follow each other and have room.
struct NodeRun {
  std::size_t first = 0;  ///< its first node
  std::size_t count = 0;
};

/// Takes nodes from runs of neighbours: from the smallest run that suffices, or else all of the largest one.
std::vector<std::uint32_t> pick(const NodeSet& fitting, std::size_t wanted) {
  std::vector<NodeRun> runs;
  fitting.each([&](std::uint32_t node) {
    if (!runs.empty() && runs.back().first + runs.back().count == node)
      ++runs.back().count;
    else
      runs.push_back({node, 1});
  });
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
    for (std::size_t i = 0; i < count; ++i)
      chosen.push_back(static_cast<std::uint32_t>(best->first + i));
    best->count = 0;
  }
  std::ranges::sort(chosen);
  return chosen;
}

/// Nodes for a job among those that fit and are allowed.
std::optional<std::vector<std::uint32_t>> pick_allowed(const NodeRequest& request, const NodeSet& fitting,
                                                       const NodeSet& allowed) {
  const auto wanted = static_cast<std::size_t>(request.nodes);
  if (fitting.count_in(allowed) < wanted) return std::nullopt;
  NodeSet both = fitting;
  both.keep(allowed);
  return pick(both, wanted);
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
  change(holder, 1);
  insert(std::move(holder));
}

void NodePool::change(const Holder& holder, std::int32_t sign) {
  for (const std::uint32_t node : holder.nodes) {
    free_[node].take(holder.request, sign);
    for (Fit& fit : fits_) {
      if (free_[node].cpus >= fit.cpus && free_[node].gpus >= fit.gpus)
        fit.now.add(node);
      else
        fit.now.remove(node);
    }
  }
}

void NodePool::insert(Holder holder) {
  ++version_;
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
  change(*found, -1);
  holders_.erase(found);
  ++version_;
}

NodePool::Fit& NodePool::fit_of(const NodeRequest& request) const {
  for (Fit& fit : fits_) {
    if (fit.cpus == request.cpus_per_node && fit.gpus == request.gpus_per_node) return fit;
  }
  Fit& fit = fits_.emplace_back(
      Fit{.cpus = request.cpus_per_node, .gpus = request.gpus_per_node, .now = NodeSet(free_.size())});
  for (std::uint32_t node = 0; node < free_.size(); ++node) {
    if (free_[node].fits(request)) fit.now.add(node);
  }
  return fit;
}

std::optional<std::vector<std::uint32_t>> NodePool::choose(const NodeRequest& request,
                                                           const NodeSet& allowed) const {
  return pick_allowed(request, fit_of(request).now, allowed);
}

std::optional<std::vector<std::uint32_t>> NodePool::choose(const NodeRequest& request, const NodeSet& allowed,
                                                           const std::vector<FreeNode>& free) {
  NodeSet fitting(free.size());
  allowed.each([&](std::uint32_t node) {
    if (free[node].fits(request)) fitting.add(node);
  });
  return pick_allowed(request, fitting, allowed);
}

void NodePool::find_ready(Fit& fit) const {
  fit.version = version_;
  fit.ready.clear();
  fit.after.clear();
  std::vector<FreeNode> free = free_;
  NodeSet fitting = fit.now;
  for (std::uint32_t i = 0; i < holders_.size(); ++i) {
    for (const std::uint32_t node : holders_[i].nodes) {
      free[node].take(holders_[i].request, -1);
      if (fitting.has(node) || free[node].cpus < fit.cpus || free[node].gpus < fit.gpus) continue;
      fitting.add(node);
      fit.ready.emplace_back(i, node);
    }
  }
}

std::optional<std::uint32_t> NodePool::needed_holder(const NodeRequest& request, const NodeSet& allowed,
                                                     const Fit& fit) const {
  std::size_t missing = static_cast<std::size_t>(request.nodes) - fit.now.count_in(allowed);
  for (const auto& [holder, node] : fit.ready) {
    if (allowed.has(node) && --missing == 0) return holder;
  }
  return std::nullopt;
}

std::optional<SimTime> NodePool::not_before(const NodeRequest& request, const NodeSet& allowed,
                                            SimTime now) const {
  Fit& fit = fit_of(request);
  if (fit.now.count_in(allowed) >= static_cast<std::size_t>(request.nodes)) return now;
  if (fit.version != version_) find_ready(fit);
  const auto needed = needed_holder(request, allowed, fit);
  if (!needed) return std::nullopt;
  return holders_[*needed].end;
}

std::optional<NodePool::Start> NodePool::earliest(const NodeRequest& request, const NodeSet& allowed,
                                                  const EndWindows& windows) const {
  Fit& fit = fit_of(request);
  if (fit.now.count_in(allowed) >= static_cast<std::size_t>(request.nodes)) return Start{windows.now, {}};
  if (fit.version != version_) find_ready(fit);
  const auto needed = needed_holder(request, allowed, fit);
  if (!needed) return std::nullopt;

  const auto meets = [&](std::size_t i) {
    return std::ranges::any_of(holders_[i].nodes, [&](std::uint32_t node) { return allowed.has(node); });
  };
  std::size_t next = 0;
  while (!meets(next))
    ++next;
  SimDuration window = std::chrono::seconds(30);
  const SimTime first_end = holders_[next].end;
  const SimTime half_minute = first_end + (window - (first_end.time_since_epoch() + windows.clock) % window);
  const auto grow = [&] { window = windows.linear.count() > 0 ? window + windows.linear : window * 2; };
  std::size_t last = next;
  for (;;) {
    const SimTime until = saturating_sum(half_minute, window);
    // Jobs of the group: those that end in the window. As in Slurm, jobs on other nodes after the last of
    // them are no reason to end it, so that one more belongs to it.
    const auto beyond = static_cast<std::size_t>(std::ranges::upper_bound(holders_, until, {}, &Holder::end) -
                                                 holders_.begin());
    std::size_t stop = std::max(beyond, next + 1);
    last = stop - 1;
    if (!meets(last)) {
      for (last = stop; last < holders_.size() && !meets(last);)
        ++last;
      if (last == holders_.size()) {
        for (last = stop - 1; !meets(last);)
          --last;
      } else {
        stop = last + 1;
      }
    }
    if (last >= *needed) break;
    next = stop;
    do
      grow();
    while (next < holders_.size() && holders_[next].end > saturating_sum(half_minute, window));
  }
  return Start{std::max(holders_[last].end, windows.now + std::chrono::seconds(1)),
               static_cast<std::uint32_t>(last)};
}

std::vector<std::uint32_t> NodePool::nodes_of(const Start& start, const NodeRequest& request,
                                              const NodeSet& allowed) const {
  Fit& fit = fit_of(request);
  if (!start.after) return pick_allowed(request, fit.now, allowed).value_or(std::vector<std::uint32_t>{});
  const auto [found, is_new] = fit.after.try_emplace(*start.after, fit.now);
  if (is_new) {
    for (const auto& [holder, node] : fit.ready) {
      if (holder > *start.after) break;
      found->second.add(node);
    }
  }
  return pick_allowed(request, found->second, allowed).value_or(std::vector<std::uint32_t>{});
}

}  // namespace vtrain::slurm
