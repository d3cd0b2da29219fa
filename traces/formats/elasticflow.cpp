/// The CSV of the ElasticFlow simulator (Gu et al., ASPLOS'23), in both of its dialects.
///
/// Kept: submission, duration and iterations, GPUs, the most GPUs (`max_gpu`), model, global batch, deadline.
/// The file has no tenant, user, GPU type, requested time, status or original start. A job with `best_effort`
/// 1 has no deadline. `real_iteration` and `real_duration`, the true values, take precedence over `iteration`
/// and `duration`, the scheduler's estimates. Times are whole seconds, deadlines from the trace's origin.
///
/// The run time of a job without a duration is iterations / (iterations/s). The rate is from the tables of
/// `ReadOptions::throughputs`, or of the folder `throughputs` in the trace's folder
/// (`read_throughput_tables`); a missing rate is an error. A job whose `max_gpu` is below its `num_gpu`, as
/// in the published traces, requests `max_gpu` GPUs. The number of such jobs is one of the trace's
/// assumptions.
///
/// Recognised by `job_id`, `model_name`, `batch_size` and `num_gpu`, and by columns for submission,
/// iterations and deadline. These are `submission_time`, `num_iteration` and `deadline` in the released
/// traces. In those of the simulator they are `submit_time`, `iteration` or `real_iteration`, and `ddl`.
#include "traces/formats/formats.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "traces/reading/job_csv.hpp"
#include "traces/reading/job_fields.hpp"
#include "workloads/jobs/throughput_table.hpp"

namespace vtrain {
namespace {

/// The tables with the throughputs of jobs, for jobs without a duration and for speeds on other numbers of
/// GPUs.
class Prices {
 public:
  explicit Prices(const TraceInput& input) : path_(input.options.throughputs) {
    const std::filesystem::path beside = std::filesystem::path(input.file).parent_path() / "throughputs";
    std::error_code code;
    if (path_.empty() && input.file != "-" && std::filesystem::is_directory(beside, code)) {
      path_ = beside.string();
    }
  }

  /// Reads the tables that the user named, so that a wrong name is an error even if no table is needed.
  Result<void> open() {
    if (tables_) return {};
    auto tables = read_throughput_tables(path_);
    if (!tables) return fail(std::move(tables.error()));
    tables_ = *std::move(tables);
    return {};
  }

  /// The duration of a job of this model.
  Result<SimDuration> duration(const Job& job, const std::string& model) {
    if (path_.empty()) {
      return fail({.message = "no duration, and no throughput tables to compute one: name their folder with "
                              "--throughputs"});
    }
    if (auto opened = open(); !opened) return fail(std::move(opened.error()));
    ++num_jobs_;
    return tables_->duration(model, job.global_batch, job.num_gpus, job.iterations);
  }

  /// Sets the job's curve from the speeds of its model and batch in the tables, if there are any.
  Result<void> add_curve(Job& job, Workload& workload) {
    if (path_.empty() || !job.model) return {};
    if (auto opened = open(); !opened) return opened;
    const auto [known, is_new] = curves_.try_emplace({job.model, job.global_batch});
    if (is_new) {
      const ThroughputTable* const table = tables_->find(workload.models[job.model.value]);
      std::vector<SpeedByGpus::Level> levels;
      if (table != nullptr) levels = table->profiled_levels(job.global_batch);
      if (!levels.empty()) {
        known->second = CurveId(static_cast<std::uint32_t>(workload.curves.size()));
        workload.curves.emplace_back(std::move(levels));
      }
    }
    job.curve = known->second;
    return {};
  }

  /// Lowers the requested GPUs of a job to its `max_gpu`, as ElasticFlow's simulator does. Its duration
  /// becomes that of the tables if they have one; otherwise it is unchanged.
  Result<void> lower_request(Job& job, const Workload& workload) {
    job.num_gpus = job.max_gpus;
    ++num_lowered_;
    if (!path_.empty() && job.model) {
      if (auto opened = open(); !opened) return opened;
      const auto duration =
          tables_->duration(workload.models[job.model.value], job.global_batch, job.num_gpus, job.iterations);
      if (duration) {
        job.duration = *duration;
        return {};
      }
    }
    ++num_durations_kept_;
    return {};
  }

  void note(Trace& trace) const {
    if (tables_) trace.files.assign(tables_->files().begin(), tables_->files().end());
    if (num_jobs_ > 0) {
      trace.assumptions.push_back(
          fmt::format("{} iterations / throughput, from {}",
                      num_jobs_ == 1 ? "1 run time is" : fmt::format("{} run times are", num_jobs_), path_));
    }
    if (num_lowered_ > 0) {
      std::string text =
          fmt::format("{} more GPUs than max_gpu: max_gpu is used",
                      num_lowered_ == 1 ? "1 job requests" : fmt::format("{} jobs request", num_lowered_));
      if (num_durations_kept_ > 0)
        text += fmt::format("; the durations of {} are those on num_gpu GPUs", num_durations_kept_);
      trace.assumptions.push_back(std::move(text));
    }
  }

 private:
  std::string path_;
  std::optional<ThroughputTables> tables_;
  std::map<std::pair<ModelId, std::int32_t>, CurveId> curves_;  ///< curves by model and global batch
  std::int64_t num_jobs_ = 0;                                   ///< jobs whose duration is from the tables
  std::int64_t num_lowered_ = 0;                                ///< jobs that requested more than `max_gpu`
  std::int64_t num_durations_kept_ = 0;  ///< lowered jobs whose number of GPUs the tables lack
};

/// Columns that the dialects name differently. True values come before the scheduler's estimates.
constexpr std::array<std::string_view, 2> kSubmitNames = {"submission_time", "submit_time"};
constexpr std::array<std::string_view, 2> kDurationNames = {"real_duration", "duration"};
constexpr std::array<std::string_view, 3> kIterationNames = {"num_iteration", "real_iteration", "iteration"};
constexpr std::array<std::string_view, 2> kDeadlineNames = {"deadline", "ddl"};

/// The first of these columns that the file has.
std::string_view first_of(const CsvReader& header, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (header.find_column(name) >= 0) return name;
  }
  return names.front();
}

/// The deadline of the current row, none for a best-effort job.
Result<SimTime> deadline_of(const CsvReader& row, int deadline, int best_effort) {
  if (best_effort >= 0) {
    const auto flag = row.integer(best_effort, 0, 1);
    if (!flag) return fail(flag.error());
    if (*flag == 1) return Job::kNoDeadline;
  }
  auto instant = parse_instant(row.field(deadline));
  if (!instant) return fail(row.error_at(deadline, std::move(instant.error().message)));
  return instant;
}

/// The largest number of GPUs of the current row's job, 0 if not given.
Result<GpuCount> max_gpus_of(const CsvReader& row, int column) {
  if (column < 0 || row.field(column).empty()) return GpuCount(0);
  auto gpus = parse_num_gpus(row.field(column));
  if (!gpus) return fail(row.error_at(column, std::move(gpus.error().message)));
  return gpus;
}

Result<void> read_rows(JobCsvReader& reader, Prices& prices) {
  const CsvReader& row = reader.row();
  const int max_gpus = row.find_column("max_gpu");
  const auto deadline = row.require_column(first_of(row, kDeadlineNames));
  if (!deadline) return fail(deadline.error());
  const int best_effort = row.find_column("best_effort");
  const int iterations = row.find_column(first_of(row, kIterationNames));
  for (;;) {
    const auto more = reader.next();
    if (!more) return fail(more.error());
    if (!*more) return {};
    auto job = reader.job();
    if (!job) return fail(std::move(job.error()));
    const auto instant = deadline_of(row, *deadline, best_effort);
    if (!instant) return fail(instant.error());
    job->deadline = *instant;
    const auto most = max_gpus_of(row, max_gpus);
    if (!most) return fail(most.error());
    job->max_gpus = *most;
    if (job->max_gpus.value > 0 && job->max_gpus < job->num_gpus) {
      if (auto lowered = prices.lower_request(*job, reader.workload()); !lowered) return lowered;
    }
    if (job->duration.count() == 0) {
      const auto duration = prices.duration(*job, reader.workload().models[job->model.value]);
      if (!duration && !duration.error().file.empty()) return fail(duration.error());
      if (!duration) return fail(row.error_at(iterations, duration.error().message));
      job->duration = *duration;
    }
    if (auto added = prices.add_curve(*job, reader.workload()); !added) return added;
    reader.add(*job);
  }
}

}  // namespace

bool recognise_elasticflow(std::string_view head) {
  const auto header = CsvReader::open_any_header(head, {});
  if (!header) return false;
  const auto has = [&](std::string_view name) { return header->find_column(name) >= 0; };
  const bool released = has("submission_time") && has("num_iteration") && has("deadline");
  const bool simulator = has("submit_time") && (has("iteration") || has("real_iteration")) && has("ddl");
  return (released || simulator) && has("job_id") && has("model_name") && has("batch_size") && has("num_gpu");
}

Result<Trace> read_elasticflow(const TraceInput& input) {
  const auto header = CsvReader::open(input.text, input.file);
  if (!header) return fail(header.error());
  Prices prices(input);
  if (!input.options.throughputs.empty()) {
    if (auto opened = prices.open(); !opened) return fail(std::move(opened.error()));
  }
  auto reader = JobCsvReader::open(input, {.job_id = "job_id",
                                           .submit = first_of(*header, kSubmitNames),
                                           .num_gpus = "num_gpu",
                                           .duration = first_of(*header, kDurationNames),
                                           .model = "model_name",
                                           .global_batch = "batch_size",
                                           .iterations = first_of(*header, kIterationNames)});
  if (!reader) return fail(std::move(reader.error()));
  if (auto read = read_rows(*reader, prices); !read) return fail(std::move(read.error()));
  auto trace = reader->finish();
  if (trace) prices.note(*trace);
  return trace;
}

}  // namespace vtrain
