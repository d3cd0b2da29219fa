#include "traces/reading/log_csv.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace vtrain {

bool header_includes(std::string_view head, std::initializer_list<std::string_view> names) {
  const auto header = CsvReader::open_any_header(head, {});
  return header && std::all_of(names.begin(), names.end(),
                               [&](std::string_view name) { return header->find_column(name) >= 0; });
}

int ColumnFinder::required(std::string_view name) {
  const auto column = rows_.require_column(name);
  if (column) return *column;
  if (!error_) error_ = column.error();
  return -1;
}

std::string_view KeptFields::keep(std::string_view field) {
  const std::less_equal<> not_after;  // of pointers into different arrays too
  const bool in_text = not_after(text_.data(), field.data()) &&
                       not_after(field.data() + field.size(), text_.data() + text_.size());
  return in_text ? field : std::string_view(copies_.emplace_back(field));
}

Result<void> read_log_rows(CsvReader& rows, JobLog& log, const RowReader& read_row) {
  for (;;) {
    auto more = rows.next();
    if (!more) {
      if (auto skipped = log.skip(skip::kMalformed, std::move(more.error())); !skipped) return skipped;
      continue;
    }
    if (!*more) return {};
    LogRow row(rows.fields(), log.workload());
    Job job;
    read_row(row, job);
    if (auto done = add_row(log, row, job, rows.line(), rows.columns()); !done) return done;
  }
}

Result<Trace> read_log_csv(const TraceInput& input, Origin origin,
                           const std::function<RowReader(ColumnFinder&)>& bind, JobLog log) {
  auto rows = CsvReader::open(input.text, input.file);
  if (!rows) return fail(std::move(rows.error()));
  ColumnFinder columns(*rows);
  const RowReader read_row = bind(columns);
  if (columns.error()) return fail(*columns.error());
  log.reserve(most_csv_rows(input.text, rows->columns().size()));
  if (auto read = read_log_rows(*rows, log, read_row); !read) return fail(std::move(read.error()));
  return log.finish(origin);
}

Result<Trace> read_log_csv(const TraceInput& input, Origin origin,
                           const std::function<RowReader(ColumnFinder&)>& bind) {
  return read_log_csv(input, origin, bind, JobLog(input));
}

}  // namespace vtrain
