/// Reads jobs from rows of recorded logs, and logs that are CSV. Rows that are no jobs are skipped and
/// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/io/csv.hpp"
#include "core/text/calendar.hpp"
#include "traces/reading/job_log.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

/// Access to one row. The first bad field rejects the row. Later accesses then do nothing, so that reading a
/// row is a plain list of fields. A column of -1 is absent from the file. Take names last: the names of
/// rejected rows are then not added to the tables of names.
class LogRow {
 public:
  /// `fields` and `workload`, to which names are added, must outlive the row.
  LogRow(std::span<const std::string_view> fields, Workload& workload)
      : fields_(fields), workload_(workload) {}

  /// True if the column exists and the field has a value.
  bool has(int column) const { return column >= 0 && !is_missing(text(column)); }
  /// The unchanged text of the field; empty for an absent column.
  std::string_view text(int column) const {
    return column < 0 ? std::string_view() : fields_[static_cast<std::size_t>(column)];
  }

  /// A number of at least 0, 0 when missing.
  double number(int column);
  /// A whole number of at least 0, 0 when missing.
  std::int64_t count(int column);
  /// A whole number of GPUs; the row is rejected when it is 0 or missing.
  GpuCount num_gpus(int column);
  /// A date; the row is rejected for `reason` when it is missing.
  SimTime local_time(int column, const TimeZone& zone, std::string_view reason);
  /// Decimal seconds of at least 0 from the file's own time 0; the row is rejected for `reason` when missing.
  SimTime instant(int column, std::string_view reason);
  /// Decimal seconds above 0; the row is rejected when missing.
  SimDuration duration(int column);
  /// Sets a duration that was computed from a column.
  void set_duration(Job& job, double seconds, int column);
  /// Calls `vtrain::set_run`, and rejects the row if it fails.
  void set_run(Job& job, SimTime submit, SimTime start, SimTime end);

  void tenant(int column, TenantId& to) { name(column, workload_.tenants, to); }
  void user(int column, UserId& to) { name(column, workload_.users, to); }
  void account(int column, AccountId& to) { name(column, workload_.accounts, to); }
  void queue(int column, QueueId& to) { name(column, workload_.queues, to); }
  void qos(int column, QosId& to) { name(column, workload_.qos_names, to); }
  /// Sets a whole number; rejects the row if the field has another value.
  void priority(int column, std::int64_t& to);
  void model(int column, ModelId& to) { name(column, workload_.models, to); }
  void gpu_type(int column, GpuTypeId& to) { name(column, workload_.gpu_types, to); }
  /// Rejects the row; the first reason counts. An empty reason is ignored.
  void reject(std::string_view reason, int column = -1);
  bool rejected() const { return !reason_.empty(); }
  std::string_view reason() const { return reason_; }
  /// The column that rejected the row, or -1.
  int rejected_column() const { return column_; }
  Workload& workload() { return workload_; }

 private:
  /// Rejects the row for `reason` if the value is missing. Returns true if the row is not rejected.
  bool require(int column, std::string_view reason);
  template <class NameId>
  void name(int column, NameTable& names, NameId& to) {
    if (column >= 0 && !rejected()) reject(take_name(text(column), names, to), column);
  }

  std::span<const std::string_view> fields_;
  Workload& workload_;
  std::string_view reason_;
  int column_ = -1;
};

/// Adds the job that was read from a row to the log, or counts the row as skipped. `columns` are the column
/// names.
Result<void> add_row(JobLog& log, const LogRow& row, const Job& job, std::int64_t line,
                     std::span<const std::string> columns);

/// The GPUs of a job whose parts request fractions of GPUs: `add` counts `count` instances of `each` GPUs.
/// 1.5 GPUs are two GPUs, three quarters of each used. The share of a job is the mean over its GPUs, in whole
/// thousandths.
class GpuSum {
 public:
  void add(double count, double each);
  /// Sets `num_gpus` and `gpu_share`. Returns the reason for a failure, or an empty text.
  std::string_view give(Job& job) const;

 private:
  double whole_ = 0;  ///< number of GPUs that the job occupies, whole or in part
  double used_ = 0;   ///< sum of the used parts of GPUs
};

/// True if the first line of `head` has all these columns; it may have more.
bool header_includes(std::string_view head, std::initializer_list<std::string_view> names);

/// Looks up columns by name. Remembers the first missing column as an error.
class ColumnFinder {
 public:
  /// Searches the columns of `rows`, which must outlive the finder.
  explicit ColumnFinder(const CsvReader& rows) : rows_(rows) {}
  /// The position of a required column; sets `error` if it is absent.
  int required(std::string_view name);
  /// The position of a column, or -1.
  int optional(std::string_view name) const { return rows_.find_column(name); }
  const std::optional<Error>& error() const { return error_; }

 private:
  const CsvReader& rows_;
  std::optional<Error> error_;
};

/// Keeps views of fields valid after the reader has moved on. A field that views the file is kept unchanged.
/// A field that views the reader's unquoted copy is copied.
class KeptFields {
 public:
  /// `text` is the text that the reader reads.
  explicit KeptFields(std::string_view text) : text_(text) {}
  /// `field` or a view of its copy, valid as long as this object and the text.
  std::string_view keep(std::string_view field);

 private:
  std::string_view text_;
  std::deque<std::string> copies_;
};

/// Fills `job` from a row, or rejects the row. `job.name` may be a view of a field.
using RowReader = std::function<void(LogRow& row, Job& job)>;

/// Reads the jobs of a log that has a header. `bind` looks up the columns and returns the function that reads
/// a row. `log` may contain rows that were skipped in other tables.
Result<Trace> read_log_csv(const TraceInput& input, Origin origin,
                           const std::function<RowReader(ColumnFinder&)>& bind, JobLog log);
/// Reads the jobs of a log that has a header into an empty log.
Result<Trace> read_log_csv(const TraceInput& input, Origin origin,
                           const std::function<RowReader(ColumnFinder&)>& bind);
/// Adds the rows of an open file to a log.
Result<void> read_log_rows(CsvReader& rows, JobLog& log, const RowReader& read_row);

}  // namespace vtrain
