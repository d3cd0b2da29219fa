#include "tools/experiment/placement_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/numbers.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/pricing/training_jobs.hpp"

namespace vtrain {
namespace {

/// The types that jobs ask for and the cluster lacks, with the numbers of their jobs.
std::string lacking_types(const Workload& workload, const GpuTypes& types) {
  std::vector<std::int64_t> jobs_by_type(workload.gpu_types.size());
  for (const Job& job : workload.jobs) {
    if (job.gpu_type && types.allowed(job.gpu_type).empty()) ++jobs_by_type[job.gpu_type.value];
  }
  std::string text;
  for (std::uint32_t type = 0; type < jobs_by_type.size(); ++type) {
    if (jobs_by_type[type] > 0)
      text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", with_thousands(jobs_by_type[type]),
                          workload.gpu_types[type]);
  }
  return text;
}

}  // namespace

std::string placement_help() {
  std::string text = "Where gangs go:";
  for (const PlacementInfo& info : placements())
    text += fmt::format("\n{}: {}", info.name, info.summary);
  return text;
}

std::vector<std::string> placement_notes(const Workload& workload, const ClusterSpec& cluster,
                                         PlacementKind placement) {
  std::vector<std::string> notes;
  const GpuTypes types(cluster, workload.gpu_types);
  const auto typed = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                   [](const Job& job) { return static_cast<bool>(job.gpu_type); });
  if (typed > 0 && !types.named()) {
    notes.push_back(
        fmt::format("GPU types asked for by {} are ignored: the cluster names none", count_of(typed, "job")));
  }
  if (const std::string lacking = lacking_types(workload, types); types.named() && !lacking.empty())
    notes.push_back("jobs rejected because the cluster lacks their GPU type: " + lacking);
  if (types.names().size() > 1) {
    const TrainingJobs predicted(workload);
    const auto anywhere = std::count_if(workload.jobs.begin(), workload.jobs.end(), [&](const Job& job) {
      return types.allowed(job.gpu_type).size() > 1 && !predicted.include(job);
    });
    if (anywhere > 0)
      notes.push_back(fmt::format("{} as fast on every type of GPUs: no model says otherwise",
                                  count_of(anywhere, "job")));
  }
  const auto shared = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                    [](const Job& job) { return job.shares_gpus(); });
  const bool shares = info_of(placement).shares_gpus;
  if (shared > 0 && !shares) {
    notes.push_back(fmt::format("whole GPUs for {} asking for part of one: only best-fit and fgd share GPUs",
                                count_of(shared, "job")));
  }
  if (placement == PlacementKind::Fgd) notes.emplace_back("fgd knows how frequent the sizes of all jobs are");
  return notes;
}

}  // namespace vtrain
