/// Fits a generator's shape to a trace, so that it can be published in the trace's place: `vtrain trace fit`.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "traces/synthesis/workload_shape.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The fewest jobs to which a shape is fitted.
inline constexpr std::size_t kFewestFittedJobs = 100;

/// The shape of the jobs, which are ordered by submission. Kept are:
///
/// * how many jobs have each number of GPUs;
/// * quantiles of the durations of each number of GPUs, of neighbouring numbers together where they have less
///   than 100 jobs, with the power of the number of GPUs by which these durations are to be multiplied for
///   generated jobs to hold as many GPU-hours as those of the trace;
/// * the mean gap between submissions; the day's rhythm, as the first harmonic over the whole days of the
///   trace (none below two days); 24 quantiles of the gaps besides that rhythm, the last such that the
///   longest thousandth has its mean, and their spread as the sigma of a log-normal distribution with their
///   mean and median (a higher quantile where half of the gaps are 0);
/// * how many jobs each tenant has, without its name, most first (at most 10,000 tenants); of those with 100
///   jobs and more (at most 200) by the groups of numbers of GPUs that have durations of their own, of the
///   others together;
/// * how many jobs ended in each way, by those groups and the quarter of their durations.
///
/// Nothing else leaves the trace: no names, no instants, of gaps 24 values, and of durations 24 values and a
/// power for 100 jobs or more. Where one of two sizes of such a group has a single job, the power tells about
/// how long that ran. Of gaps the order is not kept, and of durations not which tenant they are of.
/// `arrivals` is `Bursty` where the median gap is not that of a Poisson process, `Diurnal` where the rhythm
/// is more than chance. Jobs without a duration are left out; an error if fewer than `kFewestFittedJobs`
/// stay. O(n log n).
Result<WorkloadShape> fit_shape(const Workload& workload, std::string name);

}  // namespace vtrain
