#include "traces/reading/log_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/base/numbers.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {

double LogRow::number(int column) {
  if (rejected() || !has(column)) return 0;
  const auto value = parse_number(text(column), 0, 1e15);
  if (!value) reject(skip::kBadNumber, column);
  return value.value_or(0);
}

std::int64_t LogRow::count(int column) {
  if (rejected() || !has(column)) return 0;
  const auto value = parse_integer(text(column), 0, std::numeric_limits<std::int32_t>::max());
  if (!value) reject(skip::kBadNumber, column);
  return value.value_or(0);
}

void LogRow::priority(int column, std::int64_t& to) {
  if (!has(column) || rejected()) return;
  const auto value = parse_priority(text(column));
  if (!value) return reject(skip::kBadNumber, column);
  to = *value;
}

GpuCount LogRow::num_gpus(int column) {
  const std::int64_t number = count(column);
  if (number == 0) reject(skip::kNoGpu, column);
  return GpuCount(static_cast<std::int32_t>(number));
}

bool LogRow::require(int column, std::string_view reason) {
  if (!rejected() && !has(column)) reject(reason, column);
  return has(column) && !rejected();
}

SimTime LogRow::local_time(int column, const TimeZone& zone, std::string_view reason) {
  if (!require(column, reason)) return {};
  const auto time = parse_civil_time(text(column));
  if (!time) reject(skip::kBadTime, column);
  return time ? to_sim_time(time->utc(zone)) : SimTime{};
}

SimTime LogRow::instant(int column, std::string_view reason) {
  if (!require(column, reason)) return {};
  const auto time = parse_instant(text(column));
  if (!time) reject(skip::kBadTime, column);
  return time.value_or(SimTime{});
}

SimDuration LogRow::duration(int column) {
  const SimDuration length = instant(column, skip::kNoRunTime).time_since_epoch();
  if (length.count() == 0) reject(skip::kNoRunTime, column);
  return length;
}

void LogRow::set_duration(Job& job, double seconds, int column) {
  if (rejected()) return;
  const Nanoseconds length(seconds * 1e9);
  if (length > kMaxTraceTime) return reject(skip::kTooLong, column);
  job.duration = to_sim_duration(length);
  if (job.duration.count() <= 0) reject(skip::kNoRunTime, column);
}

void LogRow::set_run(Job& job, SimTime submit, SimTime start, SimTime end) {
  if (!rejected()) reject(vtrain::set_run(job, submit, start, end));
}

void LogRow::reject(std::string_view reason, int column) {
  if (rejected() || reason.empty()) return;
  reason_ = reason;
  column_ = column;
}

Result<void> add_row(JobLog& log, const LogRow& row, const Job& job, std::int64_t line,
                     std::span<const std::string> columns) {
  if (!row.rejected()) return log.add(job, line);
  const int column = row.rejected_column();
  const std::string_view name = column < 0 ? std::string_view() : columns[static_cast<std::size_t>(column)];
  return log.skip(row.reason(), line, name, row.text(column));
}

void GpuSum::add(double count, double each) {
  whole_ += count * std::ceil(each);
  used_ += count * each;
}

std::string_view GpuSum::give(Job& job) const {
  if (whole_ == 0) return skip::kNoGpu;
  if (whole_ != std::floor(whole_) || whole_ > std::numeric_limits<std::int32_t>::max())
    return skip::kBadNumber;
  job.num_gpus = GpuCount(static_cast<std::int32_t>(whole_));
  constexpr double kPerGpu = kWholeGpu;
  job.gpu_share = static_cast<std::int16_t>(std::clamp(std::round(used_ / whole_ * kPerGpu), 1.0, kPerGpu));
  return {};
}

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
