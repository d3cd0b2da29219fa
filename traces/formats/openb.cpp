/// The pods of Alibaba's openb cluster, 2023: `openb_pod_list_*.csv` (Weng et al., "Beware of Fragmentation",
/// USENIX ATC'23).
///
/// Kept of a pod: `name`, `num_gpu`, `gpu_milli` (the part of its GPU, where it has one), `gpu_spec` (the GPU
/// types that it accepts, unchanged: `V100M16|V100M32`), `qos` (also the tenant, because the lists have
/// none), `pod_phase`, `cpu_milli`, `memory_mib`, `creation_time` as the submission, `scheduled_time` as the
/// original start, and the run time up to `deletion_time`. Times are seconds from the start of the list. A
/// pod that was last seen running has a deletion time too, which is taken as its end. Not in the lists: user,
/// model, deadline, requested time, iterations.
///
/// Skipped: pods without GPU, and pods that were never scheduled. The resampled lists (`multigpu20`,
/// `multigpu50`) have no times, which is an error.
#include "traces/formats/formats.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

JobStatus pod_status(std::string_view phase) {
  if (phase == "Succeeded") return JobStatus::Completed;
  if (phase == "Failed") return JobStatus::Failed;
  return phase == "Running" ? JobStatus::Running : JobStatus::Unknown;
}

RowReader bind_openb(ColumnFinder& columns) {
  const int name = columns.required("name");
  const int gpus = columns.required("num_gpu");
  const int milli = columns.required("gpu_milli");
  const int creation = columns.required("creation_time");
  const int deletion = columns.required("deletion_time");
  const int scheduled = columns.required("scheduled_time");
  const int cpu = columns.optional("cpu_milli");
  const int memory = columns.optional("memory_mib");
  const int spec = columns.optional("gpu_spec");
  const int qos = columns.optional("qos");
  const int phase = columns.optional("pod_phase");
  return [=](LogRow& row, Job& job) {
    job.name = row.text(name);
    job.num_gpus = row.num_gpus(gpus);
    const std::int64_t share = row.count(milli);
    if (share < 1 || share > kWholeGpu) row.reject(skip::kBadNumber, milli);
    if (job.num_gpus.value == 1) job.gpu_share = static_cast<std::int16_t>(share);
    if (phase >= 0) job.status = pod_status(row.text(phase));
    row.set_run(job, row.instant(creation, skip::kNoSubmission), row.instant(scheduled, skip::kNeverStarted),
                row.instant(deletion, skip::kNoEnd));
    row.tenant(qos, job.tenant);
    row.qos(qos, job.qos);
    row.gpu_type(spec, job.gpu_type);
    const std::int64_t cpu_milli = row.count(cpu);
    const std::int64_t memory_mib = row.count(memory);
    if (row.rejected() || cpu_milli + memory_mib == 0) return;
    JobRequirements& asked = row.workload().add_requirements(job);
    asked.cpu_milli = cpu_milli;
    asked.memory_mib = memory_mib;
  };
}

}  // namespace

bool recognise_openb(std::string_view head) {
  return header_includes(head, {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
}

Result<Trace> read_openb(const TraceInput& input) {
  if (recognise_openb(input.text) &&
      !header_includes(input.text, {"creation_time", "scheduled_time", "deletion_time"})) {
    return fail({.file = input.file,
                 .line = 1,
                 .message =
                     "expected the columns creation_time, scheduled_time and deletion_time, found a list of "
                     "sizes only, as openb's resampled ones (multigpu20, multigpu50) are; "
                     "openb_pod_list_default.csv has times"});
  }
  auto trace = read_log_csv(input, Origin::AsWritten, bind_openb);
  if (!trace) return trace;
  trace->assumptions.emplace_back("the QoS class is used as tenant");
  const auto& jobs = trace->workload.jobs;
  const auto running = std::count_if(jobs.begin(), jobs.end(),
                                     [](const Job& job) { return job.status == JobStatus::Running; });
  if (running > 0) {
    trace->assumptions.push_back(
        fmt::format("pods last seen running, ended at their deletion time: {}", with_thousands(running)));
  }
  note_shared_gpus(*trace);
  return trace;
}

}  // namespace vtrain
