#include "traces/synthesis/generator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/unit/traces/zoo_catalog.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/formats/formats.hpp"
#include "workloads/pricing/plan_cache.hpp"

using vtrain::generate_trace;
using vtrain::GeneratorOptions;
using vtrain::GpuCount;
using vtrain::GpuTypeId;
using vtrain::Job;
using vtrain::Nanoseconds;
using vtrain::Result;
using vtrain::trace_statistics;
using vtrain::TraceStatistics;
using vtrain::Workload;
using vtrain::testing::find_in_zoo;
using vtrain::testing::zoo_with;

namespace {

/// Iteration time in place of the predictor's: 2 s for every model.
Result<Nanoseconds> two_seconds(std::string_view, std::int32_t, GpuCount, GpuTypeId) {
  return Nanoseconds(2e9);
}

GeneratorOptions options_of(std::int64_t num_jobs, std::uint64_t seed = 1) {
  GeneratorOptions options;
  options.num_jobs = num_jobs;
  options.seed = seed;
  return options;
}

std::string error_of(const GeneratorOptions& options) {
  const auto workload = generate_trace(options, {});
  return workload ? "no error" : workload.error().describe();
}

}  // namespace

TEST_CASE("trace_generator: the same seed gives the same bytes, another seed other jobs") {
  const auto a = generate_trace(options_of(2000, 5), zoo_with(two_seconds));
  const auto b = generate_trace(options_of(2000, 5), zoo_with(two_seconds));
  const auto c = generate_trace(options_of(2000, 6), zoo_with(two_seconds));
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  REQUIRE(c.has_value());
  CHECK(vtrain::to_vtrain_csv(*a) == vtrain::to_vtrain_csv(*b));
  CHECK(vtrain::to_vtrain_csv(*a) != vtrain::to_vtrain_csv(*c));
}

TEST_CASE("trace_generator: the offered load is the one asked for") {
  for (const std::int64_t num_jobs : {2, 100, 10'000}) {
    for (const double load : {0.3, 0.9, 2.0}) {
      GeneratorOptions options = options_of(num_jobs);
      options.load = load;
      const auto workload = generate_trace(options, zoo_with(two_seconds));
      REQUIRE(workload.has_value());
      const TraceStatistics statistics = trace_statistics(*workload);
      CHECK(statistics.jobs == num_jobs);
      CHECK(statistics.first_submit.time_since_epoch().count() == 0);
      // The last submission is rounded by at most half a millisecond of a span of at least minutes.
      CHECK(statistics.offered_load(options.cluster) == doctest::Approx(load).epsilon(1e-5));
    }
  }
}

TEST_CASE("trace_generator: a span instead of a number of jobs draws as many as the load needs") {
  GeneratorOptions options = options_of(0);
  options.span = std::chrono::hours(24 * 30);
  options.cluster = GpuCount(512);
  options.max_duration = std::chrono::hours(24);
  const auto workload = generate_trace(options, {});
  REQUIRE(workload.has_value());
  const TraceStatistics statistics = trace_statistics(*workload);
  // It ends with the job that reaches the work wanted: at most one job of 64 GPUs x 24 h beyond 0.9 x 512
  // GPUs x 720 h.
  CHECK(statistics.span() >= options.span - std::chrono::seconds(1));
  CHECK(vtrain::to_seconds(statistics.span()) <
        vtrain::to_seconds(options.span) * (1 + 64.0 * 24 / (0.9 * 512 * 720)));
  CHECK(statistics.duration.maximum <= options.max_duration);
}

TEST_CASE("trace_generator: gang sizes and durations have the shape of the published trace") {
  for (const vtrain::WorkloadShape& shape : vtrain::workload_shapes()) {
    CAPTURE(shape.name);
    constexpr std::int64_t kJobs = 200'000;
    GeneratorOptions options = options_of(kJobs);
    options.shape = shape;
    options.cluster = GpuCount(4096);
    const auto workload = generate_trace(options, {});
    REQUIRE(workload.has_value());
    const TraceStatistics statistics = trace_statistics(*workload);
    double all = 0;
    for (const vtrain::GangWeight& gang : shape.gangs)
      all += gang.weight;
    for (const vtrain::GangWeight& gang : shape.gangs) {
      const auto found = statistics.by_num_gpus.find(gang.num_gpus.value);
      const double count =
          found == statistics.by_num_gpus.end() ? 0 : static_cast<double>(found->second.jobs);
      const double expected = kJobs * gang.weight / all;
      // Binomial: five standard deviations.
      CHECK(std::abs(count - expected) <= 5 * std::sqrt(expected) + 1);
    }
    // Single-GPU jobs, some 170,000: the published p10, p50, p90 and p99 hold 10, 50, 90 and 99 per cent of
    // the jobs drawn, within five standard deviations of at most 0.5 / sqrt(160,000).
    std::vector<double> seconds;
    for (const Job& job : workload->jobs) {
      if (job.num_gpus == GpuCount(1)) seconds.push_back(vtrain::to_seconds(job.duration));
    }
    const vtrain::DurationQuantiles& quantiles = shape.durations_of(GpuCount(1));
    for (const std::size_t i : {1u, 3u, 5u, 8u}) {
      const auto below = std::count_if(seconds.begin(), seconds.end(),
                                       [&](double value) { return value <= quantiles.seconds[i]; });
      const double fraction = static_cast<double>(below) / static_cast<double>(seconds.size());
      CHECK(std::abs(fraction - quantiles.fractions[i]) < 5 * 0.5 / 400);
    }
    // The published mean work a job, 23.5 GPU-hours for ITP and 24.4 for Philly, which heavy tails leave
    // within 10 per cent.
    const double published = shape.name == "itp" ? 23.54 : 24.46;
    CHECK(statistics.gpu_hours / kJobs == doctest::Approx(published).epsilon(0.1));
  }
}

TEST_CASE("trace_generator: submissions follow the day's rhythm") {
  GeneratorOptions options = options_of(200'000);
  options.cluster = GpuCount(10'240);
  const auto workload = generate_trace(options, {});
  REQUIRE(workload.has_value());
  const double span = vtrain::to_seconds(workload->jobs.back().submit);
  const double whole_days = std::floor(span / 86400) * 86400;
  double cosine = 0;
  double sine = 0;
  double count = 0;
  for (const Job& job : workload->jobs) {
    const double t = vtrain::to_seconds(job.submit);
    if (t >= whole_days) break;
    cosine += std::cos(2 * M_PI * (t - options.shape.day_peak.count()) / 86400);
    sine += std::sin(2 * M_PI * (t - options.shape.day_peak.count()) / 86400);
    count += 1;
  }
  // A density of 1 + a cos has the mean cosine a / 2 and the mean sine 0; the standard error of either is
  // sqrt(1/2 / count).
  const double error = 4 * std::sqrt(0.5 / count);
  CHECK(std::abs(cosine / count - options.shape.day_amplitude / 2) < error);
  CHECK(std::abs(sine / count) < error);
}

TEST_CASE(
    "trace_generator: LLM jobs have a model of the table, whole iterations and the duration that follows") {
  const auto workload = generate_trace(options_of(5000), zoo_with(two_seconds));
  REQUIRE(workload.has_value());
  for (const Job& job : workload->jobs) {
    CHECK(job.iterations >= 1);
    CHECK(job.duration.count() == job.iterations * 2'000'000'000);
    const std::string& model = workload->models[job.model.value];
    const auto choices = vtrain::model_choices();
    CHECK(std::any_of(choices.begin(), choices.end(), [&](const vtrain::ModelChoice& choice) {
      return choice.model == model && choice.num_gpus == job.num_gpus &&
             choice.global_batch == job.global_batch;
    }));
    const double factor = vtrain::to_seconds(job.deadline - job.submit) / vtrain::to_seconds(job.duration);
    CHECK(factor >= 0.5);
    CHECK(factor <= 1.5);
  }
}

TEST_CASE("trace_generator: every model choice is in the zoo and has a plan on 80 GB A100s") {
  vtrain::PlanCache curves(vtrain::load_gpu_profile("a100").value());
  GpuCount previous{1};
  for (const vtrain::ModelChoice& choice : vtrain::model_choices()) {
    CAPTURE(choice.model);
    CAPTURE(choice.num_gpus.value);
    CHECK(choice.num_gpus >= previous);
    previous = choice.num_gpus;
    CHECK(find_in_zoo(choice.model).has_value());
    const auto time = curves.iteration_time(std::string(choice.model), choice.global_batch, choice.num_gpus);
    REQUIRE_MESSAGE(time.has_value(), time.error().describe());
    // Short against the jobs' durations, of which half are above 10,000 s.
    CHECK(time->count() < 120e9);
  }
}

TEST_CASE("trace_generator: there is a model for every gang size of every shape") {
  const auto choices = vtrain::model_choices();
  for (const vtrain::WorkloadShape& shape : vtrain::workload_shapes()) {
    for (const vtrain::GangWeight& gang : shape.gangs) {
      CHECK(std::any_of(choices.begin(), choices.end(),
                        [&](const vtrain::ModelChoice& choice) { return choice.num_gpus == gang.num_gpus; }));
    }
  }
}

TEST_CASE("trace_generator: the predictor's error is passed on, and it is asked once for each combination") {
  int calls = 0;
  const auto counting = [&](std::string_view, std::int32_t, GpuCount, GpuTypeId) -> Result<Nanoseconds> {
    ++calls;
    return Nanoseconds(1e9);
  };
  REQUIRE(generate_trace(options_of(10'000), zoo_with(counting)).has_value());
  CHECK(calls <= static_cast<int>(vtrain::model_choices().size()));
  const auto failing = [](std::string_view model, std::int32_t, GpuCount, GpuTypeId) -> Result<Nanoseconds> {
    return vtrain::fail({.field = std::string(model), .message = "no plan"});
  };
  const auto workload = generate_trace(options_of(10), zoo_with(failing));
  REQUIRE_FALSE(workload.has_value());
  CHECK(workload.error().message == "no plan");
}

TEST_CASE("trace_generator: limits on size and duration hold, tenants are unequal") {
  GeneratorOptions options = options_of(20'000);
  options.max_gpus = GpuCount(4);
  options.max_duration = std::chrono::hours(2);
  options.num_tenants = 12;
  const auto workload = generate_trace(options, {});
  REQUIRE(workload.has_value());
  const TraceStatistics statistics = trace_statistics(*workload);
  CHECK(statistics.by_num_gpus.rbegin()->first == 4);
  CHECK(statistics.duration.maximum <= std::chrono::hours(2));
  CHECK(statistics.tenants.size() == 12);
  const auto largest =
      std::max_element(statistics.tenants.begin(), statistics.tenants.end(),
                       [](const auto& a, const auto& b) { return a.share.jobs < b.share.jobs; });
  CHECK(largest->name == "tenant-01");
}

TEST_CASE("trace_generator: a limit on durations leaves those below it as they were for every size") {
  // On 8 GPUs jobs take 80 to 8,000 s, on one GPU an eighth of that; half of the latter take at most 100 s.
  GeneratorOptions options = options_of(2'000);
  options.shape.gangs = {{GpuCount(1), 1}, {GpuCount(8), 1}};
  options.shape.durations = {
      {.most_gpus = GpuCount(8), .fractions = {0, 1}, .seconds = {80, 8'000}, .size_exponent = 1}};
  options.max_duration = std::chrono::seconds(100);
  const auto workload = generate_trace(options, {});
  REQUIRE(workload.has_value());
  int small = 0;
  int small_and_long = 0;
  for (const Job& job : workload->jobs) {
    CHECK(job.duration <= options.max_duration);
    if (job.num_gpus == GpuCount(8)) continue;
    ++small;
    small_and_long += job.duration > std::chrono::seconds(32) ? 1 : 0;  // above the geometric mean
  }
  // Half of some 1,000, within five standard deviations.
  CHECK(std::abs(small_and_long - small / 2) < 5 * 16);
}

TEST_CASE("trace_generator: options that make no sense are refused") {
  GeneratorOptions options;
  options.load = 0.0001;
  CHECK(error_of(options) == "load: expected a number from 0.001 to 1000, found '0.0001'");
  options.load = std::nan("");
  CHECK(error_of(options).starts_with("load: expected"));
  options = {};
  options.num_jobs = 0;
  CHECK(error_of(options) == "jobs: expected a number of jobs or a span");
  options.num_jobs = -1;
  CHECK(error_of(options).starts_with("jobs: expected a number from 1"));
  options = {};
  options.num_tenants = -1;
  CHECK(error_of(options).starts_with("tenants: expected"));
  options = {};
  options.cluster = GpuCount(0);
  CHECK(error_of(options) == "cluster: expected at least one GPU");
  CHECK_FALSE(vtrain::find_workload_shape("helios").has_value());
}

TEST_CASE("workload_shape: fraction_below inverts at") {
  for (const vtrain::WorkloadShape& shape : vtrain::workload_shapes()) {
    for (const vtrain::DurationQuantiles& quantiles : shape.durations) {
      for (const double fraction : {0.01, 0.1, 0.33, 0.5, 0.77, 0.96, 0.992}) {
        CHECK(quantiles.fraction_below(quantiles.at(fraction)) == doctest::Approx(fraction).epsilon(1e-9));
      }
      CHECK(quantiles.at(0).count() == doctest::Approx(quantiles.seconds.front()));
      CHECK(std::is_sorted(quantiles.seconds.begin(), quantiles.seconds.end()));
    }
  }
}

TEST_CASE(
    "trace_generator: bursty gaps have the spread of the published trace, stationary ones have no rhythm") {
  GeneratorOptions options = options_of(100'000);
  options.cluster = GpuCount(10'240);
  options.arrivals = vtrain::Arrivals::Bursty;
  const auto bursty = generate_trace(options, {});
  REQUIRE(bursty.has_value());
  const vtrain::Distribution gaps = trace_statistics(*bursty).inter_arrival;
  // Mean over median of a log-normal distribution is exp(sigma^2 / 2) = exp(1.92) = 6.8; the rhythm adds a
  // little.
  const double spread = gaps.mean.count() / vtrain::to_seconds(gaps.percentiles[2]);
  CHECK(spread > 6);
  CHECK(spread < 8);
  options.arrivals = vtrain::Arrivals::Stationary;
  const auto stationary = generate_trace(options, {});
  REQUIRE(stationary.has_value());
  // An exponential distribution has the median ln 2 of its mean.
  const vtrain::Distribution even = trace_statistics(*stationary).inter_arrival;
  CHECK(vtrain::to_seconds(even.percentiles[2]) / even.mean.count() == doctest::Approx(0.693).epsilon(0.02));
  CHECK_FALSE(vtrain::parse_arrivals("poisson").has_value());
}
