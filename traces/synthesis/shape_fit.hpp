/// Fits a generator's shape to a trace, to be published in place of the trace: `vtrain trace fit`.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "traces/synthesis/workload_shape.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The smallest number of jobs to which a shape is fitted.
inline constexpr std::size_t kFewestFittedJobs = 100;

/// The shape of the jobs of a workload, which is ordered by submission. It contains:
///
/// * the number of jobs by number of GPUs;
/// * quantiles of the durations by number of GPUs; neighbouring numbers with less than 100 jobs share them. A
///   power of the number of GPUs multiplies these durations, so that generated jobs have as many GPU-hours as
///   the trace;
/// * the mean gap between submissions, and the day's rhythm, the first harmonic over the whole days of the
///   trace (none below two days). Of the gaps without that rhythm, 24 quantiles, the last chosen so that the
///   longest thousandth keeps its mean. Their spread is the sigma of a log-normal distribution with their
///   mean and median (a higher quantile if half of the gaps are 0);
/// * the number of jobs of each tenant, without its name, most first (at most 10,000 tenants). Tenants with
///   100 jobs or more (at most 200) also have it by group of numbers of GPUs with shared durations; all other
///   tenants have one such row together;
/// * the number of jobs by status, by those groups, and by quarter of their durations.
///
/// Nothing else of the trace is published: no names, no instants, only 24 values for gaps, and 24 durations
/// and a power for 100 jobs or more. If one of two sizes of such a group has a single job, the power shows
/// about how long that job ran. The order of gaps and the tenants of durations are not kept. `arrivals` is
/// `Bursty` if the median gap is not that of a Poisson process, otherwise `Diurnal` if the rhythm is more
/// than chance. Jobs without a duration are left out; an error if fewer than `kFewestFittedJobs` remain. O(n
/// log n).
Result<WorkloadShape> fit_shape(const Workload& workload, std::string name);

}  // namespace vtrain
