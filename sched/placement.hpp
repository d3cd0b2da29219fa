/// Where on the cluster a gang goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "sched/cluster.hpp"

namespace vtrain {

struct Workload;

/// The ways of placing a gang, by their names on the command line.
enum class PlacementKind : std::uint8_t {
  Count,  ///< `count`: the cluster is one number of free GPUs; a gang fits if enough are free anywhere
  /// `yarn`: a gang of at most the largest node's size goes to the first node with room. A larger one takes
  /// wholly free nodes in index order, each no larger than what it still needs, and for the rest the first
  /// other node with room (Tiresias, NSDI'19, the simulator's "yarn" scheme, which knows equal nodes only).
  Yarn,
};

/// Reads a name; the error lists the names there are.
Result<PlacementKind> parse_placement(std::string_view name);

/// What a gang asks of the cluster.
struct GangRequest {
  GpuCount num_gpus{1};
  /// The type its GPUs must have, a position in `Workload::gpu_types`; none: any. Without meaning on a
  /// cluster that names no types.
  GpuTypeId gpu_type{};
  /// The part of each GPU that it uses, in thousandths, from 1 to 1000. Placements that do not share GPUs
  /// take it as 1000.
  std::int16_t gpu_share = 1000;
};

/// GPUs that one gang holds on one node.
struct NodeShare {
  NodeId node;
  GpuCount gpus{0};
};

/// Keeps the books of free GPUs and places gangs.
class Placement {
 public:
  virtual ~Placement() = default;
  /// Takes the GPUs for a gang and appends where they are to `shares`; false, with nothing changed, when it
  /// does not fit.
  virtual bool place(const GangRequest& request, std::vector<NodeShare>& shares) = 0;
  /// Gives a gang's GPUs back: those that `place` appended for the same request.
  virtual void release(const GangRequest& request, const std::vector<NodeShare>& shares) = 0;
  /// Whether the gang would fit on the empty cluster with all nodes in service.
  virtual bool fits_empty(const GangRequest& request) const = 0;
  /// GPUs in service that no gang holds.
  virtual GpuCount free_gpus() const = 0;
  /// Whether gangs have nodes: not under `count`, where a node cannot go out of service and `place` appends
  /// nothing.
  virtual bool knows_nodes() const { return true; }
  /// Takes a node out of service or brings it back; all nodes begin in service. A node out of service offers
  /// no GPUs: its free ones stop counting as free at once, and those of gangs that still hold some do not
  /// count when they are given back, until the node is back. Telling the state it is in changes nothing.
  /// Only where `knows_nodes`.
  virtual void set_in_service(NodeId node, bool in_service) = 0;
};

/// The books of an empty cluster for the jobs of a workload.
std::unique_ptr<Placement> make_placement(PlacementKind kind, const ClusterSpec& cluster,
                                          const Workload& workload);

}  // namespace vtrain
