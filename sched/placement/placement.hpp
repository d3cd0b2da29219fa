/// Where on the cluster a gang goes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/cluster.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The ways of placing a gang: each is a row of `placements()` and a source file of its name; the two that
/// consolidate share theirs.
enum class PlacementKind : std::uint8_t {
  Count,
  Yarn,
  BestFit,
  Consolidate,
  ConsolidateStrict,
  Buddy,
  Fgd,
};

/// A row of the table of placements.
struct PlacementInfo {
  PlacementKind kind;
  std::string_view name;     ///< on the command line
  std::string_view summary;  ///< one line
  bool shares_gpus = false;  ///< whether several gangs may use one GPU, each its part
  bool knows_nodes = true;   ///< whether gangs have nodes; a node without them cannot go out of service
};

/// All placements, in the order of the enumeration.
std::span<const PlacementInfo> placements();
/// The row of a placement.
const PlacementInfo& info_of(PlacementKind kind);
/// Reads a name; the error lists the names there are, with the nearest.
Result<PlacementKind> parse_placement(std::string_view name);

/// What a gang asks of the cluster.
struct GangRequest {
  GpuCount num_gpus{1};
  /// The type its GPUs must have, a position in `Workload::gpu_types`; none: any. Without meaning on a
  /// cluster that names no types.
  GpuTypeId gpu_type{};
  /// The part of each GPU that it uses, in thousandths, from 1 to `kWholeGpu`. Placements that do not
  /// share GPUs take it as `kWholeGpu`.
  std::int16_t gpu_share = kWholeGpu;
  /// The only type of those, by its number in `GpuTypes`, that its GPUs may have; none: any of them.
  std::optional<std::uint32_t> only_type{};
};

/// What a job asks of the cluster when it is to have `num_gpus` GPUs, of one type if it is named.
inline GangRequest request_of(const Job& job, GpuCount num_gpus,
                              std::optional<std::uint32_t> only_type = std::nullopt) {
  return {.num_gpus = num_gpus, .gpu_type = job.gpu_type, .gpu_share = job.gpu_share, .only_type = only_type};
}

/// GPUs that one gang holds on one node.
struct NodeShare {
  /// In place of a number under placements that share GPUs: these are whole ones.
  static constexpr std::int32_t kNoNumber = -1;

  NodeId node;
  GpuCount gpus{0};
  /// Number of the first of these GPUs on the node, where a placement tells them apart. For itself alone.
  std::int32_t first_gpu = 0;
};

/// Knows the free GPUs of a cluster and places gangs.
///
/// A gang is never split over GPU types, other than under `count`. One that asks for no type, or for one of
/// several, goes where its placement finds the best place; where that does not decide, to the type that the
/// cluster names first.
class Placement {
 public:
  explicit Placement(PlacementKind kind) : info_(info_of(kind)) {}
  virtual ~Placement() = default;

  /// Its row of the table.
  const PlacementInfo& info() const { return info_; }
  /// Takes the GPUs for a gang and appends where they are to `shares`; false, with nothing changed, when it
  /// does not fit.
  virtual bool place(const GangRequest& request, std::vector<NodeShare>& shares) = 0;
  /// Gives a gang's GPUs back: those that `place` appended for the same request.
  virtual void release(const GangRequest& request, const std::vector<NodeShare>& shares) = 0;
  /// Undoes a `release` with the same arguments: the gang has exactly these GPUs again. False, with nothing
  /// changed, if some of them have been taken since. Their nodes are in service.
  virtual bool take_again(const GangRequest& request, const std::vector<NodeShare>& shares) = 0;
  /// Whether the gang would fit on the empty cluster with all nodes in service.
  virtual bool fits_empty(const GangRequest& request) const = 0;
  /// Lets gangs have GPUs from now on though too few are free; false if this placement can't. Only an empty
  /// cluster is asked.
  virtual bool overcommit() { return false; }
  /// GPUs in service of which no gang holds all. A gang that needs more than that does not fit. Negative if
  /// gangs hold more than there are, see `overcommit`.
  virtual GpuCount free_gpus() const = 0;
  /// GPUs in service of which no gang holds anything; other than `free_gpus` only where GPUs are shared.
  virtual GpuCount idle_gpus() const { return free_gpus(); }
  /// Whether `release` needs what `place` appended. If not, all four may be given an empty list and a
  /// request of which only the number of GPUs is set.
  virtual bool needs_shares() const { return true; }
  /// Whether every gang is on as few nodes as its GPUs fill of the largest ones of its type.
  virtual bool packs_gangs() const = 0;
  /// Levels of the network that a gang's traffic must cross: 0 within a node, 1 between nodes of a rack, 2
  /// beyond.
  virtual int levels_crossed(std::span<const NodeShare> shares) const = 0;
  /// The most levels that a gang may come to cross.
  virtual int most_levels(const GangRequest& request) const = 0;
  /// The rate of fragmentation of the free GPUs (`sched/placement/fragmentation.hpp`), in [0, 1]; nothing
  /// where it is not kept.
  virtual std::optional<double> fragmentation() const { return std::nullopt; }
  /// Takes a node out of service or brings it back; all nodes begin in service. A node out of service offers
  /// no GPUs: its free ones stop counting as free at once, and those of gangs that still hold some do not
  /// count when they are given back, until the node is back. Telling the state it is in changes nothing.
  /// Only where placements know nodes.
  virtual void set_in_service(NodeId node, bool in_service) = 0;

 private:
  const PlacementInfo& info_;
};

/// Makes an empty cluster for the jobs of a workload: the types they may ask for, and under `fgd` and
/// `best-fit` the sizes by which fragmentation is judged. `counts_types`: `count` knows types though no job
/// asks for one.
std::unique_ptr<Placement> make_placement(PlacementKind kind, const ClusterSpec& cluster,
                                          const Workload& workload, bool counts_types = false);

}  // namespace vtrain
