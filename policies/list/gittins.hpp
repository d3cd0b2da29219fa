/// Discretised Gittins index.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `gittins`: the queues of `las` by GPU time, each sorted before the walk by falling Gittins index, then by
/// submission (Tiresias-G, NSDI'19, the `dlas-gpu-gittins` of its simulator). Needs a sample of the jobs'
/// service, see `GittinsIndex::read`.
Result<std::unique_ptr<Policy>> make_gittins(const PolicyArguments& arguments);

}  // namespace vtrain
