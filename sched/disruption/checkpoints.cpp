#include "sched/disruption/checkpoints.hpp"

#include <algorithm>
#include <cmath>

#include "core/text/quantities.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

double young_interval_s(double checkpoint_s, double mtbf_s) {
  return std::sqrt(2 * checkpoint_s * mtbf_s);
}

double daly_interval_s(double checkpoint_s, double mtbf_s) {
  if (checkpoint_s >= 2 * mtbf_s) return mtbf_s;
  const double ratio = checkpoint_s / (2 * mtbf_s);
  return young_interval_s(checkpoint_s, mtbf_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - checkpoint_s;
}

Result<CheckpointRule> CheckpointRule::parse(std::string_view text) {
  if (text == "none") return CheckpointRule{};
  if (text == "young") return CheckpointRule{Kind::Young, {}};
  if (text == "daly") return CheckpointRule{Kind::Daly, {}};
  const auto span = parse_time_span(text);
  if (!span || *span < std::chrono::seconds(1))
    return fail(
        {.message = expected_found("none, young, daly or an interval of at least 1s such as 30m", text)});
  return CheckpointRule{Kind::Interval, *span};
}

std::optional<SimDuration> CheckpointRule::interval_of(double checkpoint_s, double mtbf_s) const {
  if (kind == Kind::None) return std::nullopt;
  if (kind == Kind::Interval) return interval;
  const double seconds =
      kind == Kind::Young ? young_interval_s(checkpoint_s, mtbf_s) : daly_interval_s(checkpoint_s, mtbf_s);
  if (!(seconds < to_seconds(kHundredYears))) return std::nullopt;
  return std::max(to_sim_duration(Seconds(seconds)), SimDuration(1));
}

Result<CheckpointTimes> CheckpointTimes::from_models(const Workload& workload,
                                                     const ParametersOfModel& parameters_of,
                                                     BytesPerSecond bandwidth,
                                                     std::optional<SimDuration> periodic,
                                                     UnknownModel unknown) {
  CheckpointTimes times;
  times.periodic_ = periodic;
  times.by_model_.resize(workload.models.size() + 1);  // not empty, so that it counts
  std::vector<bool> known(workload.models.size(), false);
  for (const Job& job : workload.jobs) {
    if (!job.model && unknown == UnknownModel::NoTime) continue;
    if (!job.model)
      return fail(job_error(workload, job, "model",
                            "expected a model, whose size gives that of a checkpoint, found none (--assign "
                            "gives jobs models)"));
    if (known[job.model.value]) continue;
    const auto parameters = parameters_of(workload.models[job.model.value]);
    if (!parameters && unknown == UnknownModel::NoTime) {
      known[job.model.value] = true;
      continue;
    }
    if (!parameters) return fail(job_error(workload, job, "model", parameters.error().message));
    const Bytes bytes(kCheckpointBytesPerParameter * static_cast<double>(*parameters));
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

}  // namespace vtrain
