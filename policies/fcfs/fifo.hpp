/// First come, first served.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `fifo`: jobs start in order of arrival; nothing overtakes the one at the head. The `fcfs` of Batsim and
/// the `fifo` of Tiresias. O(1) a pass and a start.
Result<std::unique_ptr<Policy>> make_fifo(const PolicyArguments& arguments);

}  // namespace vtrain
