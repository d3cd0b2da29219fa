#include "sched/placement/fgd.hpp"

#include <algorithm>
#include <optional>

#include "sched/placement/sharing_placement.hpp"

namespace vtrain {
namespace {

class FgdPlacement final : public SharingPlacement {
 public:
  using SharingPlacement::SharingPlacement;

 private:
  NodeOption option(NodesAlike& alike, const GangRequest& request) const override {
    const std::int64_t key = std::int64_t{request.num_gpus.value} * (kWholeGpu + 1) + request.gpu_share;
    const auto [known, is_new] = alike.options.try_emplace(key);
    if (is_new) known->second = least_growth(alike, request);
    return known->second;
  }

  NodeOption least_growth(const NodesAlike& alike, const GangRequest& request) const {
    const NodeState& state = *alike.state;
    std::vector<std::int16_t> left;
    std::optional<NodeOption> best;
    const auto consider = [&](std::int16_t part) {
      const NodeRoom after = room_after(state.room(), request, part, left);
      const double growth = vtrain::fragmentation(after, nodes().sizes()) - alike.fragmentation;
      if (!best || growth < best->cost) best = NodeOption{growth, part};
    };
    const bool one_part = request.num_gpus == GpuCount(1) && request.gpu_share < kWholeGpu;
    if (one_part) {
      for (auto part = std::lower_bound(state.parts.begin(), state.parts.end(), request.gpu_share);
           part != state.parts.end(); ++part)
        consider(*part);
    }
    if (state.whole_gpus > 0 || !one_part) consider(kWholeGpu);
    return *best;
  }
};

}  // namespace

NodeRoom room_after(const NodeRoom& room, const GangRequest& request, std::int16_t part,
                    std::vector<std::int16_t>& left) {
  NodeRoom after = room;
  left.assign(room.parts.begin(), room.parts.end());
  std::int32_t whole_gpus = request.num_gpus.value;
  if (request.gpu_share < kWholeGpu) {
    // The GPUs with the least free first, but of one GPU the one that was said.
    const bool one = request.num_gpus == GpuCount(1);
    for (std::int16_t& free : left) {
      if (whole_gpus == 0) break;
      if (one ? free != part : free < request.gpu_share) continue;
      free = static_cast<std::int16_t>(free - request.gpu_share);
      --whole_gpus;
    }
    left.insert(left.end(), static_cast<std::size_t>(whole_gpus),
                static_cast<std::int16_t>(kWholeGpu - request.gpu_share));
  }
  after.whole_gpus -= whole_gpus;
  after.parts = left;
  return after;
}

std::unique_ptr<Placement> make_fgd_placement(const ClusterSpec& cluster, const Workload& workload) {
  return std::make_unique<FgdPlacement>(PlacementKind::Fgd, cluster, workload);
}

}  // namespace vtrain
