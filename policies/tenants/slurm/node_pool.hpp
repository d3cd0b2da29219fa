/// CPUs and GPUs of nodes, who holds them, and the choice of nodes for a job (select/cons_tres without
/// topology, Slurm 22.05).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/node_set.hpp"

namespace vtrain::slurm {

/// Nodes that a job asks for, all alike.
struct NodeRequest {
  std::int32_t nodes = 1;          ///< number of nodes, at least 1
  std::int32_t cpus_per_node = 1;  ///< CPUs of each
  std::int32_t gpus_per_node = 0;  ///< GPUs of each
};

/// What is left of a node.
struct FreeNode {
  std::int32_t cpus = 0;
  std::int32_t gpus = 0;

  /// True if the node has room for a job's part.
  bool fits(const NodeRequest& request) const {
    return cpus >= request.cpus_per_node && gpus >= request.gpus_per_node;
  }
  /// Takes a job's part, or gives it back (`sign` −1).
  void take(const NodeRequest& request, std::int32_t sign = 1) {
    cpus -= sign * request.cpus_per_node;
    gpus -= sign * request.gpus_per_node;
  }
};

/// A job that holds nodes until a time at the latest.
struct Holder {
  std::uint32_t job = 0;               ///< number of the job
  SimTime end{};                       ///< when it leaves the nodes at the latest
  NodeRequest request{};               ///< what it holds of each
  std::vector<std::uint32_t> nodes{};  ///< ascending
};

/// Groups of ends for `NodePool::earliest`, as Slurm makes them to save tests: all that come within 30 s
/// after the half-minute that follows the first end, then within windows of twice that length, and so on.
struct EndWindows {
  SimTime now{};         ///< now, in whole seconds
  SimDuration linear{};  ///< `bf_window_linear`: a window grows by it; 0: it doubles
  SimDuration clock{};   ///< what Slurm's clock is ahead of a whole half-minute at second 0
};

/// The nodes of the cluster with the jobs on them.
class NodePool {
 public:
  /// Begins with free nodes.
  explicit NodePool(const std::vector<NodeConf>& nodes);

  /// Number of nodes.
  std::size_t size() const { return free_.size(); }
  /// What is left of each node now.
  const std::vector<FreeNode>& free() const { return free_; }
  /// Jobs that hold nodes, by their latest ends, then by their numbers.
  const std::vector<Holder>& holders() const { return holders_; }
  /// Nodes of a job; null if it holds none. O(holders).
  const Holder* find(std::uint32_t job) const;
  /// Gives nodes to a job.
  void take(Holder holder);
  /// Changes the time at which a job leaves its nodes.
  void set_end(std::uint32_t job, SimTime end);
  /// Takes a job's nodes back.
  void release(std::uint32_t job);

  /// Nodes for a job among `allowed`, ascending; none if it has no room now. O(nodes / 64 + runs of nodes).
  std::optional<std::vector<std::uint32_t>> choose(const NodeRequest& request, const NodeSet& allowed) const;
  /// The same where nodes have `free` left.
  static std::optional<std::vector<std::uint32_t>> choose(const NodeRequest& request, const NodeSet& allowed,
                                                          const std::vector<FreeNode>& free);

  /// A time before which no job of a kind starts, on any of `allowed` nodes: `earliest` without groups. None
  /// if it never fits.
  std::optional<SimTime> not_before(const NodeRequest& request, const NodeSet& allowed, SimTime now) const;

  /// A start in the future.
  struct Start {
    SimTime time{};
    std::optional<std::uint32_t> after{};  ///< position of the holder with whose end it comes; none: now
  };
  /// The earliest start of a job among `allowed` nodes, if all jobs leave at their latest ends. Jobs leave in
  /// groups, and the start is the last end of a group. None if it never fits. The first call after a change
  /// of the holders is O(nodes × log nodes + holders), later ones O(nodes / 64 + runs of nodes) mostly.
  std::optional<Start> earliest(const NodeRequest& request, const NodeSet& allowed,
                                const EndWindows& windows) const;
  /// The nodes of such a start, while the holders are those of its call.
  std::vector<std::uint32_t> nodes_of(const Start& start, const NodeRequest& request,
                                      const NodeSet& allowed) const;

 private:
  /// Nodes that fit all jobs with equal requests to each node.
  struct Fit {
    std::int32_t cpus = 0;
    std::int32_t gpus = 0;
    NodeSet now{};  ///< nodes with room
    /// The rest holds while `version` is that of the pool.
    std::uint64_t version = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ready{};  ///< holder whose end makes room, node
    std::map<std::uint32_t, NodeSet> after{};  ///< nodes with room after the end of a holder
  };
  void insert(Holder holder);
  /// Changes what is left of a holder's nodes.
  void change(const Holder& holder, std::int32_t sign);
  Fit& fit_of(const NodeRequest& request) const;
  void find_ready(Fit& fit) const;
  /// The holder whose end makes room enough among `allowed`; none if no end does.
  std::optional<std::uint32_t> needed_holder(const NodeRequest& request, const NodeSet& allowed,
                                             const Fit& fit) const;

  std::vector<FreeNode> free_;
  std::vector<Holder> holders_;
  std::uint64_t version_ = 1;      ///< changes with the holders
  mutable std::vector<Fit> fits_;  ///< one for each request that has come, a cache
};

}  // namespace vtrain::slurm
