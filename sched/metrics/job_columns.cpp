#include "sched/metrics/job_columns.hpp"

#include <array>
#include <stdexcept>

#include "sched/metrics/metrics.hpp"

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
    case JobState::Cancelled:
      return "cancelled";
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Running:
    case JobState::Unfinished:
      return "unfinished";
  }
  throw std::logic_error("a job state without a name");
}

/// Name of a promise's fate; empty without a promise.
JobValue promise_name(PromiseFate fate) {
  if (fate == PromiseFate::None) return {};
  return JobValue(std::string_view(fate == PromiseFate::Kept ? "kept" : "broken"));
}

/// A time of the job, if it has it.
JobValue when(bool known, SimTime time) {
  return known ? JobValue(time.time_since_epoch()) : JobValue();
}

/// Name of this number in a table, if the job has one.
template <class NameId>
JobValue name_of(const NameTable& names, NameId id) {
  return id ? JobValue(std::string_view(names[id.value])) : JobValue();
}

constexpr std::array kJobColumns{
    JobColumn{"job_id", "name of the job",
              [](const JobRow& row) { return JobValue(std::string_view(row.job.name)); }},
    JobColumn{"tenant", "tenant whose share of the cluster it uses",
              [](const JobRow& row) { return name_of(row.workload.tenants, row.job.tenant); }},
    JobColumn{"user", "who submitted it",
              [](const JobRow& row) { return name_of(row.workload.users, row.job.user); }},
    JobColumn{"account", "who pays for it",
              [](const JobRow& row) { return name_of(row.workload.accounts, row.job.account); }},
    JobColumn{"queue", "queue or partition to which it was submitted",
              [](const JobRow& row) { return name_of(row.workload.queues, row.job.queue); }},
    JobColumn{"qos", "quality of service that it was given",
              [](const JobRow& row) { return name_of(row.workload.qos_names, row.job.qos); }},
    JobColumn{
        "priority", "priority that the trace has for it; more goes first",
        [](const JobRow& row) { return row.job.has_priority() ? JobValue(row.job.priority) : JobValue(); }},
    JobColumn{"model", "the model that it trains",
              [](const JobRow& row) { return name_of(row.workload.models, row.job.model); }},
    JobColumn{"submit_s", "submission",
              [](const JobRow& row) { return JobValue(row.job.submit.time_since_epoch()); }},
    JobColumn{"start_s", "first time with GPUs",
              [](const JobRow& row) { return when(has_started(row.outcome), row.outcome.start); }},
    JobColumn{"end_s",
              "time at which it left the cluster; under slotted policies the end that the policy books",
              [](const JobRow& row) { return when(has_ended(row.outcome), row.outcome.end); }},
    JobColumn{"finished_s", "time at which its work was done; the deadline is met if this is not later",
              [](const JobRow& row) {
                return when(row.outcome.state == JobState::Completed, row.outcome.finished);
              }},
    JobColumn{"state", "completed, rejected, failed or unfinished",
              [](const JobRow& row) { return JobValue(state_name(row.outcome.state)); }},
    JobColumn{"num_gpus", "GPUs that it requests",
              [](const JobRow& row) { return JobValue(std::int64_t{row.job.num_gpus.value}); }},
    JobColumn{"gpu_type", "type of GPUs that it requests",
              [](const JobRow& row) { return name_of(row.workload.gpu_types, row.job.gpu_type); }},
    JobColumn{"duration_s", "run time on the GPUs that it requests",
              [](const JobRow& row) {
                return row.job.duration.count() > 0 ? JobValue(row.job.duration) : JobValue();
              }},
    JobColumn{"wait_s", "time without GPUs between submission and end, including after preemption",
              [](const JobRow& row) {
                return has_ended(row.outcome) ? JobValue(waiting_time(row.job, row.outcome)) : JobValue();
              }},
    JobColumn{"jct_s", "job completion time: end minus submission",
              [](const JobRow& row) {
                return has_ended(row.outcome) ? JobValue(job_completion_time(row.job, row.outcome))
                                              : JobValue();
              }},
    JobColumn{"queueing_delay_s", "first start minus submission",
              [](const JobRow& row) {
                return has_started(row.outcome) ? JobValue(queueing_delay(row.job, row.outcome)) : JobValue();
              }},
    JobColumn{"deadline_s", "deadline",
              [](const JobRow& row) { return when(row.job.has_deadline(), row.job.deadline); }},
    JobColumn{"deadline_met", "the work was done by the deadline",
              [](const JobRow& row) {
                return row.job.has_deadline() ? JobValue(deadline_met(row.job, row.outcome)) : JobValue();
              }},
    JobColumn{"preemptions", "number of times that it lost its GPUs",
              [](const JobRow& row) { return JobValue(std::int64_t{row.outcome.preemptions}); }},
    JobColumn{"resizes", "number of times that its number of GPUs changed while it ran",
              [](const JobRow& row) { return JobValue(std::int64_t{row.outcome.resizes}); }},
    JobColumn{"gpu_seconds", "GPUs x seconds that it held",
              [](const JobRow& row) { return JobValue(row.outcome.gpu_time); }},
    JobColumn{"tardiness_s", "time from the deadline to the end of its work; 0 in time",
              [](const JobRow& row) {
                const auto late = tardiness(row.job, row.outcome);
                return late ? JobValue(*late) : JobValue();
              }},
    JobColumn{"promise", "kept or broken: whether the deadline was met that the policy promised to meet",
              [](const JobRow& row) { return promise_name(promise_fate(row.job, row.outcome)); }},
    JobColumn{"cost", "GPU-hours that it held x their price, in dollars",
              [](const JobRow& row) { return row.cost ? JobValue(*row.cost) : JobValue(); }},
    JobColumn{"time_factor", "true over predicted time on the GPUs that it requests (--prediction-error)",
              [](const JobRow& row) { return row.time_factor ? JobValue(*row.time_factor) : JobValue(); },
              true},
};

}  // namespace

std::span<const JobColumn> job_columns() {
  return kJobColumns;
}

}  // namespace vtrain
