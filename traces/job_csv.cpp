#include "traces/job_csv.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/text.hpp"
#include "traces/job_fields.hpp"

namespace vtrain {
namespace {

/// Positions of the columns in this file, -1 for one that it lacks.
struct ColumnPositions {
  int job_id, submit, num_gpus, duration, tenant, requested, deadline, model, global_batch, iterations;
  int user, gpu_type, gpu_share, max_gpus, original_start, status;
};

Result<ColumnPositions> find_columns(const CsvReader& rows, const JobColumns& names) {
  const auto optional = [&](std::string_view name) { return name.empty() ? -1 : rows.find_column(name); };
  ColumnPositions at{};
  for (const auto& [name, position] :
       {std::pair{names.job_id, &at.job_id}, {names.submit, &at.submit}, {names.num_gpus, &at.num_gpus}}) {
    const auto found = rows.require_column(name);
    if (!found) return fail(found.error());
    *position = *found;
  }
  at.duration = optional(names.duration);
  at.tenant = optional(names.tenant);
  at.requested = optional(names.requested);
  at.deadline = optional(names.deadline);
  at.model = optional(names.model);
  at.global_batch = optional(names.global_batch);
  at.iterations = optional(names.iterations);
  at.user = optional(names.user);
  at.gpu_type = optional(names.gpu_type);
  at.gpu_share = optional(names.gpu_share);
  at.max_gpus = optional(names.max_gpus);
  at.original_start = optional(names.original_start);
  at.status = optional(names.status);
  const bool has_work = at.model >= 0 && at.global_batch >= 0 && at.iterations >= 0;
  if (at.duration < 0 && !has_work) {
    if (const auto missing = rows.require_column(names.duration); !missing) return fail(missing.error());
  }
  return at;
}

/// Turns rows into jobs. The members are functions of one row each; a false answer means that `error_` says
/// why.
class JobCsvReader {
 public:
  JobCsvReader(CsvReader& rows, const ColumnPositions& at, Workload& workload)
      : rows_(rows), at_(at), workload_(workload) {}

  Result<void> read_row() {
    Job job;
    const bool good = check(at_.job_id, check_name(rows_.field(at_.job_id))) &&
                      take(at_.submit, parse_instant, job.submit) &&
                      take(at_.num_gpus, parse_num_gpus, job.num_gpus) && read_names(job) &&
                      take_if_given(at_.duration, parse_duration, job.duration) &&
                      take_if_given(at_.requested, parse_duration, job.requested_time) &&
                      take_if_given(at_.deadline, parse_instant, job.deadline) && read_work(job) &&
                      take_if_given(at_.gpu_share, parse_gpu_share, job.gpu_share) &&
                      take_if_given(at_.max_gpus, parse_num_gpus, job.max_gpus) &&
                      take_if_given(at_.original_start, parse_instant, job.original_start) &&
                      take_if_given(at_.status, parse_status, job.status);
    if (!good) return fail(std::move(error_));
    job.name = workload_.keep(rows_.field(at_.job_id));
    workload_.jobs.push_back(job);
    return {};
  }

 private:
  bool given(int column) const { return column >= 0 && !rows_.field(column).empty(); }

  template <class T>
  bool check(int column, Result<T>&& checked) {
    if (!checked) error_ = rows_.error_at(column, std::move(checked.error().message));
    return checked.has_value();
  }

  template <class T>
  bool take(int column, Result<T> (*parse)(std::string_view), T& to) {
    auto value = parse(rows_.field(column));
    if (!value) return check(column, std::move(value));
    to = *value;
    return true;
  }

  template <class T>
  bool take_if_given(int column, Result<T> (*parse)(std::string_view), T& to) {
    return !given(column) || take(column, parse, to);
  }

  bool read_names(Job& job) {
    return take_name(at_.tenant, workload_.tenants, job.tenant) &&
           take_name(at_.user, workload_.users, job.user) &&
           take_name(at_.model, workload_.models, job.model) &&
           take_name(at_.gpu_type, workload_.gpu_types, job.gpu_type);
  }

  template <class NameId>
  bool take_name(int column, NameTable& names, NameId& to) {
    if (!given(column)) return true;
    const std::size_t known = names.size();
    to = NameId(names.add(rows_.field(column)));
    // Names repeat: each is checked when it is new.
    return names.size() == known || check(column, check_name(rows_.field(column)));
  }

  bool read_work(Job& job) {
    constexpr auto parse_batch = [](std::string_view text) -> Result<std::int32_t> {
      return parse_integer(text, 1, std::numeric_limits<std::int32_t>::max()).map([](std::int64_t value) {
        return static_cast<std::int32_t>(value);
      });
    };
    constexpr auto parse_iterations = [](std::string_view text) -> Result<std::int64_t> {
      return parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
    };
    if (!take_if_given<std::int32_t>(at_.global_batch, parse_batch, job.global_batch)) return false;
    if (!take_if_given<std::int64_t>(at_.iterations, parse_iterations, job.iterations)) return false;
    const bool has_work = job.model && job.global_batch > 0 && job.iterations > 0;
    if (job.duration.count() > 0 || has_work) return true;
    const int column = at_.duration >= 0 ? at_.duration : given(at_.model) ? at_.iterations : at_.model;
    error_ = rows_.error_at(
        column,
        expected_found("a duration, or a model with its global batch and iterations", rows_.field(column)));
    return false;
  }

  CsvReader& rows_;
  const ColumnPositions& at_;
  Workload& workload_;
  Error error_;
};

/// The line of the row that became the job at this position.
std::int64_t line_of_row(std::string_view text, std::size_t position) {
  auto rows = CsvReader::open(text, {});
  for (std::size_t i = 0; i <= position; ++i)
    (void)rows->next();
  return rows->line();
}

/// At most this many rows can follow: one a line, and each with at least a byte and a separator a field.
std::size_t most_rows(std::string_view text, std::size_t num_columns) {
  const auto num_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return std::min(num_lines, text.size() / (2 * num_columns)) + 1;
}

}  // namespace

Result<Trace> read_job_csv(std::string_view text, const std::string& file, const JobColumns& columns) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  const auto positions = find_columns(*rows, columns);
  if (!positions) return fail(positions.error());
  Trace trace;
  std::vector<Job>& jobs = trace.workload.jobs;
  const std::size_t num_rows = most_rows(text, rows->columns().size());
  jobs.reserve(num_rows);
  JobCsvReader reader(*rows, *positions, trace.workload);
  for (;;) {
    auto more = rows->next();
    if (!more) return fail(std::move(more.error()));
    if (!*more) break;
    if (auto read = reader.read_row(); !read) return fail(std::move(read.error()));
  }
  if (const auto same = find_same_name(jobs)) {
    return fail({.file = file,
                 .line = line_of_row(text, same->second),
                 .field = std::string(columns.job_id),
                 .message = fmt::format("{}: line {} has the same",
                                        expected_found("a job id of its own", jobs[same->second].name),
                                        line_of_row(text, same->first))});
  }
  return trace;
}

bool header_has(std::string_view head, std::initializer_list<std::string_view> required,
                std::initializer_list<std::string_view> optional) {
  const auto header = CsvReader::open(head, {});
  if (!header) return false;
  std::size_t known = 0;
  for (const std::string_view name : required) {
    if (header->find_column(name) < 0) return false;
    ++known;
  }
  for (const std::string_view name : optional)
    known += header->find_column(name) >= 0 ? 1 : 0;
  return known == header->columns().size();
}

}  // namespace vtrain
