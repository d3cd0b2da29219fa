/// Shortest remaining run time first.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `srtf`: a preemptive list policy whose key is the run time still to go, which it knows (the `shortest` of
/// the Tiresias simulator).
Result<std::unique_ptr<Policy>> make_srtf(const PolicyArguments& arguments);

}  // namespace vtrain
