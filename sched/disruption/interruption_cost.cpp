#include "sched/disruption/interruption_cost.hpp"

#include "core/text/quantities.hpp"
#include "sched/disruption/elasticflow_overhead.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {

Result<CheckpointTimes> CheckpointTimes::from_models(const Workload& workload, BytesPerSecond bandwidth,
                                                     std::optional<SimDuration> periodic) {
  CheckpointTimes times;
  times.periodic_ = periodic;
  times.by_model_.resize(workload.models.size() + 1);  // not empty, so that it counts
  std::vector<bool> known(workload.models.size(), false);
  for (const Job& job : workload.jobs) {
    if (!job.model)
      return fail(job_error(workload, job, "model",
                            "expected a model, whose size gives that of a checkpoint, found none (--assign "
                            "gives jobs models)"));
    if (known[job.model.value]) continue;
    const auto model = find_model(workload.models[job.model.value]);
    if (!model) return fail(job_error(workload, job, "model", model.error().message));
    const Bytes bytes(kCheckpointBytesPerParameter * static_cast<double>(model->model().num_parameters()));
    const Nanoseconds one_way = bytes / bandwidth;
    if (2 * one_way > Nanoseconds(kHundredYears)) {
      return fail(job_error(workload, job, "model",
                            expected_found("a model whose state is saved and loaded within 100 years",
                                           workload.models[job.model.value])));
    }
    times.by_model_[job.model.value] = to_sim_duration(one_way);
    known[job.model.value] = true;
  }
  return times;
}

Result<InterruptionRule> InterruptionRule::parse(std::string_view text) {
  if (text == "none") return InterruptionRule{};
  if (text == "elasticflow") return InterruptionRule{.kind = Kind::ElasticFlow};
  if (text == "checkpoint") return InterruptionRule{.kind = Kind::Checkpoint};
  const auto span = parse_time_span_or_seconds(text);
  if (!span)
    return fail(
        {.message = expected_found("none, elasticflow, checkpoint or a duration such as 30s or 5m", text)});
  return InterruptionRule{.kind = Kind::Fixed, .fixed = *span};
}

SimDuration InterruptionCost::of_restart(const Job& job, GpuCount num_gpus,
                                         const CheckpointTimes& times) const {
  switch (rule_.kind) {
    case InterruptionRule::Kind::None:
    case InterruptionRule::Kind::Fixed:
      return rule_.fixed;
    case InterruptionRule::Kind::ElasticFlow:
      return to_sim_duration(Seconds(elasticflow_start_overhead(num_gpus.value, cluster_gpus_.value, false)));
    case InterruptionRule::Kind::Checkpoint:
      return 2 * times.of_state(job);
  }
  return {};
}

SimDuration InterruptionCost::of_recovery(const Job& job, GpuCount num_gpus,
                                          const CheckpointTimes& times) const {
  return rule_.kind == InterruptionRule::Kind::Checkpoint ? times.of_state(job)
                                                          : of_restart(job, num_gpus, times);
}

}  // namespace vtrain
