/// Placements that share GPUs, each with a cost of its own by which it compares nodes, and their free GPUs
/// and parts of GPUs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/units.hpp"
#include "sched/cluster/node_table.hpp"
#include "sched/placement/fragmentation.hpp"
#include "sched/placement/node_placement.hpp"

namespace vtrain {

/// The state of a node; nodes with equal states are interchangeable.
struct NodeState {
  std::uint32_t type = 0;
  std::int32_t num_gpus = 0;          ///< all GPUs of a node, free or not
  std::int32_t whole_gpus = 0;        ///< GPUs free as a whole
  std::vector<std::int16_t> parts{};  ///< free thousandths of the partly free GPUs, ascending

  friend auto operator<=>(const NodeState&, const NodeState&) = default;

  /// True if no part of such a node is held.
  bool idle() const { return whole_gpus == num_gpus; }
  NodeRoom room() const { return {.type = type, .whole_gpus = whole_gpus, .parts = parts}; }
};

/// The cost of a gang on a node in some state, for a placement that compares.
struct NodeOption {
  double cost = 0;        ///< lower is better
  std::int16_t part = 0;  ///< free thousandths of the GPU to take, if the gang is one part of a GPU
};

/// The nodes in service in one state, and values computed for that state.
struct NodesAlike {
  const NodeState* state = nullptr;
  std::set<std::uint32_t> nodes;
  double fragmentation = 0;  ///< F_n of each node
  std::int64_t free_milli = 0;
  std::size_t position = 0;  ///< position in `SharedNodes::alike`
  /// Options that a placement keeps, by a key of its own. They follow from the state, so they are never
  /// cleared.
  std::map<std::int64_t, NodeOption> options;
};

/// Free GPUs, and free parts of GPUs, of all nodes, grouped by equal state.
class SharedNodes {
 public:
  /// Begins with all nodes in service and idle. `sizes` are those that measure fragmentation.
  SharedNodes(const NodeTable& table, std::vector<TypicalSize> sizes);

  /// States of the nodes in service, in no particular order. There are at most as many as nodes. If all nodes
  /// are equal and no GPU is shared, there are at most the GPUs of a node plus one.
  const std::vector<NodesAlike*>& alike() const { return alike_; }
  /// Takes GPUs of a node that are free as a whole.
  void take_whole(std::uint32_t node, std::int32_t num_gpus);
  /// Takes a part of the first GPU of a node with exactly `part` thousandths free, `kWholeGpu` for a GPU free
  /// as a whole. Returns the GPU's number for `give_back_part`.
  std::int32_t take_part(std::uint32_t node, std::int16_t gpu_share, std::int16_t part);
  /// Takes parts of `num_gpus` different GPUs of a node, those with the least sufficient room first. Appends
  /// their numbers.
  void take_parts(std::uint32_t node, std::int16_t gpu_share, std::int32_t num_gpus,
                  std::vector<std::int32_t>& numbers);
  void give_back_whole(std::uint32_t node, std::int32_t num_gpus);
  void give_back_part(std::uint32_t node, std::int32_t number, std::int16_t gpu_share);
  /// Undoes `give_back_part`.
  void reacquire_part(std::uint32_t node, std::int32_t number, std::int16_t gpu_share);
  void set_in_service(std::uint32_t node, bool in_service);

  /// GPUs of a node that are free as a whole, in service or not.
  std::int32_t whole_gpus(std::uint32_t node) const { return records_[node].whole_gpus; }
  /// Free thousandths of the GPU that last had this number. `kWholeGpu` if the number is unused: any whole
  /// GPU may get it.
  std::int16_t free_part(std::uint32_t node, std::int32_t number) const {
    const std::vector<std::int16_t>& parts = records_[node].parts;
    const auto place = static_cast<std::size_t>(number);
    return place < parts.size() ? parts[place] : kWholeGpu;
  }

  /// GPUs in service that are at least partly free.
  GpuCount partly_free_gpus() const { return GpuCount(with_room_); }
  /// GPUs in service that are free as a whole.
  GpuCount idle() const { return GpuCount(idle_); }
  const std::vector<TypicalSize>& sizes() const { return sizes_; }

 private:
  struct Record {
    std::int32_t whole_gpus = 0;  ///< GPUs free as a whole
    /// Free thousandths of shared GPUs; `kWholeGpu` where a number is unused.
    std::vector<std::int16_t> parts;
    bool in_service = true;
    NodesAlike* alike = nullptr;  ///< null while out of service
  };

  NodeState state_of(std::uint32_t node) const;
  void leave(std::uint32_t node);
  void join(std::uint32_t node);
  void forget_empty_states();
  std::int32_t cut(Record& record, std::size_t number, std::int16_t gpu_share);
  std::size_t number_with(Record& record, std::int16_t part);

  const NodeTable& table_;
  std::vector<TypicalSize> sizes_;
  std::vector<Record> records_;  ///< [nodes]
  std::map<NodeState, NodesAlike> states_;
  std::vector<NodesAlike*> alike_;
  std::int32_t with_room_ = 0;
  std::int32_t idle_ = 0;
};

/// A gang no larger than the largest node that it may use goes to the first node of the lowest cost with room
/// for it. A larger one takes wholly free nodes of one type in index order: the largest that are no larger
/// than its remaining need. The rest goes to the node of that type with the lowest cost.
///
/// Jobs that use part of a GPU share it; each part of a gang is on a different GPU. Gangs that need several
/// nodes always hold whole GPUs.
///
/// A decision costs O(states that nodes are in), see `SharedNodes::alike`. Refusing a request again before
/// GPUs become free costs O(log refused requests).
class SharingPlacement : public NodePlacement {
 public:
  SharingPlacement(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload);

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) final;
  bool has_room(const GangRequest& request) const final;
  void release(const GangRequest& request, const std::vector<NodeShare>& shares) final;
  bool reacquire(const GangRequest& request, const std::vector<NodeShare>& shares) final;
  GpuCount free_gpus() const final { return nodes_.partly_free_gpus(); }
  GpuCount idle_gpus() const final { return nodes_.idle(); }
  std::optional<double> fragmentation() const final;
  void set_in_service(NodeId node, bool in_service) final;

 protected:
  /// Cost of a gang on nodes that have room for it.
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
  /// True if `place_on_nodes` would find a place.
  bool has_room_on_nodes(std::uint32_t type, std::int32_t num_gpus) const;

  /// Number of GPUs, share of each, type.
  using RequestKey = std::tuple<GpuCount, std::int16_t, GpuTypeId>;

  SharedNodes nodes_;
  /// Requests for one node refused since GPUs last became free: policies that try every waiting job repeat
  /// them.
  std::set<RequestKey> refused_;
  std::vector<std::int32_t> numbers_;  ///< numbers of GPUs, while parts are taken
};

}  // namespace vtrain
