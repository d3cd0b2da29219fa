/// `fgd`: fragmentation gradient descent (Weng et al., USENIX ATC'23). A gang takes the node and GPU for
/// which the node's fragmentation F_n (`sched/placement/fragmentation.hpp`) grows least or falls most. Gangs
/// larger than a node and jobs on part of a GPU: `sched/placement/sharing_placement.hpp`.
///
/// The published version compares floor(100 x sigmoid(change / 1000)); this one compares the changes
/// themselves. Job sizes are those of the whole workload. So this placement knows future jobs, as the
/// published one does.
#include <algorithm>
#include <optional>

#include "sched/placement/placements.hpp"
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
      const NodeRoom after = room_after(state.room(), request.num_gpus, request.gpu_share, part, left);
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

std::unique_ptr<Placement> make_fgd_placement(const ClusterSpec& cluster, const Workload& workload) {
  return std::make_unique<FgdPlacement>(PlacementKind::Fgd, cluster, workload);
}

}  // namespace vtrain
