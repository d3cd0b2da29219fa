#include "traces/synthesis/generator.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "traces/reading/job_fields.hpp"
#include "traces/rules/tenants.hpp"

namespace vtrain {
namespace {

/// The gangs of the shape within the limits.
std::vector<GangWeight> gangs_up_to(const GeneratorOptions& options) {
  std::vector<GangWeight> gangs;
  for (const GangWeight& gang : options.shape.gangs) {
    const bool fits = (options.max_gpus.value == 0 || gang.num_gpus <= options.max_gpus) &&
                      (options.cluster.value == 0 || gang.num_gpus <= options.cluster);
    if (fits) gangs.push_back(gang);
  }
  return gangs;
}

/// Draws gang sizes, durations and models of jobs.
class JobSampler {
 public:
  JobSampler(const GeneratorOptions& options, const ModelCatalog& models)
      : options_(options),
        gangs_(gangs_up_to(options)),
        gang_choice_(weights_of(gangs_)),
        rigid_(!models.iteration_time || options.models.kind == ModelMix::Kind::None),
        size_stream_(options.seed, "gang sizes"),
        duration_stream_(options.seed, "durations"),
        models_(options.models, options.seed, models) {
    for (const GangWeight& gang : gangs_) {
      const DurationQuantiles& quantiles = options.shape.durations_of(gang.num_gpus);
      most_fraction_.push_back(
          options.max_duration.count() == 0
              ? 1
              : quantiles.fraction_below(options.max_duration / quantiles.size_factor(gang.num_gpus)));
    }
  }

  Result<Job> draw(Workload& workload) {
    Job job;
    const std::size_t gang = gang_choice_.draw(size_stream_);
    job.num_gpus = gangs_[gang].num_gpus;
    const DurationQuantiles& quantiles = options_.shape.durations_of(job.num_gpus);
    Seconds target =
        quantiles.at(duration_stream_.uniform() * most_fraction_[gang]) * quantiles.size_factor(job.num_gpus);
    target = std::clamp<Seconds>(target, SimDuration(1), kMaxTraceTime);
    if (options_.max_duration.count() > 0) target = std::min<Seconds>(target, options_.max_duration);
    if (rigid_) {
      job.duration = std::chrono::seconds(std::max<std::int64_t>(1, std::llround(target.count())));
      return job;
    }
    job.duration = to_sim_duration(target);
    if (auto set = models_.assign(workload, job); !set) return fail(std::move(set.error()));
    return job;
  }

 private:
  static std::vector<double> weights_of(std::span<const GangWeight> gangs) {
    std::vector<double> weights;
    for (const GangWeight& gang : gangs)
      weights.push_back(gang.weight);
    return weights;
  }

  const GeneratorOptions& options_;
  std::vector<GangWeight> gangs_;
  WeightedChoice gang_choice_;
  std::vector<double> most_fraction_;  ///< drawn part of the durations [gangs]
  bool rigid_;
  RandomStream size_stream_, duration_stream_;
  ModelAssigner models_;
};

/// Instants of submissions, in order, from 0 to the end of the span.
std::vector<SimTime> draw_submissions(const GeneratorOptions& options, std::size_t count, Seconds span) {
  RandomStream random(options.seed, "submissions");
  // A given number of points of a Poisson process are distributed like scaled sums of exponential gaps. The
  // gaps belong to a process with rate 1; the inverse of the rate's integral adds the rhythm.
  std::vector<double> sums(count, 0.0);
  const WorkloadShape& shape = options.shape;
  const auto draw_gap = [&] {
    if (options.arrivals != Arrivals::Bursty) return random.exponential(1);
    return shape.gap_seconds.empty() ? std::exp(shape.gap_sigma * random.normal())
                                     : shape.gap_at(random.uniform());
  };
  for (std::size_t i = 1; i < count; ++i)
    sums[i] = sums[i - 1] + draw_gap();
  if (sums.back() <= 0) sums.back() = 1;  // all gaps are 0
  DayRhythm rhythm = shape.rhythm();
  if (options.arrivals == Arrivals::Stationary) rhythm.amplitude = 0;
  // The instant at which the integral is `target`, by Newton's method from an earlier instant.
  const auto solve = [&](double before, double target) {
    constexpr double kTolerance = 1e-4;
    constexpr int kMostSteps = 50;
    double at = before;
    for (int step = 0; step < kMostSteps; ++step) {
      const double change = (target - rhythm.integral(at)) / rhythm.rate(at);
      at += change;
      if (std::abs(change) < kTolerance) return std::clamp(at, 0.0, span.count());
    }
    // With a strong rhythm the steps may oscillate; halving the interval cannot.
    double low = before;
    double high = span.count();
    while (high - low >= kTolerance) {
      const double middle = low + (high - low) / 2;
      (rhythm.integral(middle) < target ? low : high) = middle;
    }
    return high;
  };
  const double whole = rhythm.integral(span.count());
  std::vector<SimTime> submissions(count);
  double t = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const double target = sums[i] / sums.back() * whole;
    t = solve(t, target);
    submissions[i] = SimTime(std::chrono::milliseconds(std::llround(t * 1e3)));
  }
  // Rounding and the tolerance of the steps may put neighbours out of order by a millisecond.
  std::sort(submissions.begin(), submissions.end());
  return submissions;
}

Result<void> check(const GeneratorOptions& options) {
  const auto refuse = [](std::string_view field, std::string message) {
    return fail({.field = std::string(field), .message = std::move(message)});
  };
  if (options.num_jobs < 0 || options.num_jobs > kMostShapeJobs) {
    return refuse("jobs", expected_found(fmt::format("a number from 1 to {}", kMostShapeJobs),
                                         std::to_string(options.num_jobs)));
  }
  if (options.num_jobs == 0 && options.span.count() <= 0)
    return refuse("jobs", "expected a number of jobs or a span");
  if (options.cluster.value < 0 || (options.cluster.value == 0 && options.load != 0))
    return refuse("cluster", "expected at least one GPU");
  if (!(options.load >= kLeastLoad && options.load <= kMostLoad) && options.load != 0) {
    return refuse("load", expected_found(fmt::format("a number from {} to {}", kLeastLoad, kMostLoad),
                                         fmt::format("{}", options.load)));
  }
  if (options.num_tenants < 0 || options.num_tenants > kMostTenants) {
    return refuse("tenants", expected_found(fmt::format("a number from 0 to {}", kMostTenants),
                                            std::to_string(options.num_tenants)));
  }
  if (options.max_gpus.value < 0) return refuse("max-gpus", "expected a number of at least 0");
  if (options.max_duration.count() < 0) return refuse("max-duration", "expected a duration of at least 0");
  if (gangs_up_to(options).empty()) {
    return refuse("max-gpus", fmt::format("no job of the shape {} is so small: the smallest has {} GPUs",
                                          options.shape.name, options.shape.gangs.front().num_gpus.value));
  }
  return {};
}

/// Draws jobs until there are enough; returns their work in GPU-seconds.
Result<double> draw_jobs(const GeneratorOptions& options, const ModelCatalog& models, Workload& workload) {
  JobSampler sampler(options, models);
  const double enough =
      options.num_jobs > 0 ? 0 : options.load * options.cluster.value * to_seconds(options.span);
  workload.jobs.reserve(static_cast<std::size_t>(options.num_jobs));
  double gpu_seconds = 0;
  const auto wants_more = [&] {
    const auto count = static_cast<std::int64_t>(workload.jobs.size());
    if (options.num_jobs > 0) return count < options.num_jobs;
    if (options.load > 0) return gpu_seconds < enough || count < 2;
    return static_cast<double>(count) * options.shape.mean_gap.count() <= to_seconds(options.span);
  };
  while (wants_more()) {
    auto job = sampler.draw(workload);
    if (!job) return fail(std::move(job.error()));
    gpu_seconds += to_seconds(job->duration) * job->num_gpus.value;
    workload.jobs.push_back(*job);
    if (static_cast<std::int64_t>(workload.jobs.size()) > kMostShapeJobs) {
      return fail({.field = "span", .message = fmt::format("takes more than {} jobs", kMostShapeJobs)});
    }
  }
  return gpu_seconds;
}

/// Draws tenants of the shape, each with its own sizes of jobs.
void draw_tenants_by_size(Workload& workload, const WorkloadShape& shape, std::uint64_t seed) {
  const std::vector<TenantId> tenants = add_tenants(workload, shape.tenants.size());
  const std::size_t num_rows = shape.tenant_sizes.size();
  std::vector<WeightedChoice> rows;  // by group of sizes
  for (std::size_t group = 0; group < shape.durations.size(); ++group) {
    std::vector<double> weights;
    for (const std::vector<double>& row : shape.tenant_sizes)
      weights.push_back(row[group]);
    rows.emplace_back(weights);
  }
  const std::size_t last = num_rows - 1;
  const WeightedChoice of_last_row(std::span(shape.tenants).subspan(last));
  RandomStream random(seed, "tenants");
  for (Job& job : workload.jobs) {
    const std::size_t row = rows[shape.size_group(job.num_gpus)].draw(random);
    job.tenant = tenants[row < last ? row : last + of_last_row.draw(random)];
  }
}

/// Draws statuses of the shape, by size and run time.
void draw_statuses_by_run_time(Workload& workload, const WorkloadShape& shape, std::uint64_t seed) {
  std::vector<double> weights_of_all;
  for (const StatusWeight& entry : shape.statuses)
    weights_of_all.push_back(entry.weight);
  std::vector<std::vector<WeightedChoice>> choices;  // by group of sizes and quarter of run times
  for (const DurationQuantiles& quantiles : shape.durations) {
    std::vector<WeightedChoice>& quarters = choices.emplace_back();
    for (const std::vector<double>& weights : quantiles.statuses) {
      const bool any = std::any_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; });
      quarters.emplace_back(any ? weights : weights_of_all);
    }
    if (quarters.empty()) quarters.assign(kRunTimeQuarters, WeightedChoice(weights_of_all));
  }
  RandomStream random(seed, "statuses");
  for (Job& job : workload.jobs) {
    const std::size_t group = shape.size_group(job.num_gpus);
    const DurationQuantiles& quantiles = shape.durations[group];
    const std::size_t quarter =
        quantiles.quarter_of(Seconds(to_seconds(job.duration)) / quantiles.size_factor(job.num_gpus));
    job.status = shape.statuses[choices[group][quarter].draw(random)].status;
  }
}

void set_tenants_and_statuses(Workload& workload, const GeneratorOptions& options) {
  const WorkloadShape& shape = options.shape;
  if (options.num_tenants > 0) {
    draw_tenants(workload, unequal_tenants(options.num_tenants), options.seed);
  } else if (!shape.tenant_sizes.empty()) {
    draw_tenants_by_size(workload, shape, options.seed);
  } else if (!shape.tenants.empty()) {
    draw_tenants(workload, shape.tenants, options.seed);
  }
  if (!options.statuses.empty()) {
    draw_statuses(workload, options.statuses, options.seed);
  } else if (!shape.statuses.empty()) {
    draw_statuses_by_run_time(workload, shape, options.seed);
  }
}

}  // namespace

GeneratorOptions options_like(const WorkloadShape& shape) {
  GeneratorOptions options;
  options.num_jobs = shape.num_jobs;
  options.cluster = GpuCount(0);
  options.load = 0;
  options.shape = shape;
  options.arrivals = shape.arrivals;
  options.num_tenants = 0;
  options.models = {};
  options.deadlines.reset();
  return options;
}

Result<Workload> generate_trace(const GeneratorOptions& options, const ModelCatalog& models) {
  if (auto checked = check(options); !checked) return fail(std::move(checked.error()));
  Workload workload;
  const auto gpu_seconds = draw_jobs(options, models, workload);
  if (!gpu_seconds) return fail(gpu_seconds.error());
  const Seconds span = options.load > 0
                           ? Seconds(*gpu_seconds / (options.load * options.cluster.value))
                           : options.shape.mean_gap * static_cast<double>(workload.jobs.size() - 1);
  if (span > kMaxTraceTime) {
    return fail(
        {.field = "load", .message = "the jobs would take more than 100 years to arrive at this load"});
  }
  const std::vector<SimTime> submissions = draw_submissions(options, workload.jobs.size(), span);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    char name[24];
    const char* const end = std::to_chars(name, name + sizeof name, i + 1).ptr;
    workload.jobs[i].name = workload.keep({name, static_cast<std::size_t>(end - name)});
    workload.jobs[i].submit = submissions[i];
  }
  set_tenants_and_statuses(workload, options);
  if (options.deadlines) assign_deadlines(workload, *options.deadlines, options.seed);
  return workload;
}

}  // namespace vtrain
