/// Least remaining service first.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `srsf`: a preemptive list policy whose key is run time still to go x GPUs, which it knows (the
/// `shortest-gpu` of the Tiresias simulator).
Result<std::unique_ptr<Policy>> make_srsf(const PolicyArguments& arguments);

}  // namespace vtrain
