/// The tables of jobs that a run leaves: `jobs.csv` and `interruptions.csv`.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/csv.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::Completed:
      return "completed";
    case JobState::Rejected:
      return "rejected";
    case JobState::Failed:
      return "failed";
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Running:
    case JobState::Unfinished:
      return "unfinished";
  }
  throw std::logic_error("a job state without a name");
}

void append_job(std::string& out, const Workload& workload, const Job& job, const JobOutcome& outcome,
                CellText cells) {
  const auto comma_then_seconds = [&out](bool known, std::int64_t nanoseconds) {
    out += ',';
    if (known) append_ns_as_seconds(out, nanoseconds);
  };
  const bool ended = has_ended(outcome);
  const bool started = has_started(outcome);
  append_csv_field(out, job.name, cells);
  out += ',';
  if (job.tenant) append_csv_field(out, workload.tenants[job.tenant.value], cells);
  out += ',';
  if (job.model) append_csv_field(out, workload.models[job.model.value], cells);
  comma_then_seconds(true, job.submit.time_since_epoch().count());
  comma_then_seconds(started, outcome.start.time_since_epoch().count());
  comma_then_seconds(ended, outcome.end.time_since_epoch().count());
  out += ',';
  out += state_name(outcome.state);
  out += ',';
  out += std::to_string(job.num_gpus.value);
  comma_then_seconds(ended, ended ? job_completion_time(job, outcome).count() : 0);
  comma_then_seconds(started, started ? queueing_delay(job, outcome).count() : 0);
  comma_then_seconds(job.has_deadline(), job.deadline.time_since_epoch().count());
  out += ',';
  if (job.has_deadline()) out += deadline_met(job, outcome) ? "true" : "false";
  out += ',';
  out += std::to_string(outcome.preemptions);
  out += ',';
  outcome.gpu_time.append_to(out);
  out += '\n';
}

}  // namespace

void write_jobs_csv(OutputFile& file, const Workload& workload, const SimulationResult& result,
                    CellText cells) {
  // Written row by row: a million rows need no second copy in memory.
  file.write(
      "job_id,tenant,model,submit_s,start_s,end_s,state,num_gpus,jct_s,queueing_delay_s,deadline_s,deadline_"
      "met,preemptions,gpu_seconds\n");
  std::string row;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    row.clear();
    append_job(row, workload, workload.jobs[i], result.outcomes[i], cells);
    file.write(row);
  }
}

std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result, CellText cells) {
  std::string rows = "job_id,failures,preemptions,resizes,gpu_seconds";
  for (const LossCauseInfo& cause : kLossCauses)
    rows += fmt::format(",{}_gpu_seconds", cause.name);
  rows += '\n';
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    const JobOutcome& outcome = result.outcomes[i];
    const LostGpuTime& lost = result.losses[i];
    if (outcome.failures + outcome.preemptions + outcome.resizes == 0 && lost.none()) continue;
    append_csv_field(rows, workload.jobs[i].name, cells);
    rows += fmt::format(",{},{},{},", outcome.failures, outcome.preemptions, outcome.resizes);
    outcome.gpu_time.append_to(rows);
    for (std::size_t cause = 0; cause < kNumLossCauses; ++cause) {
      rows += ',';
      lost[static_cast<LossCause>(cause)].append_to(rows);
    }
    rows += '\n';
  }
  return rows;
}

}  // namespace vtrain
