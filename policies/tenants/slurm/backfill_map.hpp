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
  /// Removes the nodes that are promised at some time of [from, to). `touching`: also those that are promised
  /// from `to` on, as Slurm does for a job that would end just then.
  void keep_free(NodeSet& nodes, SimTime from, SimTime to, bool touching = false) const;
  /// End of the step that holds a time; none if it is the last one.
  std::optional<SimTime> next_change(SimTime time) const;
  /// Promises nodes from one time to another.
  void promise(const NodeSet& nodes, SimTime from, SimTime to);

 private:
  struct Step {
    SimTime begin{};
    NodeSet free{};
  };
  std::size_t step_at(SimTime time) const;
  std::size_t split(SimTime time);

  std::vector<Step> steps_;  ///< by their begin; the last one has no end
};

}  // namespace vtrain::slurm
