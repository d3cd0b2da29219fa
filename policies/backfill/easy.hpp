/// EASY backfilling with sets of hosts.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `easy`, the behaviour of `easy_bf` of batsched 1.4. The first job of the queue, in the order of arrival
/// (`order=fcfs`) or of time limits (`order=asc-walltime`), holds a reservation of particular hosts at the
/// earliest instant at which running jobs will have left enough of them; every job takes the lowest hosts it
/// can have. Later jobs start now if that leaves the reserved hosts free from the reservation on. The
/// reservation is renewed when jobs end; between ends only arrivals are tried.
///
/// Hosts are virtual: 0 .. GPUs - 1, whatever the placement in force. Where gangs may not fit although enough
/// GPUs are free (`yarn` placement), a first job that found no room keeps its place and its hosts and is
/// tried again whenever a job ends.
Result<std::unique_ptr<Policy>> make_easy(const PolicyArguments& arguments);

}  // namespace vtrain
