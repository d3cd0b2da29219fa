/// The common part of the placements that share GPUs: each is a way of comparing nodes.
#pragma once

#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sched/placement/node_placement.hpp"
#include "sched/placement/shared_nodes.hpp"

namespace vtrain {

/// A gang of at most the size of the largest node that it may use goes to the node of the lowest cost, of
/// those with room the first. A larger one takes wholly free nodes of one type, the largest that are no
/// larger than what it still needs, in index order, and for the rest the other node of the type with the
/// lowest cost.
///
/// Jobs that use part of a GPU share it, each of the GPUs of a gang being another one; only gangs that need
/// several nodes hold whole GPUs in any case.
///
/// A decision costs O(states that nodes are in), see `SharedNodes::alike`; to refuse again what was refused
/// since GPUs last came free costs O(log refused requests).
class SharingPlacement : public NodePlacement {
 public:
  SharingPlacement(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload);

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) final;
  void release(const GangRequest& request, const std::vector<NodeShare>& shares) final;
  bool take_again(const GangRequest& request, const std::vector<NodeShare>& shares) final;
  GpuCount free_gpus() const final { return nodes_.with_room(); }
  GpuCount idle_gpus() const final { return nodes_.idle(); }
  std::optional<double> fragmentation() const final;
  void set_in_service(NodeId node, bool in_service) final;

 protected:
  /// How well a gang goes on nodes that have room for it.
  virtual NodeOption option(NodesAlike& alike, const GangRequest& request) const = 0;

  const SharedNodes& nodes() const { return nodes_; }

 private:
  struct Choice {
    NodesAlike* alike = nullptr;
    NodeOption option;
  };
  std::optional<Choice> choose(const GangRequest& request, std::span<const std::uint32_t> types) const;
  void take(const Choice& choice, const GangRequest& request, std::vector<NodeShare>& shares);
  bool place_on_nodes(std::uint32_t type, std::int32_t num_gpus, std::vector<NodeShare>& shares);

  /// Number of GPUs, share of each, type.
  using RequestKey = std::tuple<GpuCount, std::int16_t, GpuTypeId>;

  SharedNodes nodes_;
  /// For one node, and refused since GPUs last came free: policies that try every waiting job ask again.
  std::set<RequestKey> refused_;
  std::vector<std::int32_t> numbers_;  ///< of GPUs, while parts are taken
};

}  // namespace vtrain
