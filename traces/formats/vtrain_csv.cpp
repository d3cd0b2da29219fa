/// Our own trace format: CSV with a header, one job a row, times in decimal seconds from the trace's origin.
///
///     job_id,tenant,user,account,queue,qos,priority,submit_s,num_gpus,gpu_type,gpu_share,max_gpus,num_nodes,
///     gpus_per_node,node_features,cpu_milli,memory_mib,duration_s,requested_s,deadline_s,model,global_batch,iterations,
///     dependencies,original_start_s,status
///
/// Required are `job_id`, `submit_s` and `num_gpus`, and for each job either `duration_s` or all of `model`,
/// `global_batch` and `iterations`. Columns may be in any order; an empty field means "not given". An unknown
/// column is an error, so that a misspelt column is not ignored. `gpu_share` is the part of each GPU that a
/// job uses, 1 when not given; `status` is a name of `status_names`. The first row of the column `assumed`
/// lists assumed or synthetic fields of the whole trace, separated by a semicolon and two blanks. Version 0.1
/// wrote them before the header, in lines that begin with `#`.
///
/// Recognised by `job_id` and `submit_s`, without the `end_s` of a table of results. Written are the columns
/// for which at least one job has a value, and then the assumptions. Reading returns both, to the nanosecond.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "core/io/file.hpp"
#include "traces/reading/columns.hpp"
#include "traces/reading/job_csv.hpp"

namespace vtrain {
namespace {

/// The column of assumptions on the whole trace, and the separator of its facts.
constexpr std::string_view kAssumed = "assumed";
constexpr std::string_view kBetweenFacts = ";  ";

/// The facts in a cell of that column.
std::vector<std::string> split_facts(std::string_view cell) {
  std::vector<std::string> facts;
  while (!cell.empty()) {
    const std::size_t end = cell.find(kBetweenFacts);
    facts.push_back(printable(cell.substr(0, end)));
    cell.remove_prefix(end == std::string_view::npos ? cell.size() : end + kBetweenFacts.size());
  }
  return facts;
}

/// Writes rows with the columns for which some job has a value.
class JobCsvWriter {
 public:
  /// `assumed` is written in the first row; if it is empty, its column is omitted.
  explicit JobCsvWriter(const Workload& workload, std::string assumed = {})
      : workload_(workload), assumed_(std::move(assumed)), has_assumed_(!assumed_.empty()) {
    for (const TraceColumn& column : trace_columns()) {
      // Columns that every job has are also in a table without jobs.
      const auto is_given = [&](const Job& job) { return column.is_given(job, workload); };
      if (is_given(Job()) || std::any_of(workload.jobs.begin(), workload.jobs.end(), is_given))
        columns_.push_back(&column);
    }
  }

  void append_header(std::string& out) const {
    for (const TraceColumn* const column : columns_) {
      if (column != columns_.front()) out += ',';
      out += column->name;
    }
    if (has_assumed_) out += fmt::format(",{}", kAssumed);
    out += '\n';
  }

  void append_row(std::string& out, const Job& job) {
    for (const TraceColumn* const column : columns_) {
      if (column != columns_.front()) out += ',';
      if (!column->is_given(job, workload_)) continue;
      if (column->is_text) {
        text_.clear();
        column->append(text_, job, workload_);
        append_csv_field(out, text_);
      } else {
        column->append(out, job, workload_);
      }
    }
    if (has_assumed_) {
      out += ',';
      append_csv_field(out, std::exchange(assumed_, {}));
    }
    out += '\n';
  }

 private:
  const Workload& workload_;
  std::string assumed_;
  bool has_assumed_;
  std::vector<const TraceColumn*> columns_;
  std::string text_;
};

}  // namespace

bool recognise_vtrain_csv(std::string_view head) {
  const auto header = CsvReader::open_any_header(head, {});
  return header && header->find_column("job_id") >= 0 && header->find_column("submit_s") >= 0 &&
         header->find_column("end_s") < 0;
}

Result<Trace> read_vtrain_csv(const TraceInput& input) {
  auto header = CsvReader::open(input.text, input.file);
  if (!header) return fail(header.error());
  std::vector<std::string_view> known = {kAssumed};
  for (const TraceColumn& column : trace_columns())
    known.push_back(column.name);
  for (const std::string& name : header->columns()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return fail({.file = input.file,
                 .line = header->line(),
                 .field = name,
                 .message = "unknown column; " + suggest_name(name, known)});
  }
  auto trace = read_job_csv(input, {.job_id = "job_id",
                                    .submit = "submit_s",
                                    .num_gpus = "num_gpus",
                                    .duration = "duration_s",
                                    .tenant = "tenant",
                                    .requested = "requested_s",
                                    .deadline = "deadline_s",
                                    .model = "model",
                                    .global_batch = "global_batch",
                                    .iterations = "iterations",
                                    .user = "user",
                                    .gpu_type = "gpu_type",
                                    .gpu_share = "gpu_share",
                                    .max_gpus = "max_gpus",
                                    .original_start = "original_start_s",
                                    .status = "status",
                                    .own_columns = true,
                                    .unique_ids = true});
  if (!trace) return trace;
  for (const std::string_view comment : header->comments())
    trace->assumptions.push_back(printable(comment));
  const int assumed = header->find_column(kAssumed);
  if (const auto row = header->next(); row && *row && assumed >= 0) {
    for (std::string& fact : split_facts(header->field(assumed)))
      trace->assumptions.push_back(std::move(fact));
  }
  return trace;
}

Result<void> write_vtrain_csv(const Trace& trace, const std::filesystem::path& path) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  std::string assumed;
  for (const std::string& assumption : trace.assumptions)
    assumed += fmt::format("{}{}", assumed.empty() ? "" : kBetweenFacts, printable(assumption));
  JobCsvWriter writer(trace.workload, std::move(assumed));
  std::string line;
  writer.append_header(line);
  file->write(line);
  for (const Job& job : trace.workload.jobs) {
    line.clear();
    writer.append_row(line, job);
    file->write(line);
  }
  return file->commit();
}

std::string to_vtrain_csv(const Workload& workload) {
  JobCsvWriter writer(workload);
  std::string text;
  writer.append_header(text);
  for (const Job& job : workload.jobs)
    writer.append_row(text, job);
  return text;
}

}  // namespace vtrain
