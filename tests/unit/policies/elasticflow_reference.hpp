/// ElasticFlow in the plainest form: every plan is made anew, step by step, whenever anything may have
/// changed. The policy itself must give the same schedules.
#pragma once

#include <memory>

#include "policies/elasticflow/elasticflow.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain::testing {

/// Under `DecisionOverhead::None`.
std::unique_ptr<Policy> reference_elasticflow(const ElasticFlowOptions& options);

}  // namespace vtrain::testing
