/// Where on the cluster a gang goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "sched/cluster.hpp"

namespace vtrain {

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
  virtual bool place(GpuCount num_gpus, std::vector<NodeShare>& shares) = 0;
  /// Gives a gang's GPUs back.
  virtual void release(GpuCount num_gpus, const std::vector<NodeShare>& shares) = 0;
  /// Whether a gang of this size would fit on the empty cluster.
  virtual bool fits_empty(GpuCount num_gpus) const = 0;
};

std::unique_ptr<Placement> make_placement(PlacementKind kind, const ClusterSpec& cluster);

}  // namespace vtrain
