/// Policies written a second time, as plainly as can be, on values.
#pragma once

#include <memory>
#include <string_view>

#include "sched/simulation/decision.hpp"

namespace vtrain::testing {

/// `fifo`, `srtf` or `easy` as a `DecisionPolicy`.
std::unique_ptr<DecisionPolicy> make_decision_policy(std::string_view name);

/// A policy of the in-process interface that sees nothing but values: it is shown a pass that is made of
/// `PassEvents`, and what it commands becomes a `Decision`. For replays without disruptions, on GPUs of one
/// type, under placements that refuse no gang.
std::unique_ptr<DecisionPolicy> on_values(std::unique_ptr<Policy> policy);

}  // namespace vtrain::testing
