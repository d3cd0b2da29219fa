/// Fits a generator's shape to a trace, so that it can be published in the trace's place: `vtrain trace fit`.
#pragma once

#include <string>

#include "core/result.hpp"
#include "traces/workload_shape.hpp"
#include "workloads/job.hpp"

namespace vtrain {

/// The fewest jobs to which a shape is fitted.
inline constexpr std::size_t kFewestFittedJobs = 100;

/// The shape of the jobs, which are ordered by submission. Kept are:
///
/// * how many jobs have each number of GPUs;
/// * quantiles of the durations of each number of GPUs, of neighbouring numbers together where they have less
///   than 100 jobs;
/// * the mean gap between submissions; the day's rhythm, as the first harmonic over the whole days of the
///   trace (none below two days); the spread of the gaps besides that rhythm, as the sigma of a log-normal
///   distribution with their mean and median (a higher quantile where half of the gaps are 0);
/// * how many jobs each tenant has, without its name, most first (at most 10,000 tenants);
/// * how many jobs ended in each way.
///
/// Nothing else leaves the trace: no names, no instants, and of durations 24 values for 100 jobs or more.
/// `arrivals` is `Bursty` where the median gap is not that of a Poisson process, `Diurnal` where the rhythm
/// is more than chance. Jobs without a duration are left out; an error if fewer than `kFewestFittedJobs`
/// stay. O(n log n).
Result<WorkloadShape> fit_shape(const Workload& workload, std::string name);

}  // namespace vtrain
