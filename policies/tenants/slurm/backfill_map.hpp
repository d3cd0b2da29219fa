/// Nodes that backfill keeps for waiting jobs, over time (the node space map of sched/backfill, Slurm 22.05).
#pragma once

#include <optional>
#include <vector>

#include "core/base/units.hpp"
#include "policies/tenants/slurm/node_set.hpp"

namespace vtrain::slurm {

/// A step function of time: the nodes that no waiting job has been promised. A promise takes whole nodes.
class BackfillMap {
 public:
  /// Begins at `now`, with all of `num_nodes` nodes.
  BackfillMap(SimTime now, std::size_t num_nodes);
  /// Removes the nodes that are promised at some time of [from, to], or fewer where less than `wanted` are
  /// left. Returns the next time after `from` at which nodes of the set are free that are not free until
  /// then; none if there is none up to `to`. Where that is before `not_before`, the nodes that are left are
  /// not told.
  std::optional<SimTime> keep_free(NodeSet& nodes, SimTime from, SimTime to, std::size_t wanted,
                                   SimTime not_before) const;
  /// True if all nodes are free in [from, to).
  bool are_free(const NodeSet& nodes, SimTime from, SimTime to) const;
  /// Promises nodes from one time to another.
  void promise(const NodeSet& nodes, SimTime from, SimTime to);
  /// Number of steps that were ever added, also of those that were dropped since.
  std::size_t num_records() const { return num_records_; }

 private:
  struct Step {
    SimTime begin{};
    NodeSet free{};
  };
  std::size_t step_at(SimTime time) const;
  std::size_t split(SimTime time);

  std::size_t num_records_ = 1;
  std::vector<Step> steps_;  ///< by their begin; the last one has no end
};

}  // namespace vtrain::slurm
