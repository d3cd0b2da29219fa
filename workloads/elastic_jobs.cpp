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

double speed_of(Nanoseconds iteration) {
  return 1 / Seconds(iteration).count();
}

/// The first level of more than this many GPUs.
Levels::const_iterator first_above(const Levels& levels, GpuCount num_gpus) {
  return std::ranges::upper_bound(levels, num_gpus, {}, &ThroughputLevels::Level::num_gpus);
}

/// The curve of a job that asks for some number of GPUs.
struct CurveOfJob {
  CurveId curve;           ///< none: there is no plan on these GPUs or fewer
  bool idle_gpus = false;  ///< no plan divides over the number that the job asks for
};

/// Makes the curves of one model at one global batch on the types of GPUs that a job may use.
class CurveMaker {
 public:
  CurveMaker(const Workload& workload, const Job& job, const CurvesByType& curves, bool spread)
      : model_(workload.models[job.model.value]),
        global_batch_(job.global_batch),
        curves_(curves),
        types_(curves.allowed(job.gpu_type)),
        spread_(spread) {}

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

  /// A curve with these levels, and what it is at other sites.
  ThroughputLevels make(const Levels& levels) const {
    ThroughputLevels made(levels);
    for (const std::uint32_t type : types_) {
      if (type != types_.front()) made.set_speeds_at({.gpu_type = type}, speeds_at(levels, type, 0));
      const std::int64_t node = of(type).profile().gpus_per_node;
      for (std::int32_t together = 1; spread_ && together < node; together *= 2)
        made.set_speeds_at({type, together}, speeds_at(levels, type, together));
    }
    return made;
  }

 private:
  ThroughputCurves& of(std::uint32_t type) const { return *curves_.types()[type].curves; }

  /// Whether every type that has so many GPUs has a plan for them.
  bool suits_all(GpuCount num_gpus) const {
    return std::ranges::all_of(types_, [&](std::uint32_t type) {
      const GpuCount there = curves_.types()[type].num_gpus;
      return type == types_.front() || there < num_gpus ||
             of(type).best_plan(model_, global_batch_, num_gpus);
    });
  }

  /// Speeds on one type; those of the level below where there is no plan (GPUs idle, or there are fewer).
  std::vector<double> speeds_at(const Levels& levels, std::uint32_t type, std::int64_t together) const {
    std::vector<double> speeds;
    for (const ThroughputLevels::Level& level : levels) {
      const auto iteration =
          together == 0 ? of(type).iteration_time(model_, global_batch_, level.num_gpus)
                        : of(type).spread_iteration_time(model_, global_batch_, level.num_gpus, together);
      const double before = speeds.empty() ? level.iterations_per_s : speeds.back();
      speeds.push_back(iteration ? speed_of(*iteration) : before);
    }
    return speeds;
  }

  const std::string& model_;
  std::int32_t global_batch_;
  const CurvesByType& curves_;
  std::span<const std::uint32_t> types_;
  bool spread_;
};

/// Curves by model, global batch, GPU type and the number of GPUs that a job asks for.
class CurvesOfJobs {
 public:
  CurvesOfJobs(Workload& workload, const CurvesByType& curves, bool spread)
      : workload_(workload), curves_(curves), spread_(spread) {
    for (const std::string& name : workload.models.names())
      known_models_.push_back(find_model(name).has_value());
  }

  /// Whether the job can have a curve by what its trace says.
  bool describes_training(const Job& job) const {
    return job.model && known_models_[job.model.value] && job.global_batch > 0 && job.iterations > 0 &&
           job.gpu_share == Job{}.gpu_share;
  }

  const CurveOfJob& of(const Job& job) {
    const auto key = std::tuple(job.model, job.global_batch, job.gpu_type, job.num_gpus);
    const auto known = by_size_.find(key);
    return known != by_size_.end() ? known->second : by_size_.emplace(key, find(job)).first->second;
  }

 private:
  /// A curve that jobs of one model, global batch and GPU type share.
  struct Shared {
    Levels levels{};
    CurveId curve{};
  };

  CurveId add(ThroughputLevels levels) {
    workload_.curves.push_back(std::move(levels));
    return CurveId(static_cast<std::uint32_t>(workload_.curves.size() - 1));
  }

  CurveOfJob find(const Job& job) {
    const CurveMaker maker(workload_, job, curves_, spread_);
    const auto [entry, added] = shared_.try_emplace({job.model, job.global_batch, job.gpu_type});
    Shared& shared = entry->second;
    if (added) shared.levels = maker.shared_levels();
    const auto above = first_above(shared.levels, job.num_gpus);
    const bool any_below = above != shared.levels.begin();
    if (any_below && std::prev(above)->num_gpus == job.num_gpus) {
      if (!shared.curve) shared.curve = add(maker.make(shared.levels));
      return {shared.curve};
    }
    const std::optional<double> speed = maker.speed(job.num_gpus);
    if (!speed && !any_below) return {};
    Levels levels = shared.levels;
    levels.insert(levels.begin() + (above - shared.levels.begin()),
                  {job.num_gpus, speed ? *speed : std::prev(above)->iterations_per_s});
    return {add(maker.make(levels)), !speed};
  }

  Workload& workload_;
  const CurvesByType& curves_;
  bool spread_;
  std::vector<bool> known_models_;
  std::map<std::tuple<ModelId, std::int32_t, GpuTypeId>, Shared> shared_;
  std::map<std::tuple<ModelId, std::int32_t, GpuTypeId, GpuCount>, CurveOfJob> by_size_;
};

/// Why the number of GPUs that the job asks for has no point.
tl::unexpected<Error> no_point(const Job& job, const Workload& workload, const CurvesByType& curves) {
  const std::string& model = workload.models[job.model.value];
  for (const std::uint32_t type : curves.allowed(job.gpu_type)) {
    const auto plan = curves.types()[type].curves->best_plan(model, job.global_batch, job.num_gpus);
    if (plan) continue;
    return fail({.field = plan.error().field,
                 .message = fmt::format("job '{}': {}", job.name, plan.error().message)});
  }
  throw std::logic_error("make_elastic: a job without a point has a plan on every type");
}

}  // namespace

Result<ElasticJobs> make_elastic(Workload& workload, const CurvesByType& curves,
                                 const ElasticOptions& options) {
  ElasticJobs found;
  CurvesOfJobs curves_of_jobs(workload, curves, options.spread);
  for (Job& job : workload.jobs) {
    if (job.curve || !curves_of_jobs.describes_training(job)) continue;
    const CurveOfJob& curve = curves_of_jobs.of(job);
    if (options.strict && (!curve.curve || curve.idle_gpus)) return no_point(job, workload, curves);
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
