/// Simple second implementations of policies, as decisions on values.
#pragma once

#include <memory>
#include <string_view>

#include "sched/simulation/decision.hpp"

namespace vtrain::testing {

/// `fifo`, `srtf` or `easy` as a `DecisionPolicy`.
std::unique_ptr<DecisionPolicy> make_decision_policy(std::string_view name);

/// Adapter that runs a policy of the in-process interface on values. The policy sees a pass made of
/// `PassEvents`, and its commands become a `Decision`. Only for replays without disruptions, on GPUs of one
/// type, under placements that refuse no gang.
std::unique_ptr<DecisionPolicy> on_values(std::unique_ptr<Policy> policy);

}  // namespace vtrain::testing
