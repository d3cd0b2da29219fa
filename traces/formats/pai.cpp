/// The tables of Alibaba's PAI trace, 2020: `pai_job_table.csv`, `pai_task_table.csv` and
/// `pai_group_tag_table.csv` (Weng et al., "MLaaS in the Wild", NSDI'22), joined. The tables have no header
/// line, but a header is accepted.
///
/// Kept of a job: `job_name`, `user` (also the tenant), `status`, `start_time` of the job as its submission,
/// the first `start_time` of its tasks as the original start, and the run time up to the job's `end_time`.
/// Its GPUs are the sum over its tasks of `inst_num` instances of `plan_gpu` per cent of a GPU each; parts of
/// GPUs become the job's share (see `GpuSum`). By `inst_id`, from the table of tags: the requested GPU type
/// (`gpu_type_spec`), and the `workload` as the model, which few jobs have. Times are seconds minus a
/// constant, so that hours and days of the week are those of China. Not in the tables: deadline, requested
/// time, iterations. Not kept: the allocated GPU type (`gpu_type`), CPUs, memory, `group`, instances.
///
/// Skipped: jobs without a task, without GPU, waiting or running when the log was taken, without start or
/// end.
///
/// Without the table of tags, GPU types and models stay unknown. Without the table of tasks there is nothing
/// to replay, which is an error. Recognised by the header of the job table, or by a row of six fields whose
/// fourth is a job status.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "traces/reading/log_rows.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kPaiTaskTable = "pai_task_table.csv";
constexpr std::string_view kPaiGroupTagTable = "pai_group_tag_table.csv";

constexpr std::array<std::string_view, 6> kJobColumns = {"job_name", "inst_id",    "user",
                                                         "status",   "start_time", "end_time"};
constexpr std::array<std::string_view, 10> kTaskColumns = {"job_name",   "task_name", "inst_num", "status",
                                                           "start_time", "end_time",  "plan_cpu", "plan_mem",
                                                           "plan_gpu",   "gpu_type"};
constexpr std::array<std::string_view, 5> kTagColumns = {"inst_id", "user", "gpu_type_spec", "group",
                                                         "workload"};

/// Sums over the tasks of one job.
struct TaskSum {
  GpuSum gpus{};
  std::optional<SimTime> first_start{};
};

/// Tags of one job.
struct Tags {
  std::string_view gpu_type;
  std::string_view model;
};

/// Rows of a table by the name that it is joined by. Names and values are views of its fields.
template <class Value>
struct TableByName {
  KeptFields fields;
  std::unordered_map<std::string_view, Value> rows{};
};
using TaskSums = TableByName<TaskSum>;
using TagsOfInstances = TableByName<Tags>;

JobStatus pai_job_status(std::string_view word) {
  if (word == "Terminated") return JobStatus::Completed;
  return word == "Failed" ? JobStatus::Failed : JobStatus::Unknown;
}

/// Calls `take` for each row of a table without header that another table refers to. Malformed rows, and rows
/// that `take` rejects, are counted for `reason`.
Result<void> for_each_row(const PaiTable& table, std::span<const std::string_view> columns, JobLog& log,
                          std::string_view reason, const std::function<void(LogRow& row)>& take) {
  CsvReader rows = CsvReader::open_without_header(table.text, table.file, columns);
  for (;;) {
    auto more = rows.next();
    if (more && !*more) return {};
    LogRow row(rows.fields(), log.workload());
    if (more) take(row);
    if (more && !row.rejected()) continue;
    Error error = more ? rows.error_at(std::max(row.rejected_column(), 0), std::string(row.reason()))
                       : std::move(more.error());
    if (auto skipped = log.skip(reason, std::move(error)); !skipped) return skipped;
  }
}

Result<TaskSums> read_tasks(const PaiTable& table, JobLog& log) {
  enum Column { kJobName = 0, kInstances = 2, kStart = 4, kPlanGpu = 8 };
  constexpr double kPerCent = 0.01;
  TaskSums sums{.fields = KeptFields(table.text)};
  auto read = for_each_row(table, kTaskColumns, log, "malformed row of the task table", [&](LogRow& row) {
    const double instances = row.number(kInstances);
    const double each = row.number(kPlanGpu) * kPerCent;
    std::optional<SimTime> start;
    if (row.has(kStart)) start = row.instant(kStart, {});
    if (row.rejected()) return;
    auto known = sums.rows.find(row.text(kJobName));
    if (known == sums.rows.end())
      known = sums.rows.emplace(sums.fields.keep(row.text(kJobName)), TaskSum{}).first;
    TaskSum& sum = known->second;
    sum.gpus.add(instances, each);
    if (start && (!sum.first_start || *start < *sum.first_start)) sum.first_start = start;
  });
  if (!read) return fail(std::move(read.error()));
  return sums;
}

Result<TagsOfInstances> read_tags(const PaiTable& table, JobLog& log) {
  enum Column { kInstance = 0, kGpuType = 2, kWorkload = 4 };
  TagsOfInstances tags{.fields = KeptFields(table.text)};
  auto read = for_each_row(table, kTagColumns, log, "malformed row of the table of tags", [&](LogRow& row) {
    const auto keep = [&](int column) { return tags.fields.keep(row.text(column)); };
    tags.rows.emplace(keep(kInstance), Tags{.gpu_type = keep(kGpuType), .model = keep(kWorkload)});
  });
  if (!read) return fail(std::move(read.error()));
  return tags;
}

RowReader job_reader(const TaskSums& tasks, const TagsOfInstances& tags) {
  enum Column { kJobName = 0, kInstance = 1, kUser = 2, kStatus = 3, kStart = 4, kEnd = 5 };
  return [&tasks, &tags](LogRow& row, Job& job) {
    job.name = row.text(kJobName);
    const auto sum = tasks.rows.find(job.name);
    if (sum == tasks.rows.end()) return row.reject("no row in the task table", kJobName);
    row.reject(sum->second.gpus.give(job));
    const std::string_view status = row.text(kStatus);
    if (status == "Running") row.reject(skip::kNotEnded, kStatus);
    if (status == "Waiting" || !sum->second.first_start) row.reject(skip::kNeverStarted, kStatus);
    job.status = pai_job_status(status);
    row.set_run(job, row.instant(kStart, skip::kNoSubmission), sum->second.first_start.value_or(SimTime{}),
                row.instant(kEnd, skip::kNoEnd));
    row.tenant(kUser, job.tenant);
    row.user(kUser, job.user);
    const auto tag = tags.rows.find(row.text(kInstance));
    if (tag == tags.rows.end()) return;
    row.reject(take_name(tag->second.gpu_type, row.workload().gpu_types, job.gpu_type));
    row.reject(take_name(tag->second.model, row.workload().models, job.model));
  };
}

}  // namespace

bool recognise_pai(std::string_view head) {
  constexpr std::array<std::string_view, 4> kStatuses = {"Running", "Terminated", "Failed", "Waiting"};
  const auto first = CsvReader::open_any_header(head, {});
  if (!first || first->columns().size() != kJobColumns.size()) return false;
  const auto& fields = first->columns();
  return std::equal(fields.begin(), fields.end(), kJobColumns.begin()) ||
         std::find(kStatuses.begin(), kStatuses.end(), fields[3]) != kStatuses.end();
}

Result<Trace> join_pai_tables(const TraceInput& jobs, const PaiTable& tasks, const PaiTable& tags) {
  JobLog log(jobs);
  const auto sums = read_tasks(tasks, log);
  if (!sums) return fail(sums.error());
  const auto tags_of_instances = read_tags(tags, log);
  if (!tags_of_instances) return fail(tags_of_instances.error());
  CsvReader rows = CsvReader::open_without_header(jobs.text, jobs.file, kJobColumns);
  log.reserve(most_csv_rows(jobs.text, kJobColumns.size()));
  if (auto read = read_log_rows(rows, log, job_reader(*sums, *tags_of_instances)); !read) {
    return fail(std::move(read.error()));
  }
  auto trace = log.finish(Origin::AsWritten);
  if (!trace) return trace;
  trace->assumptions.emplace_back("each user is a tenant");
  note_shared_gpus(*trace);
  return trace;
}

Result<Trace> read_pai(const TraceInput& input) {
  const auto tasks = read_companion(input.file, kPaiTaskTable);
  if (!tasks) return fail(tasks.error());
  if (!*tasks) {
    return fail({.kind = ErrorKind::NotFound,
                 .file = input.file,
                 .message = fmt::format("expected {} beside it, which says how many GPUs each job has",
                                        kPaiTaskTable)});
  }
  const auto tags = read_companion(input.file, kPaiGroupTagTable);
  if (!tags) return fail(tags.error());
  const CompanionFile no_tags;
  const CompanionFile& tag_file = *tags ? **tags : no_tags;
  auto trace = join_pai_tables(input, {.text = (*tasks)->text, .file = (*tasks)->path},
                               {.text = tag_file.text, .file = tag_file.path});
  if (!trace) return trace;
  trace->files.push_back((*tasks)->path);
  trace->has_replaced_bytes = (*tasks)->has_replaced_bytes || tag_file.has_replaced_bytes;
  if (*tags) {
    trace->files.push_back(tag_file.path);
  } else {
    trace->assumptions.push_back(fmt::format("no {}: GPU types and models are not known", kPaiGroupTagTable));
  }
  return trace;
}

}  // namespace vtrain
