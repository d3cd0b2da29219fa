#include "sched/disruption/interruption_cost.hpp"

#include "core/text/quantities.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

Result<InterruptionRule> InterruptionRule::parse(std::string_view text) {
  if (text == "none") return InterruptionRule{};
  if (text == "elasticflow") return InterruptionRule{.kind = Kind::ElasticFlow};
  if (text == "checkpoint") return InterruptionRule{.kind = Kind::Checkpoint};
  const auto span = parse_time_span(text);
  if (!span)
    return fail(
        {.message = expected_found("none, elasticflow, checkpoint or a duration such as 30s or 5m", text)});
  return InterruptionRule{.kind = Kind::Fixed, .fixed = *span};
}

SimDuration InterruptionCost::restart_time(const Job& job, GpuCount num_gpus,
                                           const CheckpointTimes& times) const {
  switch (rule_.kind) {
    case InterruptionRule::Kind::None:
    case InterruptionRule::Kind::Fixed:
      return rule_.fixed;
    case InterruptionRule::Kind::ElasticFlow:
      return to_sim_duration(Seconds(elasticflow_start_overhead(num_gpus.value, cluster_gpus_.value, false)));
    case InterruptionRule::Kind::Checkpoint:
      return 2 * times.state_transfer_time(job);
  }
  return {};
}

SimDuration InterruptionCost::recovery_time(const Job& job, GpuCount num_gpus,
                                            const CheckpointTimes& times) const {
  return rule_.kind == InterruptionRule::Kind::Checkpoint ? times.state_transfer_time(job)
                                                          : restart_time(job, num_gpus, times);
}

}  // namespace vtrain
