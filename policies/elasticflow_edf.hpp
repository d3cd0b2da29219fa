/// Elastic earliest deadline first as ElasticFlow's simulator runs it.
#pragma once

#include "policies/gpu_timeline.hpp"
#include "policies/slotted_policy.hpp"

namespace vtrain {

/// `edf:preset=elasticflow`: in the order of deadlines every job is planned on as many GPUs as it may hold,
/// or on the largest level that is free, until its work is done; the plan is made anew at every decision. No
/// job is turned away (the `edf` policy of pkusys/ElasticFlow, Apache-2.0).
class ElasticFlowEdf final : public SlottedPolicy {
 public:
  using SlottedPolicy::SlottedPolicy;

 private:
  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  /// Plans one job on what is free, sets what it holds from now on and when it ends, and books it.
  void plan(SlottedJob& job, WholeSeconds now);

  GpuTimeline free_;
};

}  // namespace vtrain
