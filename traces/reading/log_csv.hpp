/// Reads recorded cluster logs that are CSV: rows that are no jobs are skipped and counted.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/io/csv.hpp"
#include "traces/reading/job_log.hpp"
#include "traces/reading/log_row.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the first line of `head` has all these columns, whichever others it has.
bool header_includes(std::string_view head, std::initializer_list<std::string_view> names);

/// Looks up columns by name; the first that is missing is remembered.
class ColumnFinder {
 public:
  /// Among the columns of `rows`, which outlives it.
  explicit ColumnFinder(const CsvReader& rows) : rows_(rows) {}
  /// The position of a column that must be there.
  int required(std::string_view name);
  /// The position of a column, or -1.
  int optional(std::string_view name) const { return rows_.find_column(name); }
  const std::optional<Error>& error() const { return error_; }

 private:
  const CsvReader& rows_;
  std::optional<Error> error_;
};

/// Views of fields that are kept after the reader has moved on. A field is a view of the file, which stays,
/// or of an unquoted copy in the reader, which does not and is copied.
class KeptFields {
 public:
  /// `text` is what the reader reads.
  explicit KeptFields(std::string_view text) : text_(text) {}
  /// `field` or a view of a copy of it, valid as long as this object and the text.
  std::string_view keep(std::string_view field);

 private:
  std::string_view text_;
  std::deque<std::string> copies_;
};

/// Fills `job` from a row, or rejects the row. `job.name` may be a view of a field.
using RowReader = std::function<void(LogRow& row, Job& job)>;

/// Reads the jobs of a log that has a header. `bind` looks up the columns and gives the function that reads a
/// row. `log` may hold rows that were skipped in other tables.
Result<Trace> read_log_csv(const TraceInput& input, Origin origin,
                           const std::function<RowReader(ColumnFinder&)>& bind, JobLog log);
/// The same with an empty log.
Result<Trace> read_log_csv(const TraceInput& input, Origin origin,
                           const std::function<RowReader(ColumnFinder&)>& bind);
/// Adds the rows of an open file to a log.
Result<void> read_log_rows(CsvReader& rows, JobLog& log, const RowReader& read_row);

}  // namespace vtrain
