/// Conservative backfilling.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `conservative`, the behaviour of `conservative_bf` of batsched 1.4. Every waiting job holds a reservation
/// of particular hosts, the earliest that the reservations before it leave. When a job ends, every waiting
/// job in order of arrival gives its reservation up and takes the earliest there is now, all others staying
/// where they are. A job starts at its reservation, so under `count` placement none starts later than first
/// promised.
///
/// Hosts are virtual: 0 .. GPUs - 1, whatever the placement in force. Where gangs may not fit although enough
/// GPUs are free (`yarn` placement), a job whose start found no room waits on, keeps the rest of its slot,
/// and takes a new reservation when the next job ends.
Result<std::unique_ptr<Policy>> make_conservative(const PolicyArguments& arguments);

}  // namespace vtrain
