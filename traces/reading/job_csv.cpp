#include "traces/reading/job_csv.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"

namespace vtrain {

Result<JobCsvReader> JobCsvReader::open(const TraceInput& input, const JobColumns& columns) {
  auto rows = CsvReader::open(input.text, input.file);
  if (!rows) return fail(std::move(rows.error()));
  JobCsvReader reader(*std::move(rows), input, columns);
  if (auto found = reader.find_columns(columns); !found) return fail(std::move(found.error()));
  reader.trace_.workload.jobs.reserve(most_csv_rows(input.text, reader.rows_.columns().size()));
  return reader;
}

Result<void> JobCsvReader::find_columns(const JobColumns& names) {
  const auto optional = [&](std::string_view name) { return name.empty() ? -1 : rows_.find_column(name); };
  for (const auto& [name, position] :
       {std::pair{names.job_id, &at_.job_id}, {names.submit, &at_.submit}, {names.num_gpus, &at_.num_gpus}}) {
    const auto found = rows_.require_column(name);
    if (!found) return fail(found.error());
    *position = *found;
  }
  at_.duration = optional(names.duration);
  at_.tenant = optional(names.tenant);
  at_.requested = optional(names.requested);
  at_.deadline = optional(names.deadline);
  at_.model = optional(names.model);
  at_.global_batch = optional(names.global_batch);
  at_.iterations = optional(names.iterations);
  at_.user = optional(names.user);
  at_.gpu_type = optional(names.gpu_type);
  at_.gpu_share = optional(names.gpu_share);
  at_.max_gpus = optional(names.max_gpus);
  at_.original_start = optional(names.original_start);
  at_.status = optional(names.status);
  if (names.own_columns) {
    const std::initializer_list<std::string_view> taken = {
        names.job_id,     names.submit,    names.num_gpus, names.duration,
        names.tenant,     names.requested, names.model,    names.global_batch,
        names.iterations, names.user,      names.gpu_type, names.gpu_share,
        names.status,     names.max_gpus,  names.deadline, names.original_start};
    for (const TraceColumn& column : trace_columns()) {
      const int position = rows_.find_column(column.name);
      if (position >= 0 && std::find(taken.begin(), taken.end(), column.name) == taken.end())
        others_.emplace_back(position, &column);
    }
  }
  const bool has_work = at_.model >= 0 && at_.global_batch >= 0 && at_.iterations >= 0;
  if (at_.duration < 0 && !has_work && !without_work_) {
    // Iterations are useless without the model and the global batch.
    const std::string_view of_work = at_.model < 0 ? names.model : names.global_batch;
    if (auto missing = rows_.require_column(at_.iterations < 0 ? names.duration : of_work); !missing)
      return fail(std::move(missing.error()));
  }
  return {};
}

template <class T>
bool JobCsvReader::check(int column, Result<T>&& checked) {
  if (!checked) error_ = rows_.error_at(column, std::move(checked.error().message));
  return checked.has_value();
}

template <class T>
bool JobCsvReader::take(int column, Result<T> (*parse)(std::string_view), T& to) {
  auto value = parse(rows_.field(column));
  if (!value) return check(column, std::move(value));
  to = *value;
  return true;
}

template <class T>
bool JobCsvReader::take_if_given(int column, Result<T> (*parse)(std::string_view), T& to) {
  return !given(column) || take(column, parse, to);
}

template <class T>
bool JobCsvReader::take_time(int column, Result<T> (*parse)(std::string_view, const TimeUnit&), T& to) {
  if (!given(column)) return true;
  auto value = parse(rows_.field(column), unit_);
  if (!value) return check(column, std::move(value));
  to = *value;
  return true;
}

template <class NameId>
bool JobCsvReader::take_name(int column, NameTable& names, NameId& to) {
  if (!given(column)) return true;
  const std::size_t known = names.size();
  to = NameId(names.add(rows_.field(column)));
  // Names repeat, so each name is checked once, when it is new.
  return names.size() == known || check(column, check_name(rows_.field(column)));
}

bool JobCsvReader::take_names(Job& job) {
  Workload& workload = trace_.workload;
  return take_name(at_.tenant, workload.tenants, job.tenant) &&
         take_name(at_.user, workload.users, job.user) && take_name(at_.model, workload.models, job.model) &&
         take_name(at_.gpu_type, workload.gpu_types, job.gpu_type);
}

bool JobCsvReader::take_work(Job& job) {
  if (!take_time(at_.duration, parse_duration, job.duration) ||
      !take_if_given(at_.global_batch, parse_global_batch, job.global_batch) ||
      !take_if_given(at_.iterations, parse_iterations, job.iterations)) {
    return false;
  }
  const bool has_work = job.model && job.global_batch > 0 && job.iterations > 0;
  if (job.duration.count() > 0 || has_work || without_work_) return true;
  const int column = at_.duration >= 0 ? at_.duration : given(at_.model) ? at_.iterations : at_.model;
  error_ = rows_.error_at(
      column,
      expected_found("a duration, or a model with its global batch and iterations", rows_.field(column)));
  return false;
}

bool JobCsvReader::take_others(Job& job) {
  return std::all_of(others_.begin(), others_.end(), [&](const auto& other) {
    const auto& [position, column] = other;
    return !given(position) || check(position, column->take(rows_.field(position), job, trace_.workload));
  });
}

Result<Job> JobCsvReader::job() {
  Job job;
  job.name = rows_.field(at_.job_id);
  // The submission is required: an empty field is no number.
  auto submit = parse_instant(rows_.field(at_.submit), unit_);
  if (submit) job.submit = *submit;
  const bool good = check(at_.job_id, check_name(job.name)) && check(at_.submit, std::move(submit)) &&
                    take(at_.num_gpus, parse_num_gpus, job.num_gpus) && take_names(job) && take_work(job) &&
                    take_time(at_.requested, parse_duration, job.requested_time) &&
                    take_time(at_.deadline, parse_instant, job.deadline) &&
                    take_if_given(at_.gpu_share, parse_gpu_share, job.gpu_share) &&
                    take_if_given(at_.max_gpus, parse_num_gpus, job.max_gpus) &&
                    take_time(at_.original_start, parse_instant, job.original_start) &&
                    take_if_given(at_.status, parse_status, job.status) && take_others(job);
  if (!good) return fail(std::move(error_));
  if (job.max_gpus.value > 0 && job.max_gpus < job.num_gpus) {
    return fail(rows_.error_at(
        at_.max_gpus, expected_found(fmt::format("at least the {} GPUs asked for", job.num_gpus.value),
                                     rows_.field(at_.max_gpus))));
  }
  return job;
}

void JobCsvReader::add(Job job) {
  job.name = trace_.workload.keep(job.name);
  job.line = static_cast<std::uint32_t>(rows_.line());
  trace_.workload.jobs.push_back(job);
}

Result<void> JobCsvReader::skip(std::string_view reason, int column) {
  if (input_->options.strict) {
    return fail(rows_.error_at(
        column, expected_found(fmt::format("a job to replay ({})", reason), rows_.field(column))));
  }
  trace_.skipped.add(reason, rows_.line());
  return {};
}

Error JobCsvReader::repeated_id(const SameName& same) const {
  const Job& first = trace_.workload.jobs[same.first];
  const Job& second = trace_.workload.jobs[same.second];
  return {.file = input_->file,
          .line = second.line,
          .field = rows_.columns()[static_cast<std::size_t>(at_.job_id)],
          .message = fmt::format("{}: line {} has the same",
                                 expected_found("a job id of its own", second.name), first.line)};
}

void JobCsvReader::drop_repeated(const std::vector<SameName>& repeated) {
  std::vector<Job>& jobs = trace_.workload.jobs;
  std::size_t kept = 0;
  auto next = repeated.begin();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (next != repeated.end() && next->second == i) {
      trace_.skipped.add(skip::kRepeated, jobs[i].line);
      ++next;
    } else {
      jobs[kept++] = jobs[i];
    }
  }
  jobs.resize(kept);
}

Result<Trace> JobCsvReader::finish() {
  const std::vector<SameName> repeated = find_same_names(trace_.workload.jobs);
  if (!repeated.empty()) {
    if (unique_ids_ || input_->options.strict) return fail(repeated_id(repeated.front()));
    drop_repeated(repeated);
  }
  return std::move(trace_);
}

Result<Trace> read_job_csv(const TraceInput& input, const JobColumns& columns) {
  auto reader = JobCsvReader::open(input, columns);
  if (!reader) return fail(std::move(reader.error()));
  for (;;) {
    auto more = reader->next();
    if (!more) return fail(std::move(more.error()));
    if (!*more) return reader->finish();
    auto job = reader->job();
    if (!job) return fail(std::move(job.error()));
    reader->add(*job);
  }
}

bool header_has(std::string_view head, std::initializer_list<std::string_view> required,
                std::initializer_list<std::string_view> optional) {
  const auto header = CsvReader::open_any_header(head, {});
  if (!header) return false;
  const auto& columns = header->columns();
  const auto among = [](std::string_view name, const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return std::all_of(required.begin(), required.end(),
                     [&](std::string_view name) { return among(name, columns); }) &&
         std::all_of(columns.begin(), columns.end(),
                     [&](std::string_view name) { return among(name, required) || among(name, optional); });
}

}  // namespace vtrain
