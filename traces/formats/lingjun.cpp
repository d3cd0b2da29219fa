/// The tables of Alibaba's Lingjun trace, 2023: `job.csv` and `worker.csv` (Cao et al., "Crux", SIGCOMM'24),
/// joined.
///
/// Kept of a job: `job_name`, `tenant_id`, `user_id`, `priority`, `model`, `status`,
/// `job_max_running_time_minutes` as the requested time, `gmt_job_submitted`, `gmt_job_running` as the
/// original start, and the run time up to `gmt_job_finished`, or otherwise `gmt_job_stopped`. Its GPUs are
/// the sum of `nvidia.com/gpu` in `RES` over the workers of its `job_name`. Times are whole minutes, local
/// time of China. Not in the tables: GPU type, deadline, iterations. Not kept: kind, and the workers'
/// positions in the network.
///
/// Skipped: jobs without worker or without GPU, that never ran, that have not ended, or that took less than a
/// minute. Of jobs with one name only the first is kept, because their workers cannot be distinguished.
#include "traces/formats/formats.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/log_rows.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kLingjunWorkerTable = "worker.csv";

using GpusOfJobs = std::unordered_map<std::string, GpuSum>;

/// `nvidia.com/gpu` of a worker's resources, 0 if absent; nothing if the resources are no JSON object or the
/// value is no number.
std::optional<double> gpus_of_worker(std::string_view resources) {
  if (is_missing(resources)) return 0.0;
  const auto document = JsonDocument::parse(std::string(resources), {});
  if (!document || !document->root().is_object()) return std::nullopt;
  const auto found = document->root().find("nvidia.com/gpu");
  if (found == document->root().end() || found->is_null()) return 0.0;
  const auto number =
      parse_number(found->is_string() ? found->get_ref<const std::string&>() : found->dump(), 0, 1e6);
  return number ? std::optional(*number) : std::nullopt;
}

Result<GpusOfJobs> read_workers(std::string_view text, const std::string& file, JobLog& log) {
  constexpr std::string_view kMalformed = "malformed row of the worker table";
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  const auto name = rows->require_column("job_name");
  const auto resources = rows->require_column("RES");
  if (!name || !resources) return fail(!name ? name.error() : resources.error());
  GpusOfJobs gpus;
  for (;;) {
    auto more = rows->next();
    if (more && !*more) return gpus;
    const auto number = more ? gpus_of_worker(rows->field(*resources)) : std::nullopt;
    if (number) {
      gpus[std::string(rows->field(*name))].add(1, *number);
      continue;
    }
    Error error =
        more ? rows->error_at(*resources, expected_found("JSON with the number of GPUs under nvidia.com/gpu",
                                                         rows->field(*resources)))
             : std::move(more.error());
    if (auto skipped = log.skip(kMalformed, std::move(error)); !skipped)
      return fail(std::move(skipped.error()));
  }
}

JobStatus lingjun_job_status(std::string_view word) {
  if (word == "Succeeded") return JobStatus::Completed;
  if (word == "Stopped") return JobStatus::Cancelled;
  return word == "Failed" ? JobStatus::Failed : JobStatus::Unknown;
}

RowReader bind(ColumnFinder& columns, const GpusOfJobs& gpus) {
  const int name = columns.required("job_name");
  const int submit = columns.required("gmt_job_submitted");
  const int start = columns.required("gmt_job_running");
  const int finished = columns.required("gmt_job_finished");
  const int stopped = columns.optional("gmt_job_stopped");
  const int status = columns.optional("status");
  const int tenant = columns.optional("tenant_id");
  const int user = columns.optional("user_id");
  const int priority = columns.optional("priority");
  const int model = columns.optional("model");
  const int most_minutes = columns.optional("job_max_running_time_minutes");
  return [=, &gpus](LogRow& row, Job& job) {
    job.name = row.text(name);
    const auto workers = gpus.find(std::string(job.name));
    if (workers == gpus.end()) return row.reject("no row in the worker table", name);
    row.reject(workers->second.give(job), name);
    if (status >= 0) job.status = lingjun_job_status(row.text(status));
    const SimTime submitted = row.local_time(submit, kChina, skip::kNoSubmission);
    const SimTime started = row.local_time(start, kChina, skip::kNeverStarted);
    const int end = row.has(finished) || !row.has(stopped) ? finished : stopped;
    row.set_run(job, submitted, started, row.local_time(end, kChina, skip::kNotEnded));
    const auto requested = std::chrono::minutes(row.count(most_minutes));
    if (requested <= kMaxTraceTime) job.requested_time = requested;
    row.tenant(tenant, job.tenant);
    row.priority(priority, job.priority);
    row.user(user, job.user);
    row.model(model, job.model);
  };
}

}  // namespace

bool recognise_lingjun(std::string_view head) {
  return header_includes(head, {"job_name", "gmt_job_submitted", "gmt_job_running"});
}

Result<Trace> join_lingjun_tables(const TraceInput& jobs, std::string_view workers,
                                  const std::string& worker_file) {
  JobLog log(jobs);
  const auto gpus = read_workers(workers, worker_file, log);
  if (!gpus) return fail(gpus.error());
  auto trace = read_log_csv(
      jobs, Origin::FirstSubmission, [&](ColumnFinder& columns) { return bind(columns, *gpus); },
      std::move(log));
  if (!trace) return trace;
  trace->assumptions.emplace_back("times are whole minutes, local times of China");
  note_shared_gpus(*trace);
  return trace;
}

Result<Trace> read_lingjun(const TraceInput& input) {
  const auto workers = read_companion(input.file, kLingjunWorkerTable);
  if (!workers) return fail(workers.error());
  if (!*workers) {
    return fail({.kind = ErrorKind::NotFound,
                 .file = input.file,
                 .message = fmt::format("expected {} beside it, which says how many GPUs each job has",
                                        kLingjunWorkerTable)});
  }
  auto trace = join_lingjun_tables(input, (*workers)->text, (*workers)->path);
  if (!trace) return trace;
  trace->files.push_back((*workers)->path);
  trace->has_replaced_bytes = (*workers)->has_replaced_bytes;
  return trace;
}

}  // namespace vtrain
