/// The shape of a trace: tables that the generator draws from. There are shapes of two published traces;
/// others are fitted to a trace (`traces/synthesis/shape_fit.hpp`).
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

/// Process of submissions.
enum class Arrivals : std::uint8_t {
  Stationary,  ///< a Poisson process with a constant rate
  Diurnal,     ///< a Poisson process whose rate follows the shape's day rhythm
  Bursty,      ///< log-normal gaps with the spread of the shape, stretched by the day's rhythm
};
/// Names `stationary`, `diurnal` and `bursty`, in the order of the enumeration.
std::span<const std::string_view> arrivals_names();
/// Reads one of `arrivals_names`.
Result<Arrivals> parse_arrivals(std::string_view text);

/// Largest number of jobs that a shape describes or that are generated at once.
inline constexpr std::int64_t kMostShapeJobs = 100'000'000;

/// Largest spread of gaps. exp of ten such standard deviations is still far from the limits of a double.
inline constexpr double kMostGapSigma = 10;

/// Number of jobs that request a number of GPUs.
struct GangWeight {
  GpuCount num_gpus{1};
  double weight = 0;  ///< number of jobs in the trace
};

/// The range of `DurationQuantiles::size_exponent`.
inline constexpr double kLeastSizeExponent = -1;
inline constexpr double kMostSizeExponent = 2;

/// Number of equal parts into which run times are divided for statuses.
inline constexpr std::size_t kRunTimeQuarters = 4;

/// Run times of the jobs of some gang sizes.
struct DurationQuantiles {
  GpuCount most_gpus{1};  ///< largest gang size of this entry; smaller gangs belong to earlier entries
  /// Fractions at which quantiles are kept, ascending: 0 is the shortest job, 1 the longest. All entries of a
  /// shape have the same fractions.
  std::vector<double> fractions{};
  std::vector<double> seconds{};  ///< run times on `most_gpus` GPUs by fraction, above 0, not descending
  /// Power of the size that run times are proportional to: -1 if all sizes use equal GPU-hours, 0 if all run
  /// equally long.
  double size_exponent = 0;
  /// Jobs by status for each quarter of these run times, in the order of the shape's `statuses`. A quarter
  /// without jobs uses the shape's `statuses`. Empty: all quarters do.
  std::vector<std::vector<double>> statuses{};

  /// Ratio of the run times of this size to those of `most_gpus`, which the functions below use.
  double size_factor(GpuCount num_gpus) const;
  /// The run time that a fraction of jobs does not exceed. Between the kept quantiles the logarithm is
  /// linear.
  Seconds at(double fraction) const;
  /// The fraction of jobs that do not exceed this run time: the inverse of `at`.
  double fraction_below(Seconds duration) const;
  /// The quarter of a run time, 0 to 3.
  std::size_t quarter_of(Seconds duration) const;
};

/// A rate that rises and falls once a day: 1 + amplitude x cos(2 pi (t - peak) / day), with mean 1.
struct DayRhythm {
  static constexpr double kDay = 86400;  ///< seconds per day
  static constexpr double kRadiansPerSecond = 2 * std::numbers::pi / kDay;

  double amplitude = 0;  ///< relative amplitude, below 1
  double peak = 0;       ///< time of the highest rate, seconds

  /// The rate at `t` seconds.
  double rate(double t) const { return 1 + amplitude * std::cos(kRadiansPerSecond * (t - peak)); }
  /// The rate's integral from 0 to `t` seconds: the time on a clock that runs with the rate.
  double integral(double t) const {
    return t + amplitude / kRadiansPerSecond *
                   (std::sin(kRadiansPerSecond * (t - peak)) + std::sin(kRadiansPerSecond * peak));
  }
};

/// Description of a trace for the generator.
struct WorkloadShape {
  std::string name{};
  std::string summary{};
  std::int64_t num_jobs = 0;  ///< number of jobs of the trace
  Seconds mean_gap{0};        ///< mean gap between the trace's submissions
  std::vector<GangWeight> gangs{};
  std::vector<DurationQuantiles> durations{};  ///< entries ordered by `most_gpus`
  Arrivals arrivals = Arrivals::Diurnal;       ///< process that is nearest to the trace
  double day_amplitude = 0;                    ///< amplitude of the day's rhythm of submissions, below 1
  Seconds day_peak{0};                         ///< time of the highest rate, from the first submission
  /// The standard deviation of the logarithm of the gaps between submissions, for log-normal gaps; at most
  /// `kMostGapSigma`.
  double gap_sigma = 0;
  /// Quantiles of the gaps at the fractions of the durations, for `Arrivals::Bursty`. Seconds of at least 0
  /// that do not descend, the last above 0. Empty: gaps are log-normal.
  std::vector<double> gap_seconds{};
  std::vector<double> tenants{};  ///< jobs of each tenant; empty: the trace has no tenants
  /// Jobs of a tenant by the entries of `durations`; the last row is for all tenants without their own row.
  /// Empty: tenants do not differ. Every column has jobs.
  std::vector<std::vector<double>> tenant_sizes{};
  std::vector<StatusWeight> statuses{};  ///< jobs by status; empty: unknown

  /// The day's rhythm of the submissions.
  DayRhythm rhythm() const { return {.amplitude = day_amplitude, .peak = day_peak.count()}; }
  /// The run times of jobs with `num_gpus` GPUs.
  const DurationQuantiles& durations_of(GpuCount num_gpus) const;
  /// The position of these run times in `durations`.
  std::size_t size_group(GpuCount num_gpus) const;
  /// The gap that a fraction of gaps does not exceed; `gap_seconds` must not be empty.
  double gap_at(double fraction) const;
};

/// GPU-hours of the traces generated from a shape, over all seeds.
struct GeneratedGpuHours {
  double mean = 0;
  double deviation = 0;  ///< standard deviation: large if few jobs have most of the work
};

/// The GPU-hours of as many jobs as in the shape's trace, from the moments of sizes and run times.
GeneratedGpuHours generated_gpu_hours(const WorkloadShape& shape);

/// The shapes `itp` and `philly`.
std::span<const WorkloadShape> workload_shapes();

/// The shape of this name; the error lists the known ones.
Result<WorkloadShape> find_workload_shape(std::string_view name);

}  // namespace vtrain
