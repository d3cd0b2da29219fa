/// `count`: the cluster is one number of free GPUs; a gang fits if enough of them are free anywhere. If jobs
/// request GPU types, it is one number per type. Then a gang without a type takes GPUs of any, in the order
/// in which the cluster names the types.
#include <algorithm>
#include <stdexcept>

#include "sched/cluster/gpu_types.hpp"
#include "sched/placement/placements.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// Placement with one number for the cluster.
class CountPlacement : public Placement {
 public:
  explicit CountPlacement(const ClusterSpec& cluster)
      : Placement(PlacementKind::Count), total_(cluster.total_gpus()), free_(total_) {}

  bool place(const GangRequest& request, std::vector<NodeShare>&) override {
    if (request.num_gpus > free_ && !overcommits_) return false;
    free_ -= request.num_gpus;
    return true;
  }
  void release(const GangRequest& request, const std::vector<NodeShare>&) override {
    free_ += request.num_gpus;
  }
  bool reacquire(const GangRequest& request, const std::vector<NodeShare>&) override {
    if (request.num_gpus > free_) return false;
    free_ -= request.num_gpus;
    return true;
  }
  bool has_room(const GangRequest& request) const override {
    return request.num_gpus <= free_ || overcommits_;
  }
  bool fits_empty(const GangRequest& request) const override { return request.num_gpus <= total_; }
  bool overcommit() final {
    overcommits_ = true;
    return true;
  }
  GpuCount free_gpus() const final { return free_; }
  bool packs_gangs() const final { return true; }
  bool needs_shares() const override { return false; }
  int levels_crossed(std::span<const NodeShare>) const final { return 0; }
  int most_levels(const GangRequest&) const final { return 0; }
  void set_in_service(NodeId, bool) final {
    throw std::logic_error("placement: 'count' knows no nodes that could go out of service");
  }

 protected:
  bool overcommits_ = false;

 private:
  GpuCount total_;
  GpuCount free_;
};

/// Placement with one number per type. A gang's list has the number of the type in place of a node.
class CountByTypePlacement final : public CountPlacement {
 public:
  CountByTypePlacement(const ClusterSpec& cluster, const Workload& workload)
      : CountPlacement(cluster), types_(cluster, workload.gpu_types), total_(types_.names().size()) {
    for (const NodeGroup& group : cluster.groups)
      total_[types_.number_of(group)] += std::int64_t{group.num_nodes} * group.gpus_per_node.value;
    free_ = total_;
  }

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) override {
    if (sum(free_, request) < request.num_gpus.value && !overcommits_) return false;
    std::int64_t needed = request.num_gpus.value;
    const auto take = [&](std::uint32_t type, std::int64_t gpus) {
      if (gpus <= 0) return;
      free_[type] -= gpus;
      needed -= gpus;
      shares.push_back({NodeId(type), GpuCount(static_cast<std::int32_t>(gpus))});
    };
    const std::span<const std::uint32_t> types = types_.allowed(request.gpu_type, request.only_type);
    for (const std::uint32_t type : types)
      take(type, std::min(needed, free_[type]));
    take(types.front(), needed);
    return CountPlacement::place(request, shares);
  }
  void release(const GangRequest& request, const std::vector<NodeShare>& shares) override {
    for (const NodeShare& share : shares)
      free_[share.node.value] += share.gpus.value;
    CountPlacement::release(request, shares);
  }
  bool reacquire(const GangRequest& request, const std::vector<NodeShare>& shares) override {
    const bool free = std::ranges::all_of(shares, [this](const NodeShare& share) {
      return share.first_gpu == 0 && share.gpus.value <= free_[share.node.value];
    });
    if (!free) return false;
    for (const NodeShare& share : shares)
      free_[share.node.value] -= share.gpus.value;
    return CountPlacement::reacquire(request, shares);
  }
  bool has_room(const GangRequest& request) const override {
    return sum(free_, request) >= request.num_gpus.value || overcommits_;
  }
  bool fits_empty(const GangRequest& request) const override {
    return sum(total_, request) >= request.num_gpus.value;
  }
  bool needs_shares() const override { return true; }

 private:
  std::int64_t sum(const std::vector<std::int64_t>& gpus, const GangRequest& request) const {
    std::int64_t result = 0;
    for (const std::uint32_t type : types_.allowed(request.gpu_type, request.only_type))
      result += gpus[type];
    return result;
  }

  GpuTypes types_;
  std::vector<std::int64_t> total_;  ///< [types]
  std::vector<std::int64_t> free_;   ///< [types]
};

}  // namespace

std::unique_ptr<Placement> make_count_placement(const ClusterSpec& cluster, const Workload& workload) {
  if (workload.gpu_types.size() == 0) return std::make_unique<CountPlacement>(cluster);
  return make_count_by_type_placement(cluster, workload);
}

std::unique_ptr<Placement> make_count_by_type_placement(const ClusterSpec& cluster,
                                                        const Workload& workload) {
  return std::make_unique<CountByTypePlacement>(cluster, workload);
}

}  // namespace vtrain
