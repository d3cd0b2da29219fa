/// Victims without fair sharing: preemption in the queue, reclaim of lent quota, preemption while borrowing.
///
/// Rules: Kueue, commit ff69552. Quota of the tree is used to try things out and left as it was.
#pragma once

#include <vector>

#include "policies/tenants/kueue/candidates.hpp"

namespace vtrain::kueue {

/// Fewest victims, as Kueue chooses them, that make room for a preemptor; empty if there is no such choice.
std::vector<Victim> find_classic_victims(Cache& cache, const Preemptor& preemptor);

}  // namespace vtrain::kueue
