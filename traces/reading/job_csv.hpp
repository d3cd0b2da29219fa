/// Reads jobs from CSV text with any of the published sets of columns.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/result.hpp"
#include "core/io/csv.hpp"
#include "traces/reading/columns.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

/// Names of the columns. An empty name: the format has no such column. `job_id`, `submit` and `num_gpus` must
/// be in the header; so must `duration`, unless `model`, `global_batch` and `iterations` are. Columns are
/// found by name; other columns are ignored. In a row, an empty field of an optional column means "not
/// given".
struct JobColumns {
  std::string_view job_id;
  std::string_view submit;  ///< decimal time from the trace's origin; all times are in `unit`
  std::string_view num_gpus;
  std::string_view duration{};
  std::string_view tenant{};
  std::string_view requested{};
  std::string_view deadline{};  ///< time from the trace's origin
  std::string_view model{};
  std::string_view global_batch{};
  std::string_view iterations{};
  std::string_view user{};
  std::string_view gpu_type{};
  std::string_view gpu_share{};       ///< used part of each GPU, above 0 and at most 1
  std::string_view max_gpus{};        ///< largest number of GPUs under elastic policies
  std::string_view original_start{};  ///< time from the trace's origin
  std::string_view status{};          ///< a name of `status_name`
  TimeUnit unit = kSeconds;
  bool without_work = false;  ///< jobs need neither a duration nor iterations: the format has neither
  /// True: all other columns of our own formats (`trace_columns`) are read too.
  bool own_columns = false;
  bool unique_ids = false;  ///< a repeated job id is an error; otherwise the first row is kept
};

/// Reads all rows, in the order of the file. A row with the job id of an earlier one is skipped and counted;
/// under `strict`, and if ids must be unique, it is an error that names both lines.
Result<Trace> read_job_csv(const TraceInput& input, const JobColumns& columns);

/// Reads jobs row by row, for formats with rows that are no jobs or with columns that `JobColumns` lacks:
/// `while (*(more = reader.next())) { job = reader.job(); ...; reader.add(*job); }`, then `finish`.
class JobCsvReader {
 public:
  /// Reads the header. `input` and the text of the names must outlive the reader.
  static Result<JobCsvReader> open(const TraceInput& input, const JobColumns& columns);

  /// Moves to the next row: true, or false at the end.
  Result<bool> next() { return rows_.next(); }
  /// The current row.
  const CsvReader& row() const { return rows_; }
  /// The workload with the names and jobs read so far.
  Workload& workload() { return trace_.workload; }
  /// The job of the current row. Its name is a view of the row.
  Result<Job> job();
  /// Adds a job, with a copy of its name.
  void add(Job job);
  /// Counts the row as skipped for `reason`, a string literal; under `strict` this is an error at `column`.
  Result<void> skip(std::string_view reason, int column);
  /// The trace with the added jobs; of jobs with equal ids only the first.
  Result<Trace> finish();

 private:
  /// Positions of the columns in this file, -1 for an absent column.
  struct Positions {
    int job_id, submit, num_gpus, duration, tenant, requested, deadline, model, global_batch, iterations;
    int user, gpu_type, gpu_share, max_gpus, original_start, status;
  };

  JobCsvReader(CsvReader rows, const TraceInput& input, const JobColumns& columns)
      : rows_(std::move(rows)),
        input_(&input),
        unit_(columns.unit),
        without_work_(columns.without_work),
        unique_ids_(columns.unique_ids) {}
  Result<void> find_columns(const JobColumns& names);
  Error repeated_id(const SameName& same) const;
  void drop_repeated(const std::vector<SameName>& repeated);

  // These functions read the current row. The functions that set a value return false after setting `error_`.
  bool given(int column) const { return column >= 0 && !rows_.field(column).empty(); }
  template <class T>
  bool check(int column, Result<T>&& checked);
  template <class T>
  bool take(int column, Result<T> (*parse)(std::string_view), T& to);
  template <class T>
  bool take_if_given(int column, Result<T> (*parse)(std::string_view), T& to);
  template <class T>
  bool take_time(int column, Result<T> (*parse)(std::string_view, const TimeUnit&), T& to);
  template <class NameId>
  bool take_name(int column, NameTable& names, NameId& to);
  bool take_names(Job& job);
  bool take_work(Job& job);
  bool take_others(Job& job);

  CsvReader rows_;
  const TraceInput* input_;
  TimeUnit unit_;
  bool without_work_;
  bool unique_ids_;
  Positions at_{};
  std::vector<std::pair<int, const TraceColumn*>> others_;  ///< position and description of other own columns
  Trace trace_;
  Error error_;
};

/// True if the header line at the start of `head` has all `required` columns, and no others but `optional`
/// ones.
bool header_has(std::string_view head, std::initializer_list<std::string_view> required,
                std::initializer_list<std::string_view> optional);

}  // namespace vtrain
