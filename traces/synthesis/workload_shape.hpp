/// The shape of a trace, as tables that the generator draws from: of two published traces, or fitted to any
/// (`traces/synthesis/shape_fit.hpp`).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "traces/rules/status_mix.hpp"

namespace vtrain {

/// How submissions come.
enum class Arrivals : std::uint8_t {
  Stationary,  ///< a Poisson process of one rate
  Diurnal,     ///< a Poisson process whose rate follows the day's rhythm of the shape
  Bursty,      ///< log-normal gaps with the spread of the shape, stretched by the day's rhythm
};
/// `stationary`, `diurnal` and `bursty`, in the order of the enumeration.
std::span<const std::string_view> arrivals_names();
/// Reads one of them.
Result<Arrivals> parse_arrivals(std::string_view text);

/// The most jobs that a shape describes and that are generated at once.
inline constexpr std::int64_t kMostShapeJobs = 100'000'000;

/// The widest spread of gaps; exp of ten standard deviations of this is still far from the limits of a
/// double.
inline constexpr double kMostGapSigma = 10;

/// How many jobs ask for this many GPUs.
struct GangWeight {
  GpuCount num_gpus{1};
  double weight = 0;  ///< number of jobs in the trace
};

/// The range of `DurationQuantiles::size_exponent`.
inline constexpr double kLeastSizeExponent = -1;
inline constexpr double kMostSizeExponent = 2;

/// In how many equal parts run times are divided to tell how jobs end.
inline constexpr std::size_t kRunTimeQuarters = 4;

/// Run times of the jobs of some gang sizes.
struct DurationQuantiles {
  GpuCount most_gpus{1};  ///< holds for gangs up to this size, and above the size of the entry before
  /// At which quantiles are kept, ascending: 0 is the shortest job, 1 the longest. The same for all entries
  /// of a shape.
  std::vector<double> fractions{};
  std::vector<double> seconds{};  ///< at each, above 0 and not descending; of gangs of `most_gpus`
  /// Run times go with this power of the size: -1 where all sizes hold GPUs for the same GPU-hours, 0 where
  /// all run as long.
  double size_exponent = 0;
  /// How jobs end by the quarter of these run times that theirs is in, in the order of the shape's
  /// `statuses`; a quarter without jobs is as all are. Empty: so are all quarters.
  std::vector<std::vector<double>> statuses{};

  /// By what the run times of this size differ from those of `most_gpus`, which the functions below tell.
  double size_factor(GpuCount num_gpus) const;
  /// The run time that a fraction of jobs does not exceed: between the kept quantiles the logarithm is
  /// linear.
  Seconds at(double fraction) const;
  /// The fraction of jobs that do not exceed this run time: the inverse of `at`.
  double fraction_below(Seconds duration) const;
  /// The quarter that a run time is in, 0 to 3.
  std::size_t quarter_of(Seconds duration) const;
};

/// A rate that goes up and down once a day: 1 + amplitude x cos(2 pi (t - peak) / day), with the mean 1.
struct DayRhythm {
  static constexpr double kDay = 86400;  ///< in seconds
  static constexpr double kRadiansPerSecond = 2 * std::numbers::pi / kDay;

  double amplitude = 0;  ///< below 1
  double peak = 0;       ///< in seconds, when the rate is highest

  /// The rate at `t` seconds.
  double rate(double t) const { return 1 + amplitude * std::cos(kRadiansPerSecond * (t - peak)); }
  /// Its integral from 0 to `t` seconds: what a clock shows that runs with the rate.
  double integral(double t) const {
    return t + amplitude / kRadiansPerSecond *
                   (std::sin(kRadiansPerSecond * (t - peak)) + std::sin(kRadiansPerSecond * peak));
  }
};

/// What the generator knows of a trace.
struct WorkloadShape {
  std::string name{};
  std::string summary{};
  std::int64_t num_jobs = 0;  ///< of the trace
  Seconds mean_gap{0};        ///< between submissions of the trace
  std::vector<GangWeight> gangs{};
  std::vector<DurationQuantiles> durations{};  ///< ordered by `most_gpus`
  Arrivals arrivals = Arrivals::Diurnal;       ///< the process that comes nearest to the trace
  double day_amplitude = 0;  ///< of the rhythm with which the rate of submission changes; below 1
  Seconds day_peak{0};       ///< when the rate is highest, from the first submission on
  /// The standard deviation of the logarithm of the gaps between submissions, for log-normal gaps; at most
  /// `kMostGapSigma`.
  double gap_sigma = 0;
  /// The gaps themselves at the fractions of the durations, for `Arrivals::Bursty`: seconds from 0 on that do
  /// not descend, the last above 0. Empty: they are log-normal.
  std::vector<double> gap_seconds{};
  std::vector<double> tenants{};  ///< jobs of each tenant; empty: the trace has no tenants
  /// Jobs of a tenant by the entries of `durations`; the last row is of all tenants that have none of their
  /// own. Empty: tenants do not differ. Every column has jobs.
  std::vector<std::vector<double>> tenant_sizes{};
  std::vector<StatusWeight> statuses{};  ///< how jobs end; empty: the trace does not say

  /// The rhythm of its submissions.
  DayRhythm rhythm() const { return {.amplitude = day_amplitude, .peak = day_peak.count()}; }
  /// The run times of jobs with so many GPUs.
  const DurationQuantiles& durations_of(GpuCount num_gpus) const;
  /// The position in `durations` of those.
  std::size_t size_group(GpuCount num_gpus) const;
  /// The gap that a fraction of gaps does not exceed; `gap_seconds` must be there.
  double gap_at(double fraction) const;
};

/// GPU-hours of the traces that are generated from a shape, over all seeds.
struct GeneratedGpuHours {
  double mean = 0;
  double deviation = 0;  ///< the standard deviation: large where few jobs carry most of the work
};

/// Those of as many jobs as the shape's trace has, from the moments of sizes and run times.
GeneratedGpuHours generated_gpu_hours(const WorkloadShape& shape);

/// `itp` and `philly`.
std::span<const WorkloadShape> workload_shapes();

/// The shape of this name; the error lists the known ones.
Result<WorkloadShape> find_workload_shape(std::string_view name);

}  // namespace vtrain
