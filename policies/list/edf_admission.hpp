/// Earliest deadline first with admission.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `edf-admission`: `edf`, but a job with a deadline is turned away when it comes if it could not meet it, or
/// if a job that would meet its deadline no longer could. To find out, the schedule of the admitted jobs is
/// followed to its end as if nobody else came. Jobs without a deadline are always admitted; as they come
/// after all others, they delay nobody.
///
/// Where run times are known exactly, nothing fails, interruptions cost nothing and any free GPUs will do
/// (`count` placement), every admitted job meets its deadline. A test costs O(n) walks of the list of the n
/// admitted jobs with a deadline.
Result<std::unique_ptr<Policy>> make_edf_admission(const PolicyArguments& arguments);

}  // namespace vtrain
