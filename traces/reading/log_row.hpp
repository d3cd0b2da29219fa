/// One row of a recorded log on its way to a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/text/calendar.hpp"
#include "traces/reading/job_log.hpp"

namespace vtrain {

/// Access to one row. The first field that is no good rejects the row; later accesses then do nothing, so
/// that reading a row is a plain list of fields. A column of -1 is one that the file lacks. Names should be
/// taken last: those of rejected rows are then not added to the tables of names.
class LogRow {
 public:
  /// `fields` and `workload`, where names are added, outlive the row.
  LogRow(std::span<const std::string_view> fields, Workload& workload)
      : fields_(fields), workload_(workload) {}

  /// Whether the field is there and says something.
  bool has(int column) const { return column >= 0 && !is_missing(text(column)); }
  /// The field as it stands.
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
  /// `vtrain::set_run`, or the row is rejected.
  void set_run(Job& job, SimTime submit, SimTime start, SimTime end);

  void tenant(int column, TenantId& to) { name(column, workload_.tenants, to); }
  void user(int column, UserId& to) { name(column, workload_.users, to); }
  void model(int column, ModelId& to) { name(column, workload_.models, to); }
  void gpu_type(int column, GpuTypeId& to) { name(column, workload_.gpu_types, to); }
  /// Says why the row is no job; the first reason counts. An empty reason is none.
  void reject(std::string_view reason, int column = -1);
  bool rejected() const { return !reason_.empty(); }
  std::string_view reason() const { return reason_; }
  /// The column that says so, or -1.
  int rejected_column() const { return column_; }
  Workload& workload() { return workload_; }

 private:
  /// Whether there is a value and the row is not rejected; it is now for `reason` if the value is missing.
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

/// Adds the job that was read from a row to the log, or counts the row as skipped. `columns` are the names of
/// the columns.
Result<void> add_row(JobLog& log, const LogRow& row, const Job& job, std::int64_t line,
                     std::span<const std::string> columns);

/// The GPUs of a job whose parts ask for fractions of them: adds `count` instances of `each` GPUs (1.5 are
/// two GPUs, three quarters of each used). The share of a job is the mean over its GPUs, in whole
/// thousandths.
class GpuSum {
 public:
  void add(double count, double each);
  /// Sets `num_gpus` and `gpu_share`; the reason why there is none, if so.
  std::string_view give(Job& job) const;

 private:
  double whole_ = 0;  ///< GPUs that are touched
  double used_ = 0;   ///< sum of the used parts
};

}  // namespace vtrain
