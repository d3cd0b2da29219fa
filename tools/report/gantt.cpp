#include "tools/report/gantt.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace vtrain::report {
namespace {

struct LaneRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// Which GPUs are taken.
class Lanes {
 public:
  explicit Lanes(std::int32_t count) : taken_(static_cast<std::size_t>(count), false) {}

  void release(LaneRange range) { set(range, false); }

  /// Takes up to `wanted` free lanes of `within` and appends them, as few pieces as first fit allows.
  void take(LaneRange within, std::int32_t wanted, std::vector<LaneRange>& pieces) {
    std::vector<LaneRange> gaps = free_gaps(within);
    const auto whole = std::ranges::find_if(gaps, [&](LaneRange gap) { return gap.count >= wanted; });
    if (whole != gaps.end()) gaps = {*whole};
    std::int32_t left = wanted;
    for (const LaneRange gap : gaps) {
      if (left == 0) break;
      const LaneRange piece{gap.first, std::min(gap.count, left)};
      set(piece, true);
      pieces.push_back(piece);
      left -= piece.count;
    }
  }

 private:
  void set(LaneRange range, bool value) { std::fill_n(taken_.begin() + range.first, range.count, value); }

  std::vector<LaneRange> free_gaps(LaneRange within) const {
    std::vector<LaneRange> gaps;
    for (std::int32_t lane = within.first; lane < within.first + within.count; ++lane) {
      if (taken_[static_cast<std::size_t>(lane)]) continue;
      if (gaps.empty() || gaps.back().first + gaps.back().count != lane) gaps.push_back({lane, 0});
      ++gaps.back().count;
    }
    return gaps;
  }

  std::vector<bool> taken_;
};

std::vector<LaneRange> lanes_of_nodes(const ClusterSpec& cluster) {
  std::vector<LaneRange> nodes;
  std::int32_t first = 0;
  for (const NodeGroup& group : cluster.groups) {
    for (std::int32_t i = 0; i < group.num_nodes; ++i) {
      nodes.push_back({first, group.gpus_per_node.value});
      first += group.gpus_per_node.value;
    }
  }
  return nodes;
}

struct HeldLanes {
  SimTime end{};
  std::vector<LaneRange> pieces;

  friend bool operator>(const HeldLanes& a, const HeldLanes& b) { return a.end > b.end; }
};

}  // namespace

std::vector<GanttBar> lay_out_gantt(const ClusterSpec& cluster, std::span<const JobSegment> runs) {
  const std::vector<LaneRange> nodes = lanes_of_nodes(cluster);
  const std::int32_t num_lanes = nodes.empty() ? 0 : nodes.back().first + nodes.back().count;
  Lanes lanes(num_lanes);
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(runs[i].begin, runs[i].job); });

  std::vector<GanttBar> bars;
  std::priority_queue<HeldLanes, std::vector<HeldLanes>, std::greater<>> held;
  for (const std::size_t i : order) {
    const JobSegment& run = runs[i];
    while (!held.empty() && held.top().end <= run.begin) {
      for (const LaneRange piece : held.top().pieces)
        lanes.release(piece);
      held.pop();
    }
    HeldLanes mine{run.end, {}};
    if (run.parts.empty()) lanes.take({0, num_lanes}, run.num_gpus.value, mine.pieces);
    for (const GangPart& part : run.parts)
      lanes.take(nodes.at(part.node.value), part.gpus.value, mine.pieces);
    for (const LaneRange piece : mine.pieces)
      bars.push_back({run.job, run.begin, run.end, piece.first, piece.count});
    held.push(std::move(mine));
  }
  return bars;
}

std::vector<OutageBar> lay_out_outages(const ClusterSpec& cluster, std::span<const Outage> outages) {
  const std::vector<LaneRange> nodes = lanes_of_nodes(cluster);
  std::vector<OutageBar> bars;
  bars.reserve(outages.size());
  for (const Outage& outage : outages) {
    const LaneRange lanes = nodes.at(outage.node.value);
    bars.push_back({outage, lanes.first, lanes.count});
  }
  return bars;
}

}  // namespace vtrain::report
