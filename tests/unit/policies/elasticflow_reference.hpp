/// ElasticFlow in the simplest form: every plan is made again, step by step, after every possible change. The
/// policy itself must give the same schedules.
#pragma once

#include <memory>

#include "policies/elasticflow/elasticflow.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain::testing {

/// The reference policy, without decision overhead (`DecisionOverhead::None`).
std::unique_ptr<Policy> reference_elasticflow(const ElasticFlowOptions& options);

}  // namespace vtrain::testing
