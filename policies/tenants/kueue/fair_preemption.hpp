/// Victims under fair sharing: from queues with the greatest dominant resource share.
///
/// Rules: Kueue, commit ff69552. Quota of the tree is used to try things out and left as it was.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "policies/tenants/kueue/candidates.hpp"

namespace vtrain::kueue {

/// Chooses the queues to take victims from, one after the other, by the usage at that time.
class VictimQueues {
 public:
  /// Candidates by queue, in their order. The cache must live on.
  VictimQueues(const Cache& cache, QueueId preemptor, std::map<QueueId, std::vector<WorkloadId>> candidates);

  /// The next queue; none if no queue is left.
  std::optional<QueueId> next();
  /// First candidate of a queue.
  WorkloadId front(QueueId queue) const;
  bool has_candidates(QueueId queue) const;
  /// Takes the first candidate of a queue out.
  WorkloadId pop(QueueId queue);
  /// Leaves a queue out from now on.
  void drop(QueueId queue);

 private:
  /// A queue's candidates, the next one last.
  using Stack = std::vector<WorkloadId>;

  bool is_above_preemptor(NodeId node) const;
  std::optional<QueueId> next_below(NodeId cohort);

  const Cache& cache_;
  QueueId preemptor_;
  std::map<QueueId, Stack> candidates_;
  std::vector<bool> pruned_;  ///< by node
};

/// Fewest victims, as Kueue chooses them under fair sharing, that make room for a preemptor; empty if there
/// is no such choice.
std::vector<Victim> find_fair_victims(Cache& cache, const Preemptor& preemptor);

}  // namespace vtrain::kueue
