/// Earliest deadline first.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `edf`: a preemptive list policy whose key is the deadline; jobs without one come last. Ties in order of
/// arrival. A job keeps its place when it has missed its deadline.
///
/// A job with a curve gets, in its turn, the number of GPUs on which it is fastest among those that are left,
/// and is resized whenever that changes; `resize=no` gives it what it asks for, as every other job.
Result<std::unique_ptr<Policy>> make_edf(const PolicyArguments& arguments);

}  // namespace vtrain
