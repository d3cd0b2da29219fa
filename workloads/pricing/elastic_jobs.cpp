#include "workloads/pricing/elastic_jobs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/jobs/job.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/pricing/training_jobs.hpp"

namespace vtrain {
namespace {

using Levels = std::vector<SpeedByGpus::Level>;

double speed_of(Nanoseconds iteration) {
  return 1 / Seconds(iteration).count();
}

/// The first level of more than this many GPUs.
Levels::const_iterator first_above(const Levels& levels, GpuCount num_gpus) {
  return std::ranges::upper_bound(levels, num_gpus, {}, &SpeedByGpus::Level::num_gpus);
}

/// The curve of a job that requests some number of GPUs.
struct CurveOfJob {
  CurveId curve;           ///< none: there is no plan on these GPUs or fewer
  bool idle_gpus = false;  ///< no plan divides over the requested number
};

/// Makes the curves of one model at one global batch on the types of GPUs that a job may use.
class CurveMaker {
 public:
  CurveMaker(const Workload& workload, const Job& job, const CurvesByType& curves)
      : model_(workload.models[job.model.value]),
        global_batch_(job.global_batch),
        curves_(curves),
        types_(curves.allowed(job.gpu_type)) {}

  /// The curve that jobs share; no levels where there is no plan at all.
  Levels shared_levels() const {
    const auto num_gpus = [&](std::uint32_t type) { return curves_.types()[type].num_gpus; };
    const GpuCount largest = num_gpus(std::ranges::max(types_, {}, num_gpus));
    Levels levels;
    const auto curve = of(types_.front()).curve(model_, global_batch_, largest);
    if (!curve) return levels;
    for (const RankedPlan& point : curve->points) {
      if (suits_all(point.plan.num_gpus()))
        levels.push_back({point.plan.num_gpus(), speed_of(point.iteration)});
    }
    return levels;
  }

  /// The speed on a number of GPUs that need not be a point of the curve.
  std::optional<double> speed(GpuCount num_gpus) const {
    const auto iteration = of(types_.front()).iteration_time(model_, global_batch_, num_gpus);
    if (!iteration || !suits_all(num_gpus)) return std::nullopt;
    return speed_of(*iteration);
  }

 private:
  PlanCache& of(std::uint32_t type) const { return *curves_.types()[type].curves; }

  /// True if every type that has `num_gpus` GPUs has a plan for them.
  bool suits_all(GpuCount num_gpus) const {
    return std::ranges::all_of(types_, [&](std::uint32_t type) {
      const GpuCount there = curves_.types()[type].num_gpus;
      return type == types_.front() || there < num_gpus ||
             of(type).best_plan(model_, global_batch_, num_gpus);
    });
  }

  const std::string& model_;
  std::int32_t global_batch_;
  const CurvesByType& curves_;
  std::span<const std::uint32_t> types_;
};

/// Curves by model, global batch, GPU type and the number of GPUs that a job requests.
class CurvesOfJobs {
 public:
  CurvesOfJobs(Workload& workload, const CurvesByType& curves) : workload_(workload), curves_(curves) {}

  const CurveOfJob& of(const Job& job) {
    const TrainingKind key = training_kind(job);
    const auto known = by_size_.find(key);
    return known != by_size_.end() ? known->second : by_size_.emplace(key, find(job)).first->second;
  }

 private:
  /// A curve that jobs of one model, global batch and GPU type share.
  struct Shared {
    Levels levels{};
    CurveId curve{};
  };

  CurveId add(const Levels& levels) {
    workload_.curves.emplace_back(levels, SpeedByGpus::Source::Predictor);
    return CurveId(static_cast<std::uint32_t>(workload_.curves.size() - 1));
  }

  CurveOfJob find(const Job& job) {
    const CurveMaker maker(workload_, job, curves_);
    const auto [entry, added] = shared_.try_emplace({job.model, job.global_batch, job.gpu_type});
    Shared& shared = entry->second;
    if (added) shared.levels = maker.shared_levels();
    const auto above = first_above(shared.levels, job.num_gpus);
    const bool any_below = above != shared.levels.begin();
    if (any_below && std::prev(above)->num_gpus == job.num_gpus) {
      if (!shared.curve) shared.curve = add(shared.levels);
      return {shared.curve};
    }
    const std::optional<double> speed = maker.speed(job.num_gpus);
    if (!speed && !any_below) return {};
    Levels levels = shared.levels;
    levels.insert(levels.begin() + (above - shared.levels.begin()),
                  {job.num_gpus, speed ? *speed : std::prev(above)->iterations_per_s});
    return {add(levels), !speed};
  }

  Workload& workload_;
  const CurvesByType& curves_;
  std::map<std::tuple<ModelId, std::int32_t, GpuTypeId>, Shared> shared_;
  std::map<TrainingKind, CurveOfJob> by_size_;
};

/// Error that explains why the requested number of GPUs has no point.
tl::unexpected<Error> no_point(const Job& job, const Workload& workload, const CurvesByType& curves) {
  const std::string& model = workload.models[job.model.value];
  for (const std::uint32_t type : curves.allowed(job.gpu_type)) {
    const auto plan = curves.types()[type].curves->best_plan(model, job.global_batch, job.num_gpus);
    if (plan) continue;
    return fail(job_error(workload, job, plan.error().field, plan.error().message));
  }
  throw std::logic_error("make_elastic: a job without a point has a plan on every type");
}

}  // namespace

Result<ElasticJobs> make_elastic(Workload& workload, const CurvesByType& curves,
                                 const ElasticOptions& options) {
  ElasticJobs found;
  const TrainingJobs training(workload);
  CurvesOfJobs curves_of_jobs(workload, curves);
  for (Job& job : workload.jobs) {
    if (job.curve || job.duration.count() == 0 || !training.include(job)) continue;
    const CurveOfJob& curve = curves_of_jobs.of(job);
    if (options.strict && (!curve.curve || curve.idle_gpus)) return no_point(job, workload, curves);
    if (!curve.curve) {
      ++found.without_plan;
      continue;
    }
    job.curve = curve.curve;
    ++found.elastic;
    if (curve.idle_gpus) ++found.with_idle_gpus;
  }
  return found;
}

}  // namespace vtrain
