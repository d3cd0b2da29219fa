/// Least attained service.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `las`: discretised least attained service (Tiresias, NSDI'19), by GPU time (Tiresias-L, the `dlas-gpu` of
/// its simulator) or by time (`dlas`). See `LasQueues`.
Result<std::unique_ptr<Policy>> make_las(const PolicyArguments& arguments);

}  // namespace vtrain
