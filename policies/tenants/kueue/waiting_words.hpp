/// Kueue's words for why a workload waits.
#pragma once

#include "policies/tenants/kueue/scheduler.hpp"
#include "sched/simulation/policy_words.hpp"

namespace vtrain::kueue {

/// Reason for which a workload waits after the cycles of an instant. Without quota it is that of its
/// condition QuotaReserved=False, with the quota that it lacks; a queue that does not exist or is stopped;
/// the head that blocks a StrictFIFO queue. One that holds quota waits for nodes.
PolicyWords words_on(const Scheduler& scheduler, WorkloadId id);

}  // namespace vtrain::kueue
