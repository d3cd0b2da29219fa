/// Elastic earliest deadline first as ElasticFlow's simulator runs it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/elasticflow/gpu_timeline.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {

/// `edf:preset=elasticflow`: in the order of deadlines every job is planned on as many GPUs as it may hold,
/// or on the largest level that is free, until its work is done; the plan is made anew at every decision. No
/// job is turned away (the `edf` policy of pkusys/ElasticFlow, Apache-2.0). Only the next event decides when
/// that is, so those who would begin after it are not planned.
class ElasticFlowEdf final : public SlottedPolicy {
 public:
  using SlottedPolicy::SlottedPolicy;

 private:
  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  /// Puts the live jobs and those that arrived in the order of deadlines; equals as they came.
  void sort_by_deadline(std::span<const std::uint32_t> arrived);
  /// Finds how many GPUs must be free for anybody at a place of the order or behind it to hold some now: 0
  /// everywhere if all jobs are to be planned, as one that has run is so nearly done that it could end the
  /// instant it begins, or before if a failure stopped it.
  void find_fewest_gpus();
  /// Plans one job on what is free, sets what it holds from now on and when it ends, and books it.
  void plan(SlottedJob& job, WholeSeconds now);

  GpuTimeline free_;
  std::vector<std::uint32_t> order_;       ///< of deadlines
  std::vector<std::int64_t> fewest_gpus_;  ///< by place in `order_`
};

}  // namespace vtrain
