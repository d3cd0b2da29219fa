#include "traces/synthesis/shape_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "traces/rules/tenants.hpp"

namespace vtrain {
namespace {

constexpr double kDay = DayRhythm::kDay;
constexpr double kRadiansPerSecond = DayRhythm::kRadiansPerSecond;

/// Fractions of the fitted quantiles: denser for the shortest and longest jobs, because both tails of run
/// times are long.
constexpr std::array<double, 24> kFittedFractions = {0,   0.01, 0.02, 0.05, 0.1,  0.15,  0.2,   0.25,
                                                     0.3, 0.4,  0.5,  0.6,  0.7,  0.75,  0.8,   0.85,
                                                     0.9, 0.93, 0.95, 0.98, 0.99, 0.995, 0.999, 1};

using SecondsBySize = std::map<GpuCount, std::vector<double>>;

/// Rounds to six significant digits: more than a sample of jobs can show, and short in the file.
double rounded(double value) {
  return round_to_digits(value, 6);
}

/// The quantile of ascending values. Between two values the logarithm is interpolated linearly, as in
/// `DurationQuantiles::at`, or the value if one is 0.
double value_at(const std::vector<double>& values, double fraction) {
  const double rank = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double low = values[below];
  const double high = values[std::min(below + 1, values.size() - 1)];
  const double part = rank - std::floor(rank);
  return low > 0 ? low * std::pow(high / low, part) : part * high;
}

/// Ascending sizes in groups of at least 100 jobs. A size with fewer jobs joins the next larger ones; the
/// largest sizes join the group before.
std::vector<SecondsBySize> group_sizes(SecondsBySize by_size) {
  constexpr std::size_t kFewest = 100;
  std::vector<SecondsBySize> groups;
  std::size_t jobs = kFewest;  // number of jobs in the last group
  for (auto& [num_gpus, seconds] : by_size) {
    if (jobs >= kFewest) {
      groups.emplace_back();
      jobs = 0;
    }
    jobs += seconds.size();
    groups.back().emplace(num_gpus, std::move(seconds));
  }
  if (groups.size() > 1 && jobs < kFewest) {
    groups[groups.size() - 2].merge(groups.back());
    groups.pop_back();
  }
  return groups;
}

/// The exponent b with which jobs drawn from a group have as many GPU-hours as those of the trace. Run times
/// t on g GPUs are drawn as t / g^b, independent of the size, and multiplied by g^b of another job, so that
///
///     log(mean of g^(1 + b)) + log(mean of t / g^b) = log(mean of g t)
///
/// The left side is convex in b and equals the right one at b = -1, where sizes do not affect the product.
/// Above -1 the sign of the difference changes at most once, at the wanted exponent.
double fit_size_exponent(const SecondsBySize& group) {
  if (group.size() < 2) return 0;
  double jobs = 0;
  double gpu_seconds = 0;
  struct Size {
    double relative = 0;  ///< size relative to the largest, so that powers stay small
    double jobs = 0;
    double seconds = 0;
  };
  std::vector<Size> sizes;
  for (const auto& [num_gpus, seconds] : group) {
    sizes.push_back({static_cast<double>(num_gpus.value) / group.rbegin()->first.value,
                     static_cast<double>(seconds.size()),
                     std::accumulate(seconds.begin(), seconds.end(), 0.0)});
    jobs += sizes.back().jobs;
    gpu_seconds += sizes.back().relative * sizes.back().seconds;
  }
  const auto drawn_hold_more = [&](double exponent) {
    double gpus = 0;
    double seconds = 0;
    for (const Size& size : sizes) {
      const double factor = std::pow(size.relative, exponent);
      gpus += size.jobs * size.relative * factor;
      seconds += size.seconds / factor;
    }
    return gpus * seconds > jobs * gpu_seconds;
  };
  double least = kLeastSizeExponent;
  double most = kMostSizeExponent;
  for (int i = 0; i < 50; ++i) {
    const double middle = (least + most) / 2;
    (drawn_hold_more(middle) ? most : least) = middle;
  }
  constexpr double kDigits = 1e2;  // an error of 0.005 changes run times at 64 times the size by 2 %
  return std::round(least * kDigits) / kDigits;
}

/// The quantiles of a group at each fitted fraction, scaled to its largest number of GPUs.
DurationQuantiles fit_durations(const SecondsBySize& group) {
  DurationQuantiles quantiles{.most_gpus = group.rbegin()->first,
                              .fractions = {kFittedFractions.begin(), kFittedFractions.end()},
                              .size_exponent = fit_size_exponent(group)};
  std::vector<double> values;
  for (const auto& [num_gpus, seconds] : group) {
    const double factor = quantiles.size_factor(num_gpus);
    std::transform(seconds.begin(), seconds.end(), std::back_inserter(values),
                   [factor](double each) { return each / factor; });
  }
  std::sort(values.begin(), values.end());
  for (const double fraction : kFittedFractions)
    quantiles.seconds.push_back(rounded(value_at(values, fraction)));
  return quantiles;
}

/// Sets the day's rhythm. Returns true if it is more than chance.
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
  // Without a rhythm, the amplitude exceeds this in one of exp(9) = 8,000 traces (Rayleigh's test).
  return shape.day_amplitude > 6 / std::sqrt(count);
}

/// The quantiles of ascending gaps. If submissions pause for days, the longest gap is far above all others,
/// and linear interpolation of logarithms would invent many such pauses. So the last quantile is the gap with
/// which the longest thousandth keeps its mean, if that gap is shorter.
std::vector<double> fit_gap_quantiles(const std::vector<double>& gaps) {
  std::vector<double> quantiles;
  for (const double fraction : kFittedFractions)
    quantiles.push_back(value_at(gaps, fraction));
  const double low = quantiles[quantiles.size() - 2];
  if (low > 0) {
    constexpr std::size_t kThousand = 1000;
    const auto longest = static_cast<std::ptrdiff_t>((gaps.size() + kThousand - 1) / kThousand);
    const double sum = std::accumulate(gaps.end() - longest, gaps.end(), 0.0);
    // The mean of low x ratio^u over u in [0, 1] is low x (ratio - 1) / ln ratio, which grows with the ratio.
    const double wanted = sum / static_cast<double>(longest) / low;
    double least = 1;
    double most = quantiles.back() / low;
    for (int i = 0; i < 100; ++i) {
      const double ratio = (least + most) / 2;
      const bool too_small = ratio > 1 && (ratio - 1) / std::log(ratio) < wanted;
      (too_small ? least : most) = ratio;
    }
    quantiles.back() = low * most;
  }
  for (double& value : quantiles)
    value = rounded(value);
  return quantiles;
}

/// Sets the spread of the gaps. Returns true if they differ from those of a Poisson process. Gaps are
/// measured on a clock that runs with the rate, so that the rhythm does not widen the spread.
bool fit_gaps(const std::vector<double>& submissions, WorkloadShape& shape) {
  const DayRhythm rhythm = shape.rhythm();
  std::vector<double> gaps;
  for (std::size_t i = 1; i < submissions.size(); ++i)
    gaps.push_back(submissions[i] == submissions[i - 1]
                       ? 0
                       : rhythm.integral(submissions[i]) - rhythm.integral(submissions[i - 1]));
  const double mean = rhythm.integral(submissions.back()) / static_cast<double>(gaps.size());
  if (!(mean > 0)) return false;
  std::sort(gaps.begin(), gaps.end());

  if (gaps.back() > 0) shape.gap_seconds = fit_gap_quantiles(gaps);

  // In a log-normal distribution the quantile with normal score z is mean x exp(z sigma - sigma^2 / 2).
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
  const double sigma =
      level->score + std::sqrt(std::max(0.0, level->score * level->score + 2 * std::log(ratio)));
  shape.gap_sigma = rounded(std::min(sigma, kMostGapSigma));

  // The median of n exponential gaps is ln 2 of their mean, with a standard deviation of at most
  // 1 / sqrt(n).
  constexpr double kDeviations = 5;
  return std::abs(quantile(0.5) / mean - std::numbers::ln2) >
         kDeviations / std::sqrt(static_cast<double>(gaps.size()));
}

/// Sets the number of jobs of each tenant, most first, and by group of sizes for tenants with enough jobs.
void fit_tenants(const Workload& workload, WorkloadShape& shape) {
  constexpr std::size_t kMostRows = 200;
  constexpr double kFewest = 100;
  const std::size_t num_groups = shape.durations.size();
  struct Tenant {
    double jobs = 0;
    std::vector<double> by_group{};
  };
  std::vector<Tenant> tenants(workload.tenants.size());
  for (Tenant& tenant : tenants)
    tenant.by_group.resize(num_groups);
  for (const Job& job : workload.jobs) {
    if (!job.tenant || job.duration.count() <= 0) continue;
    Tenant& tenant = tenants[job.tenant.value];
    tenant.jobs += 1;
    tenant.by_group[shape.size_group(job.num_gpus)] += 1;
  }
  std::stable_sort(tenants.begin(), tenants.end(),
                   [](const Tenant& a, const Tenant& b) { return a.jobs > b.jobs; });
  while (!tenants.empty() && (tenants.back().jobs == 0 || tenants.size() > kMostTenants))
    tenants.pop_back();
  std::vector<double> all(num_groups);
  std::vector<double> rest(num_groups);
  for (const Tenant& tenant : tenants) {
    const bool has_row = tenant.jobs >= kFewest && shape.tenant_sizes.size() < kMostRows;
    shape.tenants.push_back(tenant.jobs);
    if (has_row) shape.tenant_sizes.push_back(tenant.by_group);
    for (std::size_t group = 0; group < num_groups; ++group) {
      all[group] += tenant.by_group[group];
      if (!has_row) rest[group] += tenant.by_group[group];
    }
  }
  if (shape.tenant_sizes.size() < shape.tenants.size()) shape.tenant_sizes.push_back(std::move(rest));
  // A group in which no tenant has a job, or a single group, gives no information on tenants.
  const bool complete = std::find(all.begin(), all.end(), 0.0) == all.end();
  if (!complete || num_groups < 2 || shape.tenant_sizes.size() < 2) shape.tenant_sizes.clear();
}

/// Sets the statuses of jobs, also by group of sizes and quarter of run times.
void fit_statuses(const Workload& workload, WorkloadShape& shape) {
  std::vector<double> counts(status_names().size());
  for (const Job& job : workload.jobs) {
    if (job.duration.count() > 0) counts[static_cast<std::size_t>(job.status)] += 1;
  }
  std::vector<StatusWeight> mix;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) mix.push_back({static_cast<JobStatus>(i), counts[i]});
  }
  const bool nothing_known = mix.size() == 1 && mix.front().status == JobStatus::Unknown;
  if (nothing_known) return;
  for (DurationQuantiles& quantiles : shape.durations)
    quantiles.statuses.assign(kRunTimeQuarters, std::vector<double>(mix.size()));
  for (const Job& job : workload.jobs) {
    if (job.duration.count() <= 0) continue;
    DurationQuantiles& quantiles = shape.durations[shape.size_group(job.num_gpus)];
    const auto entry = std::find_if(mix.begin(), mix.end(),
                                    [&](const StatusWeight& each) { return each.status == job.status; });
    const Seconds as_on_most(to_seconds(job.duration) / quantiles.size_factor(job.num_gpus));
    quantiles.statuses[quantiles.quarter_of(as_on_most)][static_cast<std::size_t>(entry - mix.begin())] += 1;
  }
  shape.statuses = std::move(mix);
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
  for (const SecondsBySize& group : group_sizes(std::move(by_size)))
    shape.durations.push_back(fit_durations(group));
  const bool rhythm = fit_rhythm(submissions, shape);
  const bool bursty = fit_gaps(submissions, shape);
  shape.arrivals = bursty ? Arrivals::Bursty : rhythm ? Arrivals::Diurnal : Arrivals::Stationary;
  fit_tenants(workload, shape);
  fit_statuses(workload, shape);
  return shape;
}

}  // namespace vtrain
