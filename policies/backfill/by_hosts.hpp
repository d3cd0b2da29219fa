/// Backfilling that plans with sets of virtual hosts, one per GPU, as batsched 1.4 does.
#pragma once

#include <memory>

#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Makes `easy:planning=hosts`, with the queue in the order of arrival or of time limits.
std::unique_ptr<Policy> make_easy_by_hosts(bool by_arrival);
/// Makes `conservative:planning=hosts`. It ignores types of GPUs.
std::unique_ptr<Policy> make_conservative_by_hosts();

}  // namespace vtrain
