#include "tools/experiment/prediction_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"
#include "core/base/strings.hpp"
#include "core/profile/gpu_profile.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/pricing/training_jobs.hpp"

namespace vtrain {
namespace {

constexpr double kMostLogSigma = 2;

/// Traits of runs like those of a model on the GPUs of some curves.
RunTraits traits_on(const PlanCache& curves, ModelKind kind) {
  const GpuProfile& profile = curves.profile();
  return {.stack = curves.settings().stack.name,
          .profile = profile.base_name,
          .generation = std::string(generation_of(profile)),
          .kind = kind};
}

/// The factor whose inverse is the nearest whole number of billionths, the unit of speeds.
double whole_factor(double log_factor) {
  constexpr auto kFull = static_cast<double>(SegmentSpeed::kFull);
  return kFull / std::max(1.0, std::round(kFull * std::exp(-log_factor)));
}

}  // namespace

Result<PredictionErrorRule> PredictionErrorRule::parse(std::string_view text) {
  if (text == "none") return PredictionErrorRule{};
  if (text == "empirical") return PredictionErrorRule{.kind = Kind::Empirical};
  const auto [name, given] = split_once(text, ':');
  if (name == "lognormal" && given) {
    if (const auto sigma = parse_number(*given, 0, kMostLogSigma))
      return PredictionErrorRule{.kind = Kind::LogNormal, .sigma = *sigma};
  }
  return fail({.field = "prediction-error",
               .message = expected_found("none, empirical or lognormal:SIGMA (0 to 2)", text)});
}

DrawnRunTimeErrors::DrawnRunTimeErrors(const PredictionErrorRule& rule, const Workload& workload,
                                       const CurvesByType& curves, std::uint64_t seed)
    : rule_(rule), seed_(seed), kind_of_(workload.jobs.size(), kNoKind), type_of_(workload.jobs.size()) {
  for (const CurvesByType::Type& type : curves.types())
    profiles_.push_back(type.curves->profile().name);
  const std::size_t num_types = profiles_.size();
  of_jobs_.resize(workload.jobs.size() * num_types);
  std::map<std::pair<ModelKind, std::size_t>, std::size_t> sources;
  const auto source_of = [&](ModelKind kind, std::size_t type) {
    const auto [known, is_new] = sources.try_emplace({kind, type}, sources_.size());
    if (!is_new) return known->second;
    Source source;
    if (rule_.kind == PredictionErrorRule::Kind::Empirical) {
      ErrorParts parts = error_parts(traits_on(*curves.types()[type].curves, kind));
      source = {std::move(parts.weights), std::move(parts.common), std::move(parts.own)};
    }
    sources_.push_back(std::move(source));
    return known->second;
  };
  const TrainingJobs training(workload);
  std::map<std::pair<ModelId, std::int32_t>, std::uint32_t> kinds;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    if (!training.include(job)) continue;
    const auto [known, is_new] =
        kinds.try_emplace({job.model, job.global_batch}, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) {
      const std::string& model = workload.models[job.model.value];
      Kind kind{.name = fmt::format("{}\n{}", model, job.global_batch)};
      const ModelKind kind_of_model = kind_of(find_model(model)->model());
      for (std::size_t type = 0; type < num_types; ++type)
        kind.sources.push_back(source_of(kind_of_model, type));
      kinds_.push_back(std::move(kind));
    }
    kind_of_[i] = known->second;
    type_of_[i] = curves.allowed(job.gpu_type).front();
    const std::string stream = fmt::format("prediction error of job\n{}", job.name);
    for (std::size_t type = 0; type < num_types; ++type)
      of_jobs_[i * num_types + type] = draw(stream, kinds_[known->second].sources[type], true);
  }
}

double DrawnRunTimeErrors::draw(std::string_view stream, std::size_t source, bool of_job) const {
  RandomStream random(seed_, stream);
  if (rule_.kind == PredictionErrorRule::Kind::LogNormal)
    return rule_.sigma / std::sqrt(2.0) * random.normal();
  const Source& from = sources_[source];
  const std::size_t run = WeightedChoice(from.weights).draw(random);
  return of_job ? from.common[run] : from.own[run];
}

double DrawnRunTimeErrors::time_factor(JobId job, GpuCount num_gpus, std::uint32_t gpu_type) const {
  const std::uint32_t kind_number = kind_of_[job.value];
  if (kind_number == kNoKind) return 1;
  const Kind& kind = kinds_[kind_number];
  const std::string stream =
      fmt::format("prediction error of plan\n{}\n{}\n{}", kind.name, num_gpus.value, profiles_[gpu_type]);
  return whole_factor(of_jobs_[job.value * profiles_.size() + gpu_type] +
                      draw(stream, kind.sources[gpu_type], false));
}

std::vector<double> DrawnRunTimeErrors::factors_on_request(const Workload& workload) const {
  std::vector<double> factors;
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i)
    factors.push_back(time_factor(JobId(i), workload.jobs[i].num_gpus, type_of_[i]));
  return factors;
}

}  // namespace vtrain
