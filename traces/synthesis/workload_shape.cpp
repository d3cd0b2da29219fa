#include "traces/synthesis/workload_shape.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"

namespace vtrain {
namespace {

/// The fractions of the tables below.
constexpr std::array<double, 12> kFractions = {0,    0.10, 0.25, 0.50,  0.75,  0.90,
                                               0.95, 0.98, 0.99, 0.995, 0.999, 1};

/// Quantiles of the durations of gangs up to a size, in seconds.
struct DurationTable {
  GpuCount most_gpus{1};
  std::array<double, kFractions.size()> seconds{};
};

// Microsoft ITP clusters, March to May 2021, all ten together: 69,351 jobs of at least 600 s
// (github.com/microsoft/elasticflow-traces, raw-traces.tar.gz, MIT licence). Counted by us.
constexpr std::array<GangWeight, 7> kItpGangs = {{{GpuCount(1), 57682},
                                                  {GpuCount(2), 1483},
                                                  {GpuCount(4), 2371},
                                                  {GpuCount(8), 7009},
                                                  {GpuCount(16), 381},
                                                  {GpuCount(32), 354},
                                                  {GpuCount(64), 71}}};
constexpr std::array<DurationTable, 4> kItpDurations = {
    {{GpuCount(1), {600, 1288, 3909, 10131, 14368, 25322, 28837, 56777, 84701, 114941, 409344, 1573360}},
     {GpuCount(4), {601, 1281, 2981, 4259, 17009, 73518, 151394, 344719, 654566, 732491, 1028064, 1114383}},
     {GpuCount(8), {600, 1972, 7216, 18320, 49419, 130331, 207500, 352983, 508024, 665376, 992727, 1237189}},
     {GpuCount(64),
      {602, 1385, 3821, 41263, 107059, 198916, 298548, 435036, 544612, 598264, 1022894, 1022894}}}};

// Microsoft Philly, August to December 2017: 109,570 jobs rebuilt from published derivatives of the log of
// Jeon et al., USENIX ATC'19 (github.com/msr-fiddle/philly-traces, CC-BY-4.0; modified). Counted by us; the
// weights omit the 52 jobs whose gang is not a power of two.
constexpr std::array<GangWeight, 8> kPhillyGangs = {{{GpuCount(1), 95483},
                                                     {GpuCount(2), 2469},
                                                     {GpuCount(4), 5227},
                                                     {GpuCount(8), 5361},
                                                     {GpuCount(16), 775},
                                                     {GpuCount(32), 194},
                                                     {GpuCount(64), 6},
                                                     {GpuCount(128), 3}}};
constexpr std::array<DurationTable, 4> kPhillyDurations = {
    {{GpuCount(1), {1, 57, 103, 1131, 3466, 12489, 42048, 171200, 395079, 852663, 2542917, 5196151}},
     {GpuCount(4), {1, 18, 69, 1065, 53154, 189197, 342406, 690478, 1064474, 1477805, 4399254, 5186309}},
     {GpuCount(8), {1, 72, 378, 8596, 90017, 285575, 516066, 869052, 1255558, 1887155, 3613118, 4628226}},
     {GpuCount(128), {1, 46, 253, 4904, 48179, 161326, 335284, 610200, 727327, 891298, 1428142, 1710643}}}};

// Philly's 112,956 GPU jobs by final state: summary statistics of AcmeTrace, cluster_summary.csv
// (github.com/InternLM/AcmeTrace, CC-BY-4.0).
constexpr std::array<StatusWeight, 3> kPhillyStatuses = {
    {{JobStatus::Completed, 0.604}, {JobStatus::Failed, 0.305}, {JobStatus::Cancelled, 0.09}}};

// The day's rhythm is the first harmonic of the submissions' time of day: amplitude 2 |mean of exp(2 pi i t /
// day)|, peak at its angle. For ITP the day begins at the trace's origin, whose time zone is not published;
// for Philly it is Pacific local time. Gaps between submissions have a mean of 74.6 s and a median of 11 s
// (ITP), 102 s and 8 s (Philly): a log-normal distribution with these has sigma = sqrt(2 ln(mean / median)).
constexpr Seconds hours(double count) {
  return Seconds(count * 3600);
}
std::vector<DurationQuantiles> to_quantiles(std::span<const DurationTable> tables) {
  std::vector<DurationQuantiles> all;
  for (const DurationTable& table : tables) {
    all.push_back({.most_gpus = table.most_gpus,
                   .fractions = {kFractions.begin(), kFractions.end()},
                   .seconds = {table.seconds.begin(), table.seconds.end()}});
  }
  return all;
}

const std::array<WorkloadShape, 2>& shapes() {
  static const std::array<WorkloadShape, 2> all = {
      WorkloadShape{.name = "itp",
                    .summary = "Microsoft's ITP clusters, 2021: jobs of 600 s and more",
                    .num_jobs = 69'351,
                    .mean_gap = Seconds(74.6),
                    .gangs = {kItpGangs.begin(), kItpGangs.end()},
                    .durations = to_quantiles(kItpDurations),
                    .day_amplitude = 0.244,
                    .day_peak = hours(1.75),
                    .gap_sigma = 1.96},
      WorkloadShape{.name = "philly",
                    .summary = "Microsoft's Philly cluster, 2017: many short jobs",
                    .num_jobs = 109'570,
                    .mean_gap = Seconds(102),
                    .gangs = {kPhillyGangs.begin(), kPhillyGangs.end()},
                    .durations = to_quantiles(kPhillyDurations),
                    .day_amplitude = 0.299,
                    .day_peak = hours(3.92),
                    .gap_sigma = 2.26,
                    .statuses = {kPhillyStatuses.begin(), kPhillyStatuses.end()}}};
  return all;
}

/// The value at a fraction. Between two kept values the logarithm is linear, or the value if one is 0.
double quantile(const std::vector<double>& fractions, const std::vector<double>& values, double fraction) {
  const auto above = std::upper_bound(fractions.begin() + 1, fractions.end() - 1, fraction);
  const auto i = static_cast<std::size_t>(above - fractions.begin());
  const double part = (fraction - fractions[i - 1]) / (fractions[i] - fractions[i - 1]);
  if (values[i - 1] <= 0) return part * values[i];
  return values[i - 1] * std::exp(part * std::log(values[i] / values[i - 1]));
}

double hours_of(double seconds) {
  constexpr double kSecondsPerHour = 3600;
  return seconds / kSecondsPerHour;
}

/// The mean between two quantiles: of low x (high / low)^u over u in [0, 1]. The mean of the square is
/// (high^2 - low^2) / (2 ln(high / low)), which is this mean times (low + high) / 2.
double mean_between(double low, double high) {
  constexpr double kSame = 1e-9;  // below, the logarithm loses its digits
  return high - low < kSame * low ? low : (high - low) / std::log(high / low);
}

constexpr std::array<std::string_view, 3> kArrivalsNames = {"stationary", "diurnal", "bursty"};

}  // namespace

double DurationQuantiles::size_factor(GpuCount num_gpus) const {
  return size_exponent == 0 ? 1
                            : std::pow(static_cast<double>(num_gpus.value) / most_gpus.value, size_exponent);
}

Seconds DurationQuantiles::at(double fraction) const {
  return Seconds(quantile(fractions, seconds, fraction));
}

double DurationQuantiles::fraction_below(Seconds duration) const {
  if (duration.count() >= seconds.back()) return 1;
  if (duration.count() <= seconds.front()) return 0;
  const auto above = std::upper_bound(seconds.begin(), seconds.end(), duration.count());
  const auto i = static_cast<std::size_t>(above - seconds.begin());
  const double part = std::log(duration.count() / seconds[i - 1]) / std::log(seconds[i] / seconds[i - 1]);
  return fractions[i - 1] + part * (fractions[i] - fractions[i - 1]);
}

std::size_t DurationQuantiles::quarter_of(Seconds duration) const {
  const double parts = fraction_below(duration) * static_cast<double>(kRunTimeQuarters);
  return std::min(kRunTimeQuarters - 1, static_cast<std::size_t>(parts));
}

const DurationQuantiles& WorkloadShape::durations_of(GpuCount num_gpus) const {
  return durations[size_group(num_gpus)];
}

std::size_t WorkloadShape::size_group(GpuCount num_gpus) const {
  for (std::size_t i = 0; i + 1 < durations.size(); ++i) {
    if (num_gpus <= durations[i].most_gpus) return i;
  }
  return durations.size() - 1;
}

double WorkloadShape::gap_at(double fraction) const {
  return quantile(durations.front().fractions, gap_seconds, fraction);
}

GeneratedGpuHours generated_gpu_hours(const WorkloadShape& shape) {
  double jobs = 0;
  double mean = 0;    // mean GPU-hours of a job, times `jobs`
  double square = 0;  // mean square of these GPU-hours, times `jobs`
  for (const GangWeight& gang : shape.gangs) {
    const DurationQuantiles& quantiles = shape.durations_of(gang.num_gpus);
    const double gpus = gang.num_gpus.value * quantiles.size_factor(gang.num_gpus);
    jobs += gang.weight;
    for (std::size_t i = 1; i < quantiles.seconds.size(); ++i) {
      const double low = gpus * hours_of(quantiles.seconds[i - 1]);
      const double high = gpus * hours_of(quantiles.seconds[i]);
      const double weight = gang.weight * (quantiles.fractions[i] - quantiles.fractions[i - 1]);
      mean += weight * mean_between(low, high);
      square += weight * (low + high) / 2 * mean_between(low, high);
    }
  }
  mean /= jobs;
  const auto count = static_cast<double>(shape.num_jobs);
  return {.mean = count * mean, .deviation = std::sqrt(count * std::max(0.0, square / jobs - mean * mean))};
}

std::span<const WorkloadShape> workload_shapes() {
  return shapes();
}

std::span<const std::string_view> arrivals_names() {
  return kArrivalsNames;
}

Result<Arrivals> parse_arrivals(std::string_view text) {
  return parse_name<Arrivals>("arrivals", kArrivalsNames, text);
}

Result<WorkloadShape> find_workload_shape(std::string_view name) {
  std::vector<std::string_view> names;
  for (const WorkloadShape& shape : shapes()) {
    if (shape.name == name) return shape;
    names.push_back(shape.name);
  }
  return fail(
      {.field = "shape", .message = fmt::format("unknown shape '{}'; {}", name, suggest_name(name, names))});
}

}  // namespace vtrain
