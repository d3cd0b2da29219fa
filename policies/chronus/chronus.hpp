/// Chronus: leases for jobs with deadlines.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `chronus` (Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs",
/// SoCC'21). Time is cut into leases. A job with a deadline is accepted if it and all accepted jobs can be
/// given as many leases before their deadlines, rounded down to whole leases, as their work is estimated to
/// take; which job holds the lease that begins is settled at its start. Jobs without a deadline, and those
/// that could not be accepted, take the GPUs that nobody leases, least remaining GPU time first, then jobs
/// that miss their deadline anyway, then accepted jobs whose leases come later. Nobody is preempted before
/// the lease ends. Gangs have the size that was asked for, and every GPU counts as equal.
Result<std::unique_ptr<Policy>> make_chronus(const PolicyArguments& arguments);

}  // namespace vtrain
