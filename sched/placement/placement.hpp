/// Placement of gangs on the nodes of a cluster.
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

/// Rules for placing a gang. Each is a row of `placements()` and a source file of its name; the two that
/// consolidate share one file.
enum class PlacementKind : std::uint8_t {
  Count,        ///< any free GPUs, wherever they are
  Yarn,         ///< the first node with room; whole nodes for larger gangs
  BestFit,      ///< the node with the least room that suffices; whole nodes for larger gangs
  Consolidate,  ///< the tightest of island, node, rack and cluster with room, in as few parts as possible
  ConsolidateStrict,  ///< `Consolidate`, but a gang waits for the fewest nodes that can hold it
  Buddy,              ///< an aligned block of a power of two, the smallest with room
  Fgd,                ///< the node whose free GPUs it fragments least; whole nodes for larger gangs
};

/// A row of the table of placements.
struct PlacementInfo {
  PlacementKind kind;           ///< placement of this row
  std::string_view name;        ///< name on the command line
  std::string_view summary;     ///< one line
  bool shares_gpus = false;     ///< true if several gangs may use one GPU, each its part
  bool knows_nodes = true;      ///< true if gangs have nodes; without, no node can go out of service
  bool takes_any_gpus = false;  ///< true if a gang finds room wherever enough GPUs of a type are free
};

/// All placements, in the order of the enumeration.
std::span<const PlacementInfo> placements();
/// Row of a placement.
const PlacementInfo& info_of(PlacementKind kind);
/// Reads a name. The error lists the valid names, those that only the caller knows (`also_known`) and the
/// nearest.
Result<PlacementKind> parse_placement(std::string_view name,
                                      std::span<const std::string_view> also_known = {});

/// Resources that a gang requests.
struct GangRequest {
  GpuCount num_gpus{1};  ///< GPUs of the gang
  /// Type that its GPUs must have, a position in `Workload::gpu_types`; none: any. Ignored on a cluster that
  /// names no types.
  GpuTypeId gpu_type{};
  /// Part of each GPU that it uses, in thousandths, from 1 to `kWholeGpu`. Placements that do not share GPUs
  /// treat it as `kWholeGpu`.
  std::int16_t gpu_share = kWholeGpu;
  /// Single allowed type among those of `gpu_type`, by its number in `GpuTypes`; none: any of them.
  std::optional<std::uint32_t> only_type{};
};

/// The request of a job for `num_gpus` GPUs, of one type if it is named.
inline GangRequest request_of(const Job& job, GpuCount num_gpus,
                              std::optional<std::uint32_t> only_type = std::nullopt) {
  return {.num_gpus = num_gpus, .gpu_type = job.gpu_type, .gpu_share = job.gpu_share, .only_type = only_type};
}

/// GPUs that one gang holds on one node.
struct NodeShare {
  /// Value of `first_gpu` for whole GPUs under placements that share GPUs.
  static constexpr std::int32_t kNoNumber = -1;

  NodeId node;       ///< node with the GPUs
  GpuCount gpus{0};  ///< GPUs on this node
  /// Number of the first of these GPUs on the node, if the placement numbers them; only the placement reads
  /// it.
  std::int32_t first_gpu = 0;
};

/// Knows the free GPUs of a cluster and places gangs.
///
/// A gang is never split over GPU types, except under `count`. A gang that may use several types goes to the
/// place that its placement finds best; ties go to the type that the cluster names first.
class Placement {
 public:
  /// Takes the row of the table for `info()`.
  explicit Placement(PlacementKind kind) : info_(info_of(kind)) {}
  virtual ~Placement() = default;

  /// Row of this placement in the table.
  const PlacementInfo& info() const { return info_; }
  /// Takes the GPUs for a gang and appends their places to `shares`. False, with nothing changed, if it does
  /// not fit.
  virtual bool place(const GangRequest& request, std::vector<NodeShare>& shares) = 0;
  /// Releases a gang's GPUs: the shares that `place` appended for this request.
  virtual void release(const GangRequest& request, const std::vector<NodeShare>& shares) = 0;
  /// Undoes a `release` with these arguments: the gang has exactly these GPUs again. False, with nothing
  /// changed, if some of them have been taken since. Their nodes must be in service.
  virtual bool reacquire(const GangRequest& request, const std::vector<NodeShare>& shares) = 0;
  /// True if `place` would find a place for the gang now.
  virtual bool has_room(const GangRequest& request) const = 0;
  /// True if the gang would fit on the empty cluster with all nodes in service.
  virtual bool fits_empty(const GangRequest& request) const = 0;
  /// Lets gangs hold more GPUs than there are from now on; false if this placement cannot. Call it only on an
  /// empty cluster.
  virtual bool overcommit() { return false; }
  /// GPUs in service that no gang holds as a whole. A gang that needs more than these does not fit. Negative
  /// if gangs hold more GPUs than there are, see `overcommit`.
  virtual GpuCount free_gpus() const = 0;
  /// GPUs in service that are wholly free; differs from `free_gpus` only where GPUs are shared.
  virtual GpuCount idle_gpus() const { return free_gpus(); }
  /// True if `release` needs the shares that `place` appended. Otherwise `place`, `release`, `reacquire`,
  /// `has_room` and `fits_empty` accept an empty list and a request with only `num_gpus` set.
  virtual bool needs_shares() const { return true; }
  /// True if every gang is on as few nodes as its GPUs fill of the largest nodes of its type.
  virtual bool packs_gangs() const = 0;
  /// Levels of the network that a gang's traffic crosses: 0 within a node, 1 between nodes of a rack, 2
  /// beyond.
  virtual int levels_crossed(std::span<const NodeShare> shares) const = 0;
  /// Most levels that a gang may cross.
  virtual int most_levels(const GangRequest& request) const = 0;
  /// Rate of fragmentation of the free GPUs (`sched/placement/fragmentation.hpp`), in [0, 1]; absent if the
  /// placement does not keep it.
  virtual std::optional<double> fragmentation() const { return std::nullopt; }
  /// Takes a node out of service or brings it back; all nodes begin in service. A node out of service offers
  /// no GPUs. Its free ones stop counting as free at once. GPUs that gangs release there do not count until
  /// the node is back. Setting the present state again changes nothing. Only for placements that know nodes.
  virtual void set_in_service(NodeId node, bool in_service) = 0;

 private:
  const PlacementInfo& info_;
};

/// Makes a placement with an empty cluster for the jobs of a workload. The jobs give the types that may be
/// requested and, under `fgd` and `best-fit`, the sizes that measure fragmentation. `counts_types`: `count`
/// knows types even if no job requests one.
std::unique_ptr<Placement> make_placement(PlacementKind kind, const ClusterSpec& cluster,
                                          const Workload& workload, bool counts_types = false);

}  // namespace vtrain
