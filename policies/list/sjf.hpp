/// Fewest GPUs first.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `sjf`: a preemptive list policy whose key is the number of GPUs, as the schedule of that name in the
/// Tiresias simulator.
Result<std::unique_ptr<Policy>> make_sjf(const PolicyArguments& arguments);

}  // namespace vtrain
