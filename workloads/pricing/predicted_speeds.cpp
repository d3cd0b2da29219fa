#include "workloads/pricing/predicted_speeds.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "workloads/pricing/plan_cache.hpp"
#include "workloads/pricing/training_jobs.hpp"

namespace vtrain {

PredictedSpeeds::PredictedSpeeds(const Workload& workload, CurvesByType curves)
    : curves_(std::move(curves)), kind_of_(workload.jobs.size(), kNoKind) {
  const TrainingJobs training(workload);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    if (training.include(workload.jobs[i])) kind_of_[i] = kind_of(workload, workload.jobs[i]);
  }
}

void PredictedSpeeds::know(JobId number, const Workload& workload, const Job& job) {
  if (number.value >= kind_of_.size()) kind_of_.resize(number.value + 1, kNoKind);
  kind_of_[number.value] = TrainingJobs(workload).include(job) ? kind_of(workload, job) : kNoKind;
}

std::uint32_t PredictedSpeeds::kind_of(const Workload& workload, const Job& job) {
  const bool is_measured =
      job.curve && workload.curves[job.curve.value].source() == SpeedByGpus::Source::Trace;
  if (is_measured) return kNoKind;
  ++num_jobs_;
  const std::string& model = workload.models[job.model.value];
  const std::string type = job.gpu_type ? workload.gpu_types[job.gpu_type.value] : std::string();
  const auto [known, is_new] =
      known_kinds_.try_emplace({model, job.global_batch, type}, static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) {
    const auto types = curves_.allowed(job.gpu_type);
    kinds_.push_back({model, job.global_batch, {types.begin(), types.end()}});
  }
  return known->second;
}

std::optional<Nanoseconds> PredictedSpeeds::iteration_time(const Kind& kind, GpuCount num_gpus,
                                                           const GangSite& site) {
  PlanCache& curves = *curves_.types()[site.gpu_type].curves;
  const auto on = [&](GpuCount used) {
    return site.ranks_together == 0
               ? curves.iteration_time(kind.model, kind.global_batch, used)
               : curves.spread_iteration_time(kind.model, kind.global_batch, used, site.ranks_together);
  };
  if (const auto time = on(num_gpus)) return *time;
  std::vector<GpuCount> counts = curve_gpu_counts(num_gpus, curves.profile().gpus_per_node);
  std::reverse(counts.begin(), counts.end());
  for (const GpuCount fewer : counts) {
    if (fewer == num_gpus) continue;
    if (const auto time = on(fewer)) return *time;
  }
  return std::nullopt;
}

GangSpeed PredictedSpeeds::look_up(std::uint32_t kind_number, GpuCount num_gpus, const GangSite& site) {
  const auto [known, is_new] = speeds_.try_emplace({kind_number, num_gpus, site});
  GangSpeed& speed = known->second;
  if (!is_new) return speed;
  const Kind& kind = kinds_[kind_number];
  const auto priced = iteration_time(kind, num_gpus, {.gpu_type = kind.types.front()});
  const auto packed = iteration_time(kind, num_gpus, {.gpu_type = site.gpu_type});
  if (!priced || !packed) return speed;
  speed.here = speed.packed = *priced / *packed;
  if (site.ranks_together == 0) return speed;
  if (const auto here = iteration_time(kind, num_gpus, site)) speed.here = *priced / *here;
  return speed;
}

GangSpeed PredictedSpeeds::at(JobId job, GpuCount num_gpus, const GangSite& site) {
  const std::uint32_t kind = kind_of_[job.value];
  if (site == GangSite{.gpu_type = kinds_[kind].types.front()}) return {};
  const std::lock_guard lock(mutex_);
  return look_up(kind, num_gpus, site);
}

double PredictedSpeeds::slowest(JobId job, GpuCount num_gpus, bool may_spread) {
  const std::uint32_t kind = kind_of_[job.value];
  const std::int32_t ranks_together = may_spread && num_gpus > GpuCount(1) ? 1 : 0;
  std::optional<double> slowest;
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t type : kinds_[kind].types) {
    if (curves_.types()[type].num_gpus < num_gpus) continue;
    const double here = look_up(kind, num_gpus, {type, ranks_together}).here;
    slowest = std::min(slowest.value_or(here), here);
  }
  return slowest.value_or(1);
}

std::int64_t PredictedSpeeds::num_without_plan(const Workload& workload) {
  std::set<std::pair<std::uint32_t, GpuCount>> without;
  std::set<std::pair<std::uint32_t, GpuCount>> looked_at;
  std::int64_t jobs = 0;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kind_of_.size(); ++i) {
    if (kind_of_[i] == kNoKind) continue;
    const GpuCount num_gpus = workload.jobs[i].num_gpus;
    const std::pair key(kind_of_[i], num_gpus);
    const Kind& kind = kinds_[kind_of_[i]];
    if (looked_at.insert(key).second && std::ranges::any_of(kind.types, [&](std::uint32_t type) {
          return curves_.types()[type].num_gpus >= num_gpus &&
                 !iteration_time(kind, num_gpus, {.gpu_type = type});
        }))
      without.insert(key);
    if (without.contains(key)) ++jobs;
  }
  return jobs;
}

}  // namespace vtrain
