/// Policies written a second time, as plainly as can be, on values.
#pragma once

#include <memory>
#include <string_view>

#include "sched/simulation/decision.hpp"

namespace vtrain::testing {

/// `fifo`, `srtf` or `easy` as a `DecisionPolicy`.
std::unique_ptr<DecisionPolicy> make_decision_policy(std::string_view name);

}  // namespace vtrain::testing
