/// `best-fit`: the node with the least free after the gang has come, and on it the GPU with the least
/// sufficient room. Gangs larger than a node and jobs on part of a GPU:
/// `sched/placement/sharing_placement.hpp`.
#include <algorithm>

#include "sched/placement/placements.hpp"
#include "sched/placement/sharing_placement.hpp"

namespace vtrain {
namespace {

class BestFitPlacement final : public SharingPlacement {
 public:
  using SharingPlacement::SharingPlacement;

 private:
  NodeOption option(NodesAlike& alike, const GangRequest& request) const override {
    const std::vector<std::int16_t>& parts = alike.state->parts;
    const auto tightest = std::lower_bound(parts.begin(), parts.end(), request.gpu_share);
    return {.cost = static_cast<double>(alike.free_milli),
            .part = tightest == parts.end() ? kWholeGpu : *tightest};
  }
};

}  // namespace

std::unique_ptr<Placement> make_best_fit_placement(const ClusterSpec& cluster, const Workload& workload) {
  return std::make_unique<BestFitPlacement>(PlacementKind::BestFit, cluster, workload);
}

}  // namespace vtrain
