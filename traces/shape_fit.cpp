#include "traces/shape_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {
namespace {

constexpr double kDay = 86400;
constexpr double kRadiansPerSecond = 2 * std::numbers::pi / kDay;

/// Close together where jobs are shortest and longest, because both tails of run times are long.
constexpr std::array<double, 24> kFractions = {0,   0.01, 0.02, 0.05, 0.1,  0.15,  0.2,   0.25,
                                               0.3, 0.4,  0.5,  0.6,  0.7,  0.75,  0.8,   0.85,
                                               0.9, 0.93, 0.95, 0.98, 0.99, 0.995, 0.999, 1};

using SecondsBySize = std::map<GpuCount, std::vector<double>>;

/// Six significant digits, which are more than a sample of jobs can tell and make a short file.
double rounded(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

/// The quantile at each kept fraction; between two values the logarithm is linear, as in
/// `DurationQuantiles::at`. Reorders `values`.
DurationQuantiles fit_durations(GpuCount most_gpus, std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  DurationQuantiles quantiles{.most_gpus = most_gpus, .fractions = {kFractions.begin(), kFractions.end()}};
  for (const double fraction : kFractions) {
    const double rank = fraction * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(rank);
    const double low = values[below];
    const double high = values[std::min(below + 1, values.size() - 1)];
    quantiles.seconds.push_back(rounded(low * std::pow(high / low, rank - std::floor(rank))));
  }
  return quantiles;
}

/// Quantiles of ascending sizes, each of at least 100 jobs: a size with fewer goes with the next larger ones,
/// the largest with those before.
std::vector<DurationQuantiles> fit_durations(const SecondsBySize& by_size) {
  constexpr std::size_t kFewest = 100;
  std::vector<std::pair<GpuCount, std::vector<double>>> groups;
  for (const auto& [num_gpus, seconds] : by_size) {
    if (groups.empty() || groups.back().second.size() >= kFewest) groups.emplace_back();
    groups.back().first = num_gpus;
    groups.back().second.insert(groups.back().second.end(), seconds.begin(), seconds.end());
  }
  if (groups.size() > 1 && groups.back().second.size() < kFewest) {
    auto& before = groups[groups.size() - 2];
    before.first = groups.back().first;
    before.second.insert(before.second.end(), groups.back().second.begin(), groups.back().second.end());
    groups.pop_back();
  }
  std::vector<DurationQuantiles> all;
  for (auto& [most_gpus, seconds] : groups)
    all.push_back(fit_durations(most_gpus, seconds));
  return all;
}

/// Sets the day's rhythm; says whether it is more than chance.
bool fit_rhythm(const std::vector<double>& submissions, WorkloadShape& shape) {
  constexpr double kFewestDays = 2;
  constexpr double kMostAmplitude = 0.95;
  const double days = std::floor(submissions.back() / kDay);
  if (days < kFewestDays) return false;
  double cosine = 0;
  double sine = 0;
  double count = 0;
  for (const double t : submissions) {
    if (t >= days * kDay) break;
    cosine += std::cos(kRadiansPerSecond * t);
    sine += std::sin(kRadiansPerSecond * t);
    count += 1;
  }
  // A rate of 1 + a cos(w (t - peak)) has the mean cosine a / 2 about the peak.
  shape.day_amplitude = rounded(std::min(kMostAmplitude, 2 * std::hypot(cosine, sine) / count));
  const double angle = std::atan2(sine, cosine);
  shape.day_peak = Seconds(rounded((angle < 0 ? angle + 2 * std::numbers::pi : angle) / kRadiansPerSecond));
  // Without a rhythm the amplitude exceeds this once in exp(9) = 8,000 traces (Rayleigh's test).
  return shape.day_amplitude > 6 / std::sqrt(count);
}

/// Sets the spread of the gaps; says whether they differ from those of a Poisson process. Gaps are measured
/// on a clock that runs with the rate, so that the rhythm does not spread them.
bool fit_gaps(const std::vector<double>& submissions, WorkloadShape& shape) {
  const double amplitude = shape.day_amplitude;
  const double peak = shape.day_peak.count();
  const auto clock = [&](double t) {
    return t + amplitude / kRadiansPerSecond *
                   (std::sin(kRadiansPerSecond * (t - peak)) + std::sin(kRadiansPerSecond * peak));
  };
  std::vector<double> gaps;
  for (std::size_t i = 1; i < submissions.size(); ++i)
    gaps.push_back(submissions[i] == submissions[i - 1] ? 0
                                                        : clock(submissions[i]) - clock(submissions[i - 1]));
  const double mean = clock(submissions.back()) / static_cast<double>(gaps.size());
  if (!(mean > 0)) return false;
  std::sort(gaps.begin(), gaps.end());

  // Of a log-normal distribution the quantile of normal score z is mean x exp(z sigma - sigma^2 / 2).
  struct Level {
    double fraction;
    double score;
  };
  constexpr std::array<Level, 5> kLevels = {
      {{0.5, 0}, {0.75, 0.6744898}, {0.9, 1.2815516}, {0.99, 2.3263479}, {0.999, 3.0902323}}};
  const auto quantile = [&](double fraction) {
    return gaps[static_cast<std::size_t>(fraction * static_cast<double>(gaps.size() - 1))];
  };
  auto level = kLevels.begin();
  while (level + 1 != kLevels.end() && quantile(level->fraction) <= 0)
    ++level;
  const double ratio = mean / std::max(quantile(level->fraction), mean * 1e-9);
  shape.gap_sigma =
      rounded(level->score + std::sqrt(std::max(0.0, level->score * level->score + 2 * std::log(ratio))));

  // The median of n exponential gaps is ln 2 of their mean, with a standard deviation of at most
  // 1 / sqrt(n).
  constexpr double kDeviations = 5;
  return std::abs(quantile(0.5) / mean - std::numbers::ln2) >
         kDeviations / std::sqrt(static_cast<double>(gaps.size()));
}

std::vector<double> fit_tenants(const Workload& workload) {
  constexpr std::size_t kMostTenants = 10'000;
  std::vector<double> counts(workload.tenants.size());
  for (const Job& job : workload.jobs) {
    if (job.tenant && job.duration.count() > 0) counts[job.tenant.value] += 1;
  }
  std::sort(counts.begin(), counts.end(), std::greater<>());
  counts.erase(std::find(counts.begin(), counts.end(), 0.0), counts.end());
  counts.resize(std::min(counts.size(), kMostTenants));
  return counts;
}

std::vector<StatusWeight> fit_statuses(const Workload& workload) {
  std::vector<double> counts(status_names().size());
  for (const Job& job : workload.jobs) {
    if (job.duration.count() > 0) counts[static_cast<std::size_t>(job.status)] += 1;
  }
  std::vector<StatusWeight> mix;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) mix.push_back({static_cast<JobStatus>(i), counts[i]});
  }
  const bool nothing_known = mix.size() == 1 && mix.front().status == JobStatus::Unknown;
  return nothing_known ? std::vector<StatusWeight>() : mix;
}

}  // namespace

Result<WorkloadShape> fit_shape(const Workload& workload, std::string name) {
  SecondsBySize by_size;
  std::vector<double> submissions;
  SimTime first{};
  for (const Job& job : workload.jobs) {
    if (job.duration.count() <= 0) continue;
    by_size[job.num_gpus].push_back(to_seconds(job.duration));
    if (submissions.empty()) first = job.submit;
    submissions.push_back(to_seconds(job.submit - first));
  }
  if (submissions.size() < kFewestFittedJobs) {
    return fail({.message = fmt::format("expected at least {} jobs with a duration, found {}",
                                        kFewestFittedJobs, submissions.size())});
  }
  WorkloadShape shape{.name = std::move(name)};
  shape.num_jobs = static_cast<std::int64_t>(submissions.size());
  const double span = submissions.back();
  shape.mean_gap = Seconds(rounded(span / static_cast<double>(submissions.size() - 1)));
  shape.summary =
      fmt::format("fitted to {} jobs of {:.1f} days", with_thousands(shape.num_jobs), span / kDay);
  for (const auto& [num_gpus, seconds] : by_size)
    shape.gangs.push_back({num_gpus, static_cast<double>(seconds.size())});
  shape.durations = fit_durations(by_size);
  const bool rhythm = fit_rhythm(submissions, shape);
  const bool bursty = fit_gaps(submissions, shape);
  shape.arrivals = bursty ? Arrivals::Bursty : rhythm ? Arrivals::Diurnal : Arrivals::Stationary;
  shape.tenants = fit_tenants(workload);
  shape.statuses = fit_statuses(workload);
  return shape;
}

}  // namespace vtrain
