#include "traces/synthesis/shape_fit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "tests/support/shared_data.hpp"
#include "traces/editing/join.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/synthesis/generator.hpp"
#include "traces/synthesis/shape_json.hpp"
#include "traces/trace_format.hpp"

using namespace vtrain;

namespace {

/// Jobs generated from a shape, as by `vtrain trace generate --from`.
Workload generate(const WorkloadShape& shape, std::int64_t num_jobs, std::uint64_t seed = 1) {
  GeneratorOptions options = options_like(shape);
  options.num_jobs = num_jobs;
  options.seed = seed;
  auto workload = generate_trace(options, {});
  REQUIRE_MESSAGE(workload.has_value(), workload.error().describe());
  return *std::move(workload);
}

WorkloadShape fit(const Workload& workload) {
  auto shape = fit_shape(workload, "again");
  REQUIRE_MESSAGE(shape.has_value(), shape.error().describe());
  return *std::move(shape);
}

double sum(const std::vector<GangWeight>& gangs) {
  double all = 0;
  for (const GangWeight& gang : gangs)
    all += gang.weight;
  return all;
}

/// A workload with a job of 60 s on one GPU every `gap_s` seconds.
Workload regular(std::size_t num_jobs, std::int64_t gap_s) {
  Workload workload;
  for (std::size_t i = 0; i < num_jobs; ++i) {
    Job job;
    job.submit = SimTime(std::chrono::seconds(gap_s * static_cast<std::int64_t>(i)));
    job.duration = std::chrono::seconds(60);
    workload.jobs.push_back(job);
  }
  return workload;
}

}  // namespace

TEST_CASE("shape_fit: the fit of a generated trace gives its constants back") {
  constexpr std::int64_t kJobs = 200'000;
  for (WorkloadShape truth : workload_shapes()) {
    for (const Arrivals arrivals : {Arrivals::Stationary, Arrivals::Diurnal, Arrivals::Bursty}) {
      CAPTURE(truth.name);
      CAPTURE(static_cast<int>(arrivals));
      truth.arrivals = arrivals;
      truth.tenants = {50, 30, 15, 5};
      truth.statuses = {{JobStatus::Completed, 6}, {JobStatus::Failed, 3}, {JobStatus::Cancelled, 1}};
      const WorkloadShape fitted = fit(generate(truth, kJobs));

      CHECK(fitted.num_jobs == kJobs);
      CHECK(fitted.arrivals == arrivals);
      CHECK(fitted.mean_gap.count() == doctest::Approx(truth.mean_gap.count()).epsilon(1e-6));
      // Gangs: binomial, five standard deviations.
      for (const GangWeight& gang : truth.gangs) {
        const auto found =
            std::find_if(fitted.gangs.begin(), fitted.gangs.end(),
                         [&](const GangWeight& each) { return each.num_gpus == gang.num_gpus; });
        const double expected = kJobs * gang.weight / sum(truth.gangs);
        const double count = found == fitted.gangs.end() ? 0 : found->weight;
        CHECK(std::abs(count - expected) <= 5 * std::sqrt(expected) + 1);
      }
      // Durations: the true distribution has the fraction f below the fitted quantile of f, within five
      // standard deviations of the number of jobs below it; whole seconds cost at most 0.003 above 30 s.
      for (const GangWeight& gang : fitted.gangs) {
        if (gang.weight < 1000) continue;  // such a size shares its quantiles with another
        const DurationQuantiles& original = truth.durations_of(gang.num_gpus);
        const DurationQuantiles& quantiles = fitted.durations_of(gang.num_gpus);
        for (std::size_t i = 1; i + 1 < quantiles.seconds.size(); ++i) {
          const double fraction = quantiles.fractions[i];
          if (quantiles.seconds[i] < 30) continue;
          CHECK(std::abs(original.fraction_below(Seconds(quantiles.seconds[i])) - fraction) <
                5 * std::sqrt(fraction * (1 - fraction) / gang.weight) + 0.003);
        }
      }
      // The rhythm: the standard error of the amplitude is sqrt(2 I / n), where I is the variance of the
      // number of submissions over its mean: 1 for a Poisson process, exp(sigma^2) - 1 for log-normal gaps.
      const bool bursty = arrivals == Arrivals::Bursty;
      const double dispersion = bursty ? std::exp(truth.gap_sigma * truth.gap_sigma) - 1 : 1;
      const double error = 4 * std::sqrt(2 * dispersion / kJobs);
      const double amplitude = arrivals == Arrivals::Stationary ? 0 : truth.day_amplitude;
      CHECK(std::abs(fitted.day_amplitude - amplitude) < error);
      if (arrivals == Arrivals::Diurnal) {
        // The angle errs by the error of the amplitude over the amplitude: 0.013 / 0.244 of 3.8 h.
        CHECK(std::abs(fitted.day_peak.count() - truth.day_peak.count()) < 800);
      }
      // Gaps: the mean of 200,000 log-normal gaps errs by sqrt(exp(sigma^2) - 1) / sqrt(n) = 1.5 per cent
      // (ITP) and 2.9 per cent (Philly), and sigma by that over sigma.
      if (bursty) CHECK(std::abs(fitted.gap_sigma - truth.gap_sigma) < 0.06);
      REQUIRE(fitted.tenants.size() == truth.tenants.size());
      for (std::size_t i = 0; i < truth.tenants.size(); ++i)
        CHECK(fitted.tenants[i] / kJobs == doctest::Approx(truth.tenants[i] / 100).epsilon(0.06));
      REQUIRE(fitted.statuses.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(fitted.statuses[i].status == truth.statuses[i].status);
        CHECK(fitted.statuses[i].weight / kJobs ==
              doctest::Approx(truth.statuses[i].weight / 10).epsilon(0.05));
      }
    }
  }
}

TEST_CASE("shape_fit: numbers of GPUs with few jobs share their quantiles") {
  // 120 jobs of 1 GPU, 60 of 2 and 70 of 3 (130 together), 5 of 8, which go with those before.
  Workload workload = regular(255, 10);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    workload.jobs[i].num_gpus = GpuCount(i < 120 ? 1 : i < 180 ? 2 : i < 250 ? 3 : 8);
  const WorkloadShape shape = fit(workload);
  REQUIRE(shape.gangs.size() == 4);
  CHECK(shape.gangs[3].weight == 5);
  REQUIRE(shape.durations.size() == 2);
  CHECK(shape.durations[0].most_gpus == GpuCount(1));
  CHECK(shape.durations[1].most_gpus == GpuCount(8));
  CHECK(shape.durations[1].seconds[3] == 60);
}

TEST_CASE("shape_fit: few large jobs that carry the load carry it again") {
  // 1,000 jobs of 1 GPU run for 60 s, 50 of 64 GPUs for 6,000 s, and both share their quantiles. A job of
  // 64-fold size runs 100 times as long: the exponent is ln 100 / ln 64 = 1.107.
  Workload workload = regular(1050, 10);
  for (std::size_t i = 0; i < workload.jobs.size(); i += 21) {
    workload.jobs[i].num_gpus = GpuCount(64);
    workload.jobs[i].duration = std::chrono::seconds(6000);
  }
  const WorkloadShape shape = fit(workload);
  REQUIRE(shape.durations.size() == 1);
  CHECK(shape.durations[0].size_exponent == 1.11);
  // 1,000 x 60 + 50 x 64 x 6,000 GPU-seconds, which the rounded exponent changes by at most 2 %; the number
  // of large jobs that are drawn deviates by sqrt(1050 x 0.0476 x 0.952) = 6.9 of 50.
  const GeneratedGpuHours expected = generated_gpu_hours(shape);
  CHECK(expected.mean == doctest::Approx(19'260'000 / 3600.0).epsilon(0.02));
  CHECK(expected.deviation / expected.mean == doctest::Approx(6.9 / 50).epsilon(0.02));
  // Small jobs stay short: 60 s x (1 / 64)^(1.107 - 1.11), at most 2 % from it.
  for (const Job& job : generate(shape, 1000).jobs)
    CHECK(to_seconds(job.duration) == doctest::Approx(job.num_gpus == GpuCount(1) ? 60 : 6000).epsilon(0.03));
}

TEST_CASE("shape_fit: run times beyond 100 years, as of the largest size, are read again and never drawn") {
  // One of 199 jobs of one GPU runs for 100 years, and so does the one of 4,096, on average 199 times as long
  // as the others: as of 4,096 GPUs, the former runs for 19,900 years.
  Workload workload = regular(200, 10);
  workload.jobs[7].num_gpus = GpuCount(4096);
  workload.jobs[7].duration = workload.jobs[8].duration = kMaxTraceTime;
  const WorkloadShape shape = fit(workload);
  CHECK(shape.durations[0].seconds.back() > 100 * Seconds(kMaxTraceTime).count());
  const auto again = parse_shape(shape_to_json(shape), "g.json");
  REQUIRE_MESSAGE(again.has_value(), again.error().describe());
  for (const Job& job : generate(*again, 1000).jobs)
    CHECK(job.duration <= kMaxTraceTime);
}

TEST_CASE("shape_fit: the GPU-hours foretold are those of generated traces") {
  WorkloadShape shape = workload_shapes()[0];
  shape.num_jobs = 2000;
  shape.durations.back().size_exponent = 0.5;
  const GeneratedGpuHours expected = generated_gpu_hours(shape);
  constexpr int kSeeds = 400;
  double sum_of_hours = 0;
  double squares = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const double hours = trace_statistics(generate(shape, shape.num_jobs, seed)).gpu_hours;
    sum_of_hours += hours;
    squares += (hours - expected.mean) * (hours - expected.mean);
  }
  // Four standard errors: of the mean 4 / sqrt(400) deviations; of the deviation 4 / sqrt(800), were the sums
  // normal, and more as their tail is longer.
  CHECK(std::abs(sum_of_hours / kSeeds - expected.mean) < 0.2 * expected.deviation);
  CHECK(std::sqrt(squares / kSeeds) == doctest::Approx(expected.deviation).epsilon(0.2));
}

TEST_CASE("shape_fit: the GPU-hours foretold of run times between two quantiles") {
  // 1 h x e^u on 2 GPUs, u even in [0, 1]: the mean is 2 (e - 1), that of the square 2 (e^2 - 1).
  const WorkloadShape shape{
      .num_jobs = 100,
      .gangs = {{GpuCount(2), 1}},
      .durations = {
          {.most_gpus = GpuCount(2), .fractions = {0, 1}, .seconds = {3600, 3600 * std::numbers::e}}}};
  const GeneratedGpuHours expected = generated_gpu_hours(shape);
  CHECK(expected.mean == doctest::Approx(343.6564));
  CHECK(expected.deviation == doctest::Approx(9.8401).epsilon(1e-4));
}

TEST_CASE("shape_fit: quantiles are those of the sorted durations, in between by the logarithm") {
  // 101 durations of 2^0, 2^0.1, ..., 2^10: the quantile of f is 2^(10 f), to six digits.
  Workload workload = regular(101, 10);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    workload.jobs[i].duration = to_sim_duration(Seconds(std::exp2(static_cast<double>((i * 37) % 101) / 10)));
  const WorkloadShape shape = fit(workload);
  const DurationQuantiles& quantiles = shape.durations[0];
  for (std::size_t i = 0; i < quantiles.fractions.size(); ++i)
    CHECK(quantiles.seconds[i] == doctest::Approx(std::exp2(10 * quantiles.fractions[i])).epsilon(1e-5));
}

TEST_CASE("shape_fit: regular gaps have no spread, bursts of equal instants a large one") {
  const WorkloadShape even = fit(regular(1000, 60));
  CHECK(even.gap_sigma == doctest::Approx(0).epsilon(1e-9));
  CHECK(even.mean_gap.count() == doctest::Approx(60));
  CHECK(even.tenants.empty());
  CHECK(even.statuses.empty());
  // Ten at a time: the median gap is 0, and so are the upper quartile and the quantile of 0.9. That of 0.99
  // is 600 s of a mean of 60 s: sigma = 2.326 + sqrt(2.326^2 + 2 ln 0.1) = 3.225.
  Workload tens = regular(1000, 60);
  for (std::size_t i = 0; i < tens.jobs.size(); ++i)
    tens.jobs[i].submit = tens.jobs[i / 10 * 10].submit;
  const WorkloadShape burst = fit(tens);
  CHECK(burst.arrivals == Arrivals::Bursty);
  CHECK(burst.gap_sigma == doctest::Approx(3.225).epsilon(0.01));
  // All at once: no rate can be known, and as many jobs come at once again.
  const WorkloadShape once = fit(regular(200, 0));
  CHECK(once.mean_gap.count() == 0);
  CHECK(generate(once, 50).jobs.back().submit == SimTime{});
}

TEST_CASE("shape_fit: tenants keep their sizes, those with few jobs together") {
  // Tenant A has 300 jobs of one GPU and none of 8, B 100 of one and 200 of 8, C 40 and D 20 of one.
  Workload workload = regular(660, 10);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    Job& job = workload.jobs[i];
    job.tenant = workload.tenant(i < 300 ? "a" : i < 600 ? "b" : i < 640 ? "c" : "d");
    job.num_gpus = GpuCount(i >= 400 && i < 600 ? 8 : 1);
  }
  const WorkloadShape shape = fit(workload);
  CHECK(shape.tenants == std::vector<double>{300, 300, 40, 20});
  const std::vector<std::vector<double>> expected = {{300, 0}, {100, 200}, {60, 0}};
  CHECK(shape.tenant_sizes == expected);
  // Drawn again: only B has jobs of 8 GPUs; of the 60 small ones C has two thirds.
  const Workload drawn = generate(shape, 66'000);
  std::vector<std::int64_t> jobs(4);
  for (const Job& job : drawn.jobs) {
    if (job.num_gpus == GpuCount(8)) CHECK(job.tenant.value == 1);
    ++jobs[job.tenant.value];
  }
  CHECK(std::abs(static_cast<double>(jobs[0]) - 30'000) < 5 * 130);  // sqrt(66,000 x 0.45 x 0.55) = 128
  CHECK(std::abs(static_cast<double>(jobs[2]) - 4'000) < 5 * 62);    // sqrt(66,000 x 0.061 x 0.94) = 61
  // Where all jobs have their durations in one group, tenants do not differ.
  for (Job& job : workload.jobs)
    job.num_gpus = GpuCount(1);
  CHECK(fit(workload).tenant_sizes.empty());
}

TEST_CASE("shape_fit: how jobs end depends on the size and the quarter of the run time") {
  // Of one GPU the short half fails; of 8 GPUs all end well.
  Workload workload = regular(800, 10);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    Job& job = workload.jobs[i];
    job.num_gpus = GpuCount(i < 400 ? 1 : 8);
    job.duration = std::chrono::seconds(100 + i % 400);
    job.status = i < 200 ? JobStatus::Failed : JobStatus::Completed;
  }
  const WorkloadShape shape = fit(workload);
  REQUIRE(shape.statuses.size() == 2);  // completed, failed
  const std::vector<std::vector<double>> of_one = {{0, 100}, {0, 100}, {100, 0}, {100, 0}};
  const std::vector<std::vector<double>> of_eight = {{100, 0}, {100, 0}, {100, 0}, {100, 0}};
  CHECK(shape.durations[0].statuses == of_one);
  CHECK(shape.durations[1].statuses == of_eight);
  const Workload drawn = generate(shape, 5'000);
  for (const Job& job : drawn.jobs) {
    const double seconds = to_seconds(job.duration);
    if (std::abs(seconds - 299.5) < 2) continue;  // the quarter's end, and whole seconds
    CHECK((job.status == JobStatus::Failed) == (job.num_gpus == GpuCount(1) && seconds < 299.5));
  }
}

TEST_CASE("shape_fit: sizes that share their quantiles have their ends by the run time for their size") {
  // 90 jobs of one GPU, and 90 of 8 that run 8 times as long; the short half of each fails.
  Workload workload = regular(180, 10);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    Job& job = workload.jobs[i];
    job.num_gpus = GpuCount(i % 2 == 0 ? 1 : 8);
    job.duration = std::chrono::seconds(i < 90 ? 100 : 1000) * job.num_gpus.value;
    job.status = i < 90 ? JobStatus::Failed : JobStatus::Completed;
  }
  const WorkloadShape shape = fit(workload);
  REQUIRE(shape.durations.size() == 1);
  CHECK(shape.durations[0].size_exponent == 1);
  CHECK(shape.durations[0].statuses == std::vector<std::vector<double>>{{0, 90}, {0, 0}, {0, 0}, {90, 0}});
  for (const Job& job : generate(shape, 2'000).jobs) {
    const double seconds_on_one = to_seconds(job.duration) / job.num_gpus.value;
    if (seconds_on_one < 101) CHECK(job.status == JobStatus::Failed);
    if (seconds_on_one > 999) CHECK(job.status == JobStatus::Completed);
  }
}

TEST_CASE("shape_fit: the tail of the gaps is kept, and pauses of days are not multiplied") {
  // 10,000 gaps of a minute, of which one in a hundred is ten minutes and one is five days.
  Workload workload = regular(10'001, 1);
  std::int64_t now = 0;
  for (std::size_t i = 1; i < workload.jobs.size(); ++i) {
    now += i == 5'555 ? 432'000 : i % 100 == 0 ? 600 : 60;
    workload.jobs[i].submit = SimTime(std::chrono::seconds(now));
  }
  const WorkloadShape shape = fit(workload);
  CHECK(shape.arrivals == Arrivals::Bursty);
  const TraceStatistics drawn = trace_statistics(generate(shape, 2'000'001));
  const auto gap = [&](std::size_t percentile) {
    return to_seconds(drawn.inter_arrival.percentiles[percentile]);
  };
  // The mean is 59 + 6 + 43 = 108 s. Were the logarithm linear from ten minutes to five days, the longest
  // thousandth would add 0.001 x 431,400 / ln 720 = 66 s instead of 44, and all other gaps were 0.83 of what
  // they are.
  CHECK(gap(2) == doctest::Approx(60).epsilon(0.1));
  CHECK(gap(5) == doctest::Approx(60).epsilon(0.1));
}

TEST_CASE("shape_fit: too few jobs are refused; jobs without a duration do not count") {
  Workload workload = regular(100, 1);
  CHECK(fit_shape(workload, "x").has_value());
  workload.jobs[7].duration = {};
  const auto shape = fit_shape(workload, "x");
  REQUIRE_FALSE(shape.has_value());
  CHECK(shape.error().message == "expected at least 100 jobs with a duration, found 99");
}

TEST_CASE("shape_fit: traces generated in place of ITP's clusters have their GPU-hours") {
  const std::filesystem::path traces = std::filesystem::path(VTRAIN_SHARED_DIR) / "data/traces/itp";
  for (int cluster = 1; cluster <= 10; ++cluster) {
    const std::string name = (cluster < 10 ? "cluster0" : "cluster") + std::to_string(cluster) + ".csv.gz";
    CAPTURE(name);
    if (!have(traces / name)) return;
    const auto trace = read_trace((traces / name).string());
    REQUIRE(trace.has_value());
    // What is left is that of 24 quantiles for all durations, and of the rounded exponent.
    CHECK(generated_gpu_hours(fit(trace->workload)).mean ==
          doctest::Approx(trace_statistics(trace->workload).gpu_hours).epsilon(0.04));
  }
}

TEST_CASE("shape_fit: a trace generated in place of a published one has its figures") {
  const std::filesystem::path traces = std::filesystem::path(VTRAIN_SHARED_DIR) / "data/traces";
  for (const char* const name :
       {"itp/cluster04.csv.gz", "itp/cluster08.csv.gz", "philly/philly_reconstructed.csv.gz"}) {
    CAPTURE(name);
    if (!have(traces / name)) return;
    const auto trace = read_trace((traces / name).string());
    REQUIRE(trace.has_value());
    const WorkloadShape shape = fit(trace->workload);
    const TraceStatistics original = trace_statistics(trace->workload);
    const TraceStatistics generated = trace_statistics(generate(shape, shape.num_jobs));
    CHECK(generated.jobs == original.jobs);
    CHECK(to_seconds(generated.span()) == doctest::Approx(to_seconds(original.span())).epsilon(1e-5));
    CHECK(generated.tenants.size() == original.tenants.size());
    // The mean of 10,000 and more heavy-tailed durations, once drawn and once interpolated.
    CHECK(generated.gpu_hours == doctest::Approx(original.gpu_hours).epsilon(0.1));
    for (std::size_t i = 0; i + 1 < Distribution::kPercents.size(); ++i) {
      CAPTURE(Distribution::kPercents[i]);
      CHECK(to_seconds(generated.duration.percentiles[i]) ==
            doctest::Approx(to_seconds(original.duration.percentiles[i])).epsilon(0.15));
    }
    for (const std::size_t i : {2, 4, 6}) {  // p50, p90 and p99
      CHECK(to_seconds(generated.inter_arrival.percentiles[i]) ==
            doctest::Approx(to_seconds(original.inter_arrival.percentiles[i])).epsilon(0.25));
    }
  }
}
