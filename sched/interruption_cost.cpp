#include "sched/interruption_cost.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "sched/elasticflow_overhead.hpp"
#include "workloads/model_zoo.hpp"

namespace vtrain {
namespace {

constexpr double kLongestCost = 1e6;  // seconds, 11 days

Error unknown_model(const Job& job, std::string message) {
  return {.field = "model", .message = fmt::format("job '{}': {}", job.name, message)};
}

}  // namespace

Result<CheckpointTimes> CheckpointTimes::from_models(const Workload& workload, BytesPerSecond bandwidth) {
  CheckpointTimes times;
  times.by_model_.resize(workload.models.size() + 1);  // not empty, so that it counts
  std::vector<bool> known(workload.models.size(), false);
  for (const Job& job : workload.jobs) {
    if (!job.model)
      return fail(
          unknown_model(job,
                        "expected a model, whose size gives that of a checkpoint, found none (--assign "
                        "gives jobs models)"));
    if (known[job.model.value]) continue;
    const auto model = find_model(workload.models[job.model.value]);
    if (!model) return fail(unknown_model(job, model.error().message));
    const Bytes bytes(kCheckpointBytesPerParameter * static_cast<double>(model->model().num_parameters()));
    times.by_model_[job.model.value] = to_sim_duration(bytes / bandwidth);
    known[job.model.value] = true;
  }
  return times;
}

Result<InterruptionCost> InterruptionCost::parse(std::string_view text) {
  InterruptionCost cost;
  if (text == "none") return cost;
  if (text == "elasticflow") {
    cost.kind_ = Kind::ElasticFlow;
    return cost;
  }
  if (text == "checkpoint") {
    cost.kind_ = Kind::Checkpoint;
    return cost;
  }
  std::string_view number = text;
  if (number.ends_with('s')) number.remove_suffix(1);
  const auto seconds = parse_number(number, 0, kLongestCost);
  if (!seconds)
    return fail({.message = expected_found("none, elasticflow, checkpoint or seconds such as 30s", text)});
  cost.kind_ = Kind::Fixed;
  cost.fixed_ = to_sim_duration(Seconds(*seconds));
  return cost;
}

SimDuration InterruptionCost::of_restart(const Job& job, GpuCount num_gpus) const {
  switch (kind_) {
    case Kind::None:
    case Kind::Fixed:
      return fixed_;
    case Kind::ElasticFlow:
      return to_sim_duration(Seconds(elasticflow_start_overhead(num_gpus.value, cluster_gpus_.value, false)));
    case Kind::Checkpoint:
      return 2 * checkpoints_.of(job);
  }
  return {};
}

SimDuration InterruptionCost::of_recovery(const Job& job, GpuCount num_gpus) const {
  return kind_ == Kind::Checkpoint ? checkpoints_.of(job) : of_restart(job, num_gpus);
}

}  // namespace vtrain
