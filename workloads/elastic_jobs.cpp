#include "workloads/elastic_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "workloads/model_zoo.hpp"

namespace vtrain {
namespace {

using Levels = std::vector<ThroughputLevels::Level>;

/// The curve of a job that asks for some number of GPUs.
struct CurveOfJob {
  CurveId curve;           ///< none: there is no plan on these GPUs or fewer
  bool idle_gpus = false;  ///< no plan divides over the number that the job asks for
};

double speed_of(const RankedPlan& plan) {
  return 1 / Seconds(plan.iteration).count();
}

/// Curves by model, global batch and the number of GPUs that a job asks for.
class CurvesOfJobs {
 public:
  CurvesOfJobs(Workload& workload, ThroughputCurves& curves, GpuCount largest)
      : workload_(workload), curves_(curves), largest_(largest) {
    for (const std::string& name : workload.models.names())
      known_models_.push_back(find_model(name).has_value());
  }

  /// Whether the job can have a curve by what its trace says.
  bool describes_training(const Job& job) const {
    return job.model && known_models_[job.model.value] && job.global_batch > 0 && job.iterations > 0 &&
           job.gpu_share == Job{}.gpu_share;
  }

  const CurveOfJob& of(const Job& job) {
    const auto key = std::tuple(job.model, job.global_batch, job.num_gpus);
    const auto known = by_size_.find(key);
    return known != by_size_.end() ? known->second : by_size_.emplace(key, find(job)).first->second;
  }

 private:
  /// A curve that jobs of one model and global batch share; no levels where there is no plan at all.
  struct Shared {
    Levels levels{};
    CurveId curve{};
  };

  Shared& shared(const Job& job) {
    const auto [entry, added] = shared_.try_emplace({job.model, job.global_batch});
    if (added) {
      const auto curve = curves_.curve(workload_.models[job.model.value], job.global_batch, largest_);
      if (curve) {
        const ThroughputLevels levels = curve->levels();
        entry->second.levels.assign(levels.levels().begin(), levels.levels().end());
      }
    }
    return entry->second;
  }

  CurveId add(Levels levels) {
    workload_.curves.emplace_back(std::move(levels));
    return CurveId(static_cast<std::uint32_t>(workload_.curves.size() - 1));
  }

  CurveOfJob find(const Job& job) {
    Shared& all = shared(job);
    const auto above = std::upper_bound(
        all.levels.begin(), all.levels.end(), job.num_gpus,
        [](GpuCount gpus, const ThroughputLevels::Level& level) { return gpus < level.num_gpus; });
    const bool any_below = above != all.levels.begin();
    if (any_below && std::prev(above)->num_gpus == job.num_gpus) {
      if (!all.curve) all.curve = add(all.levels);
      return {all.curve};
    }
    const auto plan = curves_.best_plan(workload_.models[job.model.value], job.global_batch, job.num_gpus);
    if (!plan && !any_below) return {};
    Levels levels = all.levels;
    levels.insert(levels.begin() + (above - all.levels.begin()),
                  {job.num_gpus, plan ? speed_of(*plan) : std::prev(above)->iterations_per_s});
    return {add(std::move(levels)), !plan.has_value()};
  }

  Workload& workload_;
  ThroughputCurves& curves_;
  GpuCount largest_;
  std::vector<bool> known_models_;
  std::map<std::pair<ModelId, std::int32_t>, Shared> shared_;
  std::map<std::tuple<ModelId, std::int32_t, GpuCount>, CurveOfJob> by_size_;
};

/// Why the number of GPUs that the job asks for has no point.
tl::unexpected<Error> no_point(const Job& job, const Workload& workload, ThroughputCurves& curves) {
  const auto plan = curves.best_plan(workload.models[job.model.value], job.global_batch, job.num_gpus);
  Error error = plan.error();
  error.message = fmt::format("job '{}': {}", job.name, error.message);
  return fail(std::move(error));
}

}  // namespace

Result<ElasticJobs> make_elastic(Workload& workload, ThroughputCurves& curves, GpuCount largest,
                                 bool strict) {
  ElasticJobs found;
  CurvesOfJobs curves_of_jobs(workload, curves, largest);
  for (Job& job : workload.jobs) {
    if (job.curve || !curves_of_jobs.describes_training(job)) continue;
    const CurveOfJob& curve = curves_of_jobs.of(job);
    if (strict && (!curve.curve || curve.idle_gpus)) return no_point(job, workload, curves);
    if (!curve.curve) {
      ++found.without_plan;
      continue;
    }
    job.curve = curve.curve;
    ++found.elastic;
    if (curve.idle_gpus) ++found.with_idle_gpus;
    const double speed = workload.curves[job.curve.value].iterations_per_s(job.num_gpus);
    const double predicted = static_cast<double>(job.iterations) / speed;
    found.largest_deviation =
        std::max(found.largest_deviation, std::abs(predicted / to_seconds(job.duration) - 1));
  }
  return found;
}

}  // namespace vtrain
