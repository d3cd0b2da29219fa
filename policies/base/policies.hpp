/// The factories of all policies. A policy's description opens its source file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/base/policy_info.hpp"

namespace vtrain {

/// A policy, or the error that a value given for a parameter is out of range.
using MadePolicy = Result<std::unique_ptr<Policy>>;

// fcfs/first_come.cpp

/// Makes `fifo`: first come, first served.
MadePolicy make_fifo(const PolicyArguments& arguments);
/// Makes `fit-first`: first come, first served among the jobs that fit.
MadePolicy make_fit_first(const PolicyArguments& arguments);
/// Makes `recorded`: the schedule that the trace records.
MadePolicy make_recorded(const PolicyArguments& arguments);

// list

/// Makes `sjf`: fewest GPUs first.
MadePolicy make_sjf(const PolicyArguments& arguments);
/// Makes `srtf`: shortest remaining time first.
MadePolicy make_srtf(const PolicyArguments& arguments);
/// Makes `srsf`: least remaining service first.
MadePolicy make_srsf(const PolicyArguments& arguments);
/// Makes `las`: least attained service in queues.
MadePolicy make_las(const PolicyArguments& arguments);
/// Makes `gittins`: the queues of `las` by Gittins index. Errors also include those of the distribution's
/// file.
MadePolicy make_gittins(const PolicyArguments& arguments);
/// Makes `edf`: earliest deadline first.
MadePolicy make_edf(const PolicyArguments& arguments);
/// Makes `edf-admission`: `edf` that rejects jobs that would be late.
MadePolicy make_edf_admission(const PolicyArguments& arguments);

// backfill

/// Makes `easy-fast`: EASY backfilling by counts.
MadePolicy make_easy_fast(const PolicyArguments& arguments);
/// Makes `easy`: EASY backfilling, by counts or sets of GPUs.
MadePolicy make_easy(const PolicyArguments& arguments);
/// Makes `conservative`: conservative backfilling, by counts or sets of GPUs.
MadePolicy make_conservative(const PolicyArguments& arguments);

// elasticflow

/// Makes `elasticflow`: admission and resizing by deadline.
MadePolicy make_elasticflow(const PolicyArguments& arguments);
/// Makes `elasticflow-edf`: `edf` to the second as in ElasticFlow's simulator.
MadePolicy make_elasticflow_edf(const PolicyArguments& arguments);
/// Makes `elasticflow-las`: `las` to the second as in ElasticFlow's simulator.
MadePolicy make_elasticflow_las(const PolicyArguments& arguments);

// promises

/// Makes `deadline`: promises under real costs.
MadePolicy make_deadline(const PolicyArguments& arguments);

// tenants/fair

/// Makes `fair-share`: weighted max-min shares over the tree of tenants.
MadePolicy make_fair_share(const PolicyArguments& arguments);
/// Makes `drf`: dominant resource fairness over GPUs, CPUs and memory.
MadePolicy make_drf(const PolicyArguments& arguments);

// chronus

/// Makes `chronus`: leases for jobs with deadlines.
MadePolicy make_chronus(const PolicyArguments& arguments);

// tenants

/// Makes `kueue`: Kueue's quotas, borrowing and preemption.
MadePolicy make_kueue(const PolicyArguments& arguments);
/// Makes `slurm`: priorities, limits and backfill of Slurm. Errors also include those of its files.
MadePolicy make_slurm(const PolicyArguments& arguments);

}  // namespace vtrain
