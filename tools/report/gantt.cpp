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

/// Taken and free GPUs.
class Lanes {
 public:
  explicit Lanes(std::int32_t count) : taken_(static_cast<std::size_t>(count), false) {}

  void release(LaneRange range) { set(range, false); }

  /// Takes up to `wanted` free lanes of `within` by first fit, and appends them in few pieces.
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

/// Orders the ranges and joins those that touch.
void join_neighbours(std::vector<LaneRange>& ranges) {
  std::ranges::sort(ranges, {}, &LaneRange::first);
  std::vector<LaneRange> joined;
  for (const LaneRange range : ranges) {
    if (!joined.empty() && joined.back().first + joined.back().count == range.first) {
      joined.back().count += range.count;
    } else {
      joined.push_back(range);
    }
  }
  ranges = std::move(joined);
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
    join_neighbours(mine.pieces);
    for (const LaneRange piece : mine.pieces)
      bars.push_back({run.job, run.begin, run.end, piece.first, piece.count});
    held.push(std::move(mine));
  }
  return bars;
}

DrawnSegments largest_segments(std::span<const JobSegment> segments, std::size_t most) {
  if (segments.size() <= most) return {{segments.begin(), segments.end()}, 1};
  const auto gpu_time = [&](std::size_t i) {
    return to_seconds(segments[i].end - segments[i].begin) * segments[i].num_gpus.value;
  };
  std::vector<std::size_t> order(segments.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, gpu_time);
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most));
  DrawnSegments drawn;
  double drawn_time = 0;
  double all_time = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    all_time += gpu_time(order[rank]);
    if (rank >= most) continue;
    drawn_time += gpu_time(order[rank]);
    drawn.segments.push_back(segments[order[rank]]);
  }
  drawn.gpu_time_ratio = all_time > 0 ? drawn_time / all_time : 1;
  return drawn;
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
