/// The tab-separated traces of the Gavel simulator (Narayanan et al., OSDI'20) and of Shockwave (Zheng et
/// al., NSDI'23). They have no header; the number of fields identifies the dialect:
///
///     7   job type, command, steps argument, needs data, steps, arrival, GPUs
///    10   job type, command, folder, steps argument, needs data, steps, GPUs, weight, SLO, arrival
///    12   ..., GPUs, mode, weight, SLO, duration, arrival                                    (Shockwave)
///
/// Kept: submission (arrival, seconds), duration, iterations (steps), GPUs, model (the job type, which
/// includes the batch), deadline. The job id is the row's number, from 0, as in the simulator. An SLO of at
/// least 0 is a multiple of the run time: deadline = arrival + SLO x duration (`scheduler.py` of Gavel).
/// Commands, weights and modes are dropped. The file has no tenant, user, GPU type, requested time, status or
/// original start.
///
/// In a file without durations, the run time is steps / (steps/s) on the GPU type
/// `ReadOptions::throughputs_gpu`. The rate is from `ReadOptions::throughputs` (`read_gavel_throughputs`), or
/// from `simulation_throughputs.json` or `throughputs.json`, plain or gzip, in the trace's folder. A missing
/// file, or a job that it lacks, is an error.
///
/// Recognised by a first line of 7, 10 or 12 fields with numbers in the numeric fields.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/trace.hpp"
#include "workloads/jobs/throughput_table.hpp"

namespace vtrain {
namespace {

/// Positions of the fields, -1 for an absent field.
struct Dialect {
  std::size_t num_fields;
  int steps, num_gpus, slo, duration, arrival;
};
constexpr std::array kDialects = {
    Dialect{.num_fields = 7, .steps = 4, .num_gpus = 6, .slo = -1, .duration = -1, .arrival = 5},
    Dialect{.num_fields = 10, .steps = 5, .num_gpus = 6, .slo = 8, .duration = -1, .arrival = 9},
    Dialect{.num_fields = 12, .steps = 5, .num_gpus = 6, .slo = 9, .duration = 10, .arrival = 11},
};
constexpr int kJobType = 0;

const Dialect* find_dialect(std::size_t num_fields) {
  const auto found = std::find_if(kDialects.begin(), kDialects.end(),
                                  [&](const Dialect& dialect) { return dialect.num_fields == num_fields; });
  return found == kDialects.end() ? nullptr : &*found;
}

/// The file of throughputs in a trace's folder, as in the simulator's repository; empty if there is none.
std::string throughputs_beside(const std::string& file) {
  if (file == "-") return {};
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const std::filesystem::path simulated = find_table(folder, "simulation_throughputs.json");
  return (simulated.empty() ? find_table(folder, "throughputs.json") : simulated).string();
}

/// Turns rows into jobs. Errors name the row's line and the field.
class GavelReader {
 public:
  explicit GavelReader(const TraceInput& input) : input_(input), lines_(input.text, input.file) {}

  Result<Trace> read() {
    for (;;) {
      const auto more = lines_.next();
      if (!more) return fail(more.error());
      if (!*more) break;
      if (auto read = read_row(); !read) return fail(std::move(read.error()));
    }
    if (tables_) {
      trace_.assumptions.push_back(fmt::format("run times are steps / throughput on {}, from {}",
                                               input_.options.throughputs_gpu, path_));
      trace_.files.push_back(path_);
    }
    return std::move(trace_);
  }

 private:
  tl::unexpected<Error> complain(std::string field, std::string message) const {
    return fail({.file = input_.file,
                 .line = lines_.number(),
                 .field = std::move(field),
                 .message = std::move(message)});
  }

  Result<void> read_row() {
    ++num_rows_;
    fields_ = split(lines_.line(), '\t');
    if (dialect_ == nullptr) dialect_ = find_dialect(fields_.size());
    if (dialect_ == nullptr || fields_.size() != dialect_->num_fields) {
      return complain(
          "", fmt::format("expected {} fields separated by tabs, found {}",
                          dialect_ ? std::to_string(dialect_->num_fields) : "7, 10 or 12", fields_.size()));
    }
    Job job;
    if (auto taken = take(dialect_->steps, "total_steps", parse_iterations, job.iterations); !taken)
      return taken;
    if (auto taken = take(dialect_->num_gpus, "scale_factor", parse_num_gpus, job.num_gpus); !taken) {
      return taken;
    }
    if (auto taken = take(dialect_->arrival, "arrival_time", parse_instant, job.submit); !taken) return taken;
    const std::string_view job_type = field(kJobType);
    if (auto checked = check_name(job_type); !checked) {
      return complain("job_type", std::move(checked.error().message));
    }
    if (auto taken = take_duration(job, job_type); !taken) return taken;
    if (job.duration.count() == 0) return {};
    if (auto taken = take_deadline(job); !taken) return taken;
    job.model = trace_.workload.model(job_type);
    job.name = trace_.workload.keep(std::to_string(num_rows_ - 1));
    job.line = static_cast<std::uint32_t>(lines_.number());
    trace_.workload.jobs.push_back(job);
    return {};
  }

  std::string_view field(int position) const { return fields_[static_cast<std::size_t>(position)]; }

  template <class T>
  Result<void> take(int position, const char* name, Result<T> (*parse)(std::string_view), T& to) const {
    auto value = parse(field(position));
    if (!value) return complain(name, std::move(value.error().message));
    to = *value;
    return {};
  }

  /// Sets the duration, or leaves it 0 if the row is skipped.
  Result<void> take_duration(Job& job, std::string_view job_type) {
    if (dialect_->duration >= 0) return take(dialect_->duration, "duration", parse_duration, job.duration);
    if (!tables_) {
      if (auto opened = open_tables(); !opened) return opened;
    }
    constexpr std::int64_t kBatchInName = 0;
    auto duration = tables_->duration(job_type, kBatchInName, job.num_gpus, job.iterations);
    if (duration) {
      job.duration = *duration;
    } else if (duration.error().kind != ErrorKind::NotFound || input_.options.strict) {
      return complain("job_type", std::move(duration.error().message));
    } else {
      trace_.skipped.add("job type not profiled on so many GPUs", lines_.number());
    }
    return {};
  }

  Result<void> open_tables() {
    path_ = input_.options.throughputs.empty() ? throughputs_beside(input_.file) : input_.options.throughputs;
    if (path_.empty()) {
      return complain("duration",
                      "the trace has steps but no run times: name the file with the throughputs of its job "
                      "types (--throughputs simulation_throughputs.json)");
    }
    auto by_type = read_gavel_throughputs(path_);
    if (!by_type) return fail(std::move(by_type.error()));
    const auto found = by_type->find(input_.options.throughputs_gpu);
    if (found == by_type->end()) {
      std::vector<std::string_view> names;
      for (const auto& entry : *by_type)
        names.push_back(entry.first);
      return fail({.kind = ErrorKind::NotFound,
                   .file = path_,
                   .message = expected_found(fmt::format("one of the GPU types {}", list_names(names)),
                                             input_.options.throughputs_gpu)});
    }
    tables_ = std::move(found->second);
    return {};
  }

  Result<void> take_deadline(Job& job) const {
    if (dialect_->slo < 0) return {};
    constexpr double kMostTimes = 1e9;
    const auto slo = parse_number(field(dialect_->slo), -kMostTimes, kMostTimes);
    if (!slo) return complain("SLO", slo.error().message);
    if (*slo < 0) return {};
    const double delay = static_cast<double>(job.duration.count()) * *slo;
    const auto limit = static_cast<double>(kMaxTraceTime.count());
    const auto deadline = instant_after(job.submit, to_sim_duration(Nanoseconds(std::min(delay, limit))));
    if (!deadline) return complain("SLO", deadline.error().message);
    job.deadline = *deadline;
    return {};
  }

  const TraceInput& input_;
  LineReader lines_;
  const Dialect* dialect_ = nullptr;
  std::vector<std::string_view> fields_;
  std::int64_t num_rows_ = 0;
  std::string path_;
  std::optional<ThroughputTables> tables_;
  Trace trace_;
};

}  // namespace

bool recognise_gavel(std::string_view head) {
  LineReader lines(head, {});
  const auto more = lines.next();
  if (!more || !*more) return false;
  const auto fields = split(lines.line(), '\t');
  const Dialect* dialect = find_dialect(fields.size());
  if (dialect == nullptr) return false;
  const auto field = [&](int position) { return fields[static_cast<std::size_t>(position)]; };
  return parse_integer(field(dialect->steps), 0, std::numeric_limits<std::int64_t>::max()) &&
         parse_num_gpus(field(dialect->num_gpus)) && parse_instant(field(dialect->arrival));
}

Result<Trace> read_gavel(const TraceInput& input) {
  return GavelReader(input).read();
}

}  // namespace vtrain
