#include "sched/accounting/placement_speed.hpp"

#include <algorithm>
#include <cmath>

namespace vtrain {
namespace {

std::int64_t in_billionths(double speed) {
  constexpr double kFastest = 1e6;
  const double billionths = std::min(speed, kFastest) * static_cast<double>(SegmentSpeed::kFull);
  return std::max<std::int64_t>(1, std::llround(billionths));
}

}  // namespace

PlacementSpeed::PlacementSpeed(const ClusterSpec& cluster, const Workload& workload, GangSpeedModel& speeds,
                               const Placement& placement)
    : nodes_(cluster, workload),
      speeds_(speeds),
      may_spread_(!placement.packs_gangs()),
      depends_on_place_(placement.info().knows_nodes && (may_spread_ || nodes_.by_type().size() > 1)) {}

GangSite PlacementSpeed::of(std::span<const NodeShare> shares) const {
  const std::uint32_t type = nodes_[shares.front().node.value].type;
  std::int32_t num_gpus = 0;
  std::int32_t nodes = 0;
  // The lowest bit that is set is the largest power of two that divides the GPUs of every node.
  std::int32_t bits = 0;
  for (std::size_t first = 0; first < shares.size(); ++nodes) {
    // A gang's shares of one node are adjacent.
    std::int32_t on_node = 0;
    const NodeId node = shares[first].node;
    for (; first < shares.size() && shares[first].node == node; ++first)
      on_node += shares[first].gpus.value;
    num_gpus += on_node;
    bits |= on_node;
  }
  const std::int32_t largest = nodes_.by_type()[type].largest_node;
  const bool packed = nodes <= (num_gpus + largest - 1) / largest;
  return {.gpu_type = type, .ranks_together = packed ? 0 : bits & -bits};
}

SegmentSpeed PlacementSpeed::speed(JobId job, std::span<const NodeShare> shares) const {
  if (!depends_on_place()) return {};
  GpuCount num_gpus{0};
  for (const NodeShare& share : shares)
    num_gpus += share.gpus;
  const GangSpeed speed = speeds_.at(job, num_gpus, of(shares));
  return {in_billionths(speed.here), in_billionths(speed.packed)};
}

SegmentSpeed PlacementSpeed::slowest(JobId job, GpuCount num_gpus) const {
  if (!depends_on_place()) return {};
  const std::int64_t speed = in_billionths(speeds_.slowest(job, num_gpus, may_spread_));
  return {speed, speed};
}

SegmentSpeed PlacementSpeed::slowest(JobId job, GpuCount num_gpus, std::uint32_t type) const {
  if (!depends_on_place()) return {};
  double slowest = speeds_.at(job, num_gpus, {.gpu_type = type}).here;
  for (std::int32_t together = 1; may_spread_ && together < num_gpus.value; together *= 2)
    slowest =
        std::min(slowest, speeds_.at(job, num_gpus, {.gpu_type = type, .ranks_together = together}).here);
  return {in_billionths(slowest), in_billionths(slowest)};
}

}  // namespace vtrain
