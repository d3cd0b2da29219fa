/// The accounting records of Slurm as `sacct --parsable2` prints them: fields separated by `|`, columns as
/// the caller requested.
///
/// Kept: submission (or when the job became eligible), run time (elapsed), GPUs and GPU type (TRES), account,
/// which is also the tenant (otherwise the partition is), user, partition as queue, QoS, priority,
/// constraints as features of nodes, requested time (the time limit), status, original start. Slurm's records
/// have no model, iterations, deadline or dependencies.
///
/// Columns are found by name, in upper or lower case. Required are `JobID` or `JobIDRaw`; `Submit`;
/// `ElapsedRaw`, `Elapsed`, or `Start` and `End`; and `AllocTRES`, `ReqTRES`, `AllocGRES` or `ReqGRES`. A `|`
/// at the end of every line (`--parsable`) is accepted, and so are bars and line feeds in free text
/// (`sacct_rows.hpp`).
///
/// * GPUs are those of the first of `AllocTRES`, `AllocGRES`, `ReqTRES` and `ReqGRES` that names any. TRES
///   contain GPUs only if the site accounts for them (`AccountingStorageTRES`). All four count the GPUs of
///   the whole job, except numbers after `PER_NODE:`, which count for each of `NNodes` nodes.
/// * Entries with a type (`gres/gpu:a100=N`, `gpu:a100:N`) give the type. They also give the number if a
///   plain entry of TRES is missing.
/// * Times are local without offset, or seconds since 1970 (`SLURM_TIME_FORMAT=%s`). Local times are read as
///   times of one clock. So a wait across a clock change is wrong by its hour. A run time is too, if there is
///   no column of elapsed times. Time 0 is the first submission.
/// * A job whose `Eligible` is after `Submit` waited for other jobs, for a start time or for a release. It
///   counts as submitted at `Eligible`, which is stated as an assumption. No scheduler could have started it
///   earlier.
/// * A time limit of `UNLIMITED`, `Partition_Limit` or 0 is none. Slurm ends jobs some time after their
///   limit, so the limit of a job that ran longer is its run time.
/// * If `Cluster` has several values, the names of jobs are `cluster/id`.
/// * Rows of job steps (`123.batch`) add nothing and are ignored. The tasks of an array and the components of
///   a heterogeneous job (`123+0`, an assumption) are jobs. For a requeued job (`--duplicates`), the last run
///   is kept, with the submission of that run.
/// * A repeated id belongs to another job if the first job ended for good (`COMPLETED`, but not `NODE_FAIL`)
///   or belongs to another user. Slurm numbers jobs from 1 again after a reset.
///
/// Skipped: jobs that never started, have not ended, used no whole GPU or took no time, earlier runs of
/// requeued jobs, and damaged rows.
///
/// Recognised by a first line of several columns separated by `|`, among them `JobID` or `JobIDRaw`. Output
/// of sacct without `-P`, with another separator, without a header or with a warning is recognised too; the
/// error then says how to export.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/calendar.hpp"
#include "core/text/slurm_lists.hpp"
#include "traces/formats/sacct_rows.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"
#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kShares = "parts of GPUs requested, no whole ones (gres/shard, gres/mps)";
constexpr std::string_view kPerPart =
    "GPUs requested for each node, task or socket, whose number is not said";

/// Positions of the columns, -1 for an absent column.
struct SacctColumns {
  explicit SacctColumns(const std::vector<std::string_view>& names) {
    const auto find = [&](std::string_view name) {
      const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view other) {
        return equal_in_any_case(trim(other), name);
      });
      return found == names.end() ? -1 : static_cast<int>(found - names.begin());
    };
    count = names.size();
    job_id = find("JobID");
    if (job_id < 0) job_id = find("JobIDRaw");
    cluster = find("Cluster");
    user = find("User");
    account = find("Account");
    queue = find("Partition");
    tenant = account >= 0 ? account : queue;
    qos = find("QOS");
    priority = find("Priority");
    features = find("Constraints");
    state = find("State");
    submit = find("Submit");
    eligible = find("Eligible");
    start = find("Start");
    end = find("End");
    elapsed_raw = find("ElapsedRaw");
    elapsed = find("Elapsed");
    limit_raw = find("TimelimitRaw");
    limit = find("Timelimit");
    num_nodes = find("NNodes");
    if (num_nodes < 0) num_nodes = find("AllocNodes");
    tres = {find("AllocTRES"), find("ReqTRES")};
    gres = {find("AllocGRES"), find("ReqGRES")};
  }

  /// True for each column that is read [columns].
  std::vector<bool> used() const {
    std::vector<bool> used(count);
    for (const int column : {job_id, cluster,   user,     account, queue,   qos,         priority, features,
                             state,  submit,    eligible, start,   end,     elapsed_raw, elapsed,  limit_raw,
                             limit,  num_nodes, tres[0],  tres[1], gres[0], gres[1]}) {
      if (column >= 0) used[static_cast<std::size_t>(column)] = true;
    }
    return used;
  }

  /// A required column that the file lacks; empty if it has all.
  std::string_view missing() const {
    if (job_id < 0) return "JobID";
    if (submit < 0) return "Submit";
    if (elapsed_raw < 0 && elapsed < 0 && (start < 0 || end < 0)) return "ElapsedRaw";
    if (std::max({tres[0], tres[1], gres[0], gres[1]}) < 0) return "AllocTRES";
    return {};
  }

  std::size_t count = 0;
  int job_id, cluster, user, account, queue, tenant, qos, priority, features;
  int state, submit, eligible, start, end;
  int elapsed_raw, elapsed, limit_raw, limit, num_nodes;
  std::array<int, 2> tres, gres;  ///< columns of allocated and of requested resources
};

std::optional<std::int64_t> parse_count(std::string_view text) {
  const auto count = parse_integer(text, 0, std::numeric_limits<std::int32_t>::max());
  return count ? std::optional(*count) : std::nullopt;
}

/// `[DD-]HH:MM:SS` or `MM:SS`, without its fraction.
std::optional<SimDuration> parse_clock(std::string_view text) {
  std::int64_t seconds = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = parse_count(text.substr(0, dash));
    if (!days) return std::nullopt;
    seconds = *days * 24;
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text.substr(0, text.find('.')), ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  if (parts.size() == 2) seconds *= 60;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = parse_count(parts[i]);
    if (!part) return std::nullopt;
    seconds = (i == 0 ? seconds : seconds * 60) + *part;
  }
  return seconds > kMaxTraceTime / std::chrono::seconds(1)
             ? std::nullopt
             : std::optional<SimDuration>(std::chrono::seconds(seconds));
}

/// Fills a job from one row, or rejects the row.
class SacctRow {
 public:
  SacctRow(const SacctColumns& at, LogRow& row) : at_(at), row_(row) {}

  void take(Job& job) {
    job.name = row_.text(at_.job_id);
    take_state(job);
    take_times(job);
    take_gpus(job);
    row_.user(at_.user, job.user);
    row_.tenant(at_.tenant, job.tenant);
    row_.account(at_.account, job.account);
    row_.queue(at_.queue, job.queue);
    row_.qos(at_.qos, job.qos);
    take_requirements(job);
  }
  /// True if a date without offset was read.
  bool is_local() const { return is_local_; }
  /// True if the job became eligible after its submission.
  bool was_held() const { return was_held_; }
  /// True if the job has ended in a state after which Slurm does not restart it by itself.
  bool ended_for_good() const {
    constexpr std::array<std::string_view, 7> kFinal = {"COMPLETED",     "FAILED",   "CANCELLED", "TIMEOUT",
                                                        "OUT_OF_MEMORY", "DEADLINE", "REVOKED"};
    const std::string_view state = row_.text(at_.state);
    return std::find(kFinal.begin(), kFinal.end(), state.substr(0, state.find(' '))) != kFinal.end();
  }

 private:
  /// True if the field has a value; `Unknown` is none.
  bool has(int column) const { return row_.has(column) && row_.text(column) != "Unknown"; }

  void take_state(Job& job) {
    const std::string_view state = row_.text(at_.state);
    job.status = slurm_job_status(state);
    if (state == "PENDING") row_.reject(skip::kNeverStarted, at_.state);
    if (state == "REQUEUED") row_.reject(skip::kEarlierRun, at_.state);
    if (job.status == JobStatus::Running) row_.reject(skip::kNotEnded, at_.state);
  }

  void take_requirements(Job& job) {
    if (has(at_.priority)) row_.priority(at_.priority, job.priority);
    if (has(at_.features) && !row_.rejected())
      row_.workload().add_requirements(job).node_features = row_.text(at_.features);
  }

  void take_times(Job& job) {
    job.submit = instant(at_.submit, skip::kNoSubmission);
    SimTime start = Job::kNoStart;
    if (at_.start >= 0) start = instant(at_.start, skip::kNeverStarted);
    if (has(at_.eligible)) {
      const SimTime eligible = instant(at_.eligible, skip::kBadTime);
      was_held_ = eligible > job.submit && eligible <= start;
      if (was_held_) job.submit = eligible;
    }
    if (start != Job::kNoStart && start >= job.submit) job.original_start = start;
    if (at_.end >= 0) instant(at_.end, skip::kNotEnded);
    job.duration = run_time();
    if (job.duration > kMaxTraceTime) row_.reject(skip::kTooLong, at_.end);
    if (job.duration.count() == 0) row_.reject(skip::kNoRunTime, std::max(at_.elapsed_raw, at_.elapsed));
    job.requested_time = limit();
    if (job.requested_time.count() > 0) job.requested_time = std::max(job.requested_time, job.duration);
  }

  void take_gpus(Job& job) {
    const auto gpus = find_gpus();
    if (!gpus) return row_.reject(skip::kBadNumber, gpu_column_);
    std::int64_t count = 0;
    for (const SlurmGpus& part : *gpus)
      count += part.count;
    if (count > std::numeric_limits<std::int32_t>::max()) return row_.reject(skip::kBadNumber, gpu_column_);
    if (count == 0) return row_.reject(no_gpu_, gpu_column_);
    if (row_.rejected()) return;
    job.num_gpus = GpuCount(static_cast<std::int32_t>(count));
    const std::string_view type = gpus->size() == 1 ? gpus->front().type : std::string_view();
    row_.reject(take_name(type, row_.workload().gpu_types, job.gpu_type), gpu_column_);
  }

  /// Seconds since 1970 by the cluster's clock. Rejects the row if the date is missing.
  SimTime instant(int column, std::string_view reason) {
    if (!has(column)) row_.reject(reason, column);
    if (row_.text(column).find('-') == std::string_view::npos) return row_.instant(column, reason);
    const auto civil = parse_civil_time(row_.text(column));
    if (!civil) row_.reject(skip::kBadTime, column);
    is_local_ |= civil && !civil->offset;
    return civil ? to_sim_time(civil->utc(kUtc)) : SimTime();
  }

  SimDuration run_time() {
    if (at_.elapsed_raw >= 0) return row_.instant(at_.elapsed_raw, skip::kBadTime).time_since_epoch();
    if (at_.elapsed >= 0) {
      const auto elapsed = parse_clock(row_.text(at_.elapsed));
      if (!elapsed) row_.reject(skip::kBadTime, at_.elapsed);
      return elapsed.value_or(SimDuration());
    }
    const SimTime start = instant(at_.start, skip::kNeverStarted);
    const SimTime end = instant(at_.end, skip::kNotEnded);
    if (end < start) row_.reject(skip::kEndsBeforeStart, at_.end);
    return end - start;
  }

  /// The time limit, 0 for none.
  SimDuration limit() {
    const int column = has(at_.limit_raw) ? at_.limit_raw : at_.limit;
    const std::string_view word = row_.text(column);
    // The numbers are Slurm's INFINITE and NO_VAL (slurm/slurm.h).
    constexpr std::array<std::string_view, 4> kNone = {"UNLIMITED", "Partition_Limit", "4294967295",
                                                       "4294967294"};
    if (!has(column) ||
        std::ranges::any_of(kNone, [&](std::string_view none) { return equal_in_any_case(word, none); }))
      return {};
    std::optional<SimDuration> limit;
    if (column == at_.limit) {
      limit = parse_clock(word);
    } else if (const auto minutes = parse_instant(word, kMinutes)) {
      limit = minutes->time_since_epoch();
    }
    if (!limit) row_.reject(skip::kBadTime, column);
    return limit.value_or(SimDuration());
  }

  /// The GPUs of the first column with GPUs, which becomes `gpu_column_`. If there are none, `no_gpu_` is the
  /// reason.
  Result<std::vector<SlurmGpus>> find_gpus() {
    no_gpu_ = skip::kNoGpu;
    for (const int column : {at_.tres[0], at_.gres[0], at_.tres[1], at_.gres[1]}) {
      if (!has(column)) continue;
      gpu_column_ = column;
      const bool is_tres = column == at_.tres[0] || column == at_.tres[1];
      auto gpus = is_tres ? parse_tres(row_.text(column)) : gres_of_job(column);
      if (!gpus || !gpus->empty()) return gpus;
      if (names_gpu_shares(row_.text(column))) no_gpu_ = kShares;
    }
    return std::vector<SlurmGpus>();
  }

  Result<std::vector<SlurmGpus>> gres_of_job(int column) {
    const auto request = parse_gres_request(row_.text(column));
    if (!request) return fail(request.error());
    if (request->per_job.empty() && request->per_node.empty() && request->has_others) no_gpu_ = kPerPart;
    if (!request->per_job.empty() || request->per_node.empty()) return request->per_job;
    const auto num_nodes = count_nodes();
    if (!num_nodes) {
      no_gpu_ = kPerPart;
      return std::vector<SlurmGpus>();
    }
    std::vector<SlurmGpus> gpus = request->per_node;
    for (SlurmGpus& part : gpus) {
      if (part.count > std::numeric_limits<std::int32_t>::max() / std::max<std::int64_t>(1, *num_nodes))
        return fail({.message = expected_found("as many GPUs as a cluster has", row_.text(column))});
      part.count *= *num_nodes;
    }
    return gpus;
  }

  /// The number of the job's nodes, from its own column or from TRES (`node=2`).
  std::optional<std::int64_t> count_nodes() {
    if (has(at_.num_nodes)) return row_.count(at_.num_nodes);
    for (const int column : at_.tres) {
      for (const std::string_view item : split(row_.text(column), ',')) {
        constexpr std::string_view kNode = "node=";
        if (item.starts_with(kNode)) return parse_count(item.substr(kNode.size()));
      }
    }
    return std::nullopt;
  }

  const SacctColumns& at_;
  LogRow& row_;
  bool is_local_ = false;
  bool was_held_ = false;
  int gpu_column_ = -1;
  std::string_view no_gpu_ = skip::kNoGpu;
};

class SacctReader {
 public:
  SacctReader(const TraceInput& input, LineReader lines, const SacctColumns& at,
              std::span<const std::string_view> names)
      : rows_(std::move(lines), names, at.used()), at_(at), names_(names.begin(), names.end()), log_(input) {}

  Result<Trace> read() {
    for (;;) {
      auto more = rows_.next();
      if (!more) {
        if (auto skipped = log_.skip(skip::kMalformed, more.error()); !skipped) return fail(skipped.error());
        continue;
      }
      if (!*more) break;
      if (auto read = read_row(); !read) return fail(std::move(read.error()));
    }
    if (!several_clusters_ && at_.cluster >= 0) {
      for (Job& job : log_.workload().jobs)
        job.name.remove_prefix(cluster_.size() + 1);
    }
    auto trace =
        log_.finish(is_local_ ? Origin::FirstLocalSubmission : Origin::FirstSubmission,
                    [this](std::size_t earlier, std::size_t later) { return repetition_of(earlier, later); });
    if (!trace) return trace;
    const auto note = [&](std::int64_t count, std::string_view thing, std::string_view rest) {
      if (count > 0)
        trace->assumptions.push_back(
            fmt::format("{} {}{} {}", with_thousands(count), thing, count == 1 ? "" : "s", rest));
    };
    note(num_steps_, "row", "of job steps passed over");
    note(num_held_, "job", "submission time = time of eligibility, later than the recorded one");
    note(num_components_, "component", "of heterogeneous jobs taken for jobs that need not start together");
    return trace;
  }

 private:
  Result<void> read_row() {
    LogRow row(rows_.fields(), log_.workload());
    if (row.text(at_.job_id).find('.') != std::string_view::npos) {
      ++num_steps_;
      return {};
    }
    Job job;
    SacctRow sacct(at_, row);
    sacct.take(job);
    std::string name;
    if (!row.rejected()) {
      is_local_ |= sacct.is_local();
      num_held_ += sacct.was_held() ? 1 : 0;
      num_components_ += row.text(at_.job_id).find('+') != std::string_view::npos ? 1 : 0;
      if (at_.cluster >= 0) job.name = name = name_in_cluster(job.name, row.text(at_.cluster));
    }
    auto added = add_row(log_, row, job, rows_.line(), names_);
    if (ended_for_good_.size() < log_.workload().jobs.size())
      ended_for_good_.push_back(sacct.ended_for_good());
    return added;
  }

  /// The meaning of a later row with the id of an earlier one.
  Repetition repetition_of(std::size_t earlier, std::size_t later) {
    const Job& a = log_.workload().jobs[earlier];
    const Job& b = log_.workload().jobs[later];
    const bool same_owner = a.user && b.user ? a.user == b.user : a.tenant == b.tenant;
    if (!same_owner) return Repetition::OtherJob;
    if (!ended_for_good_[earlier]) return Repetition::LaterRun;
    return a.submit == b.submit ? Repetition::SameRow : Repetition::OtherJob;
  }

  /// Each cluster numbers its jobs from 1, so the name of a job begins with the cluster's name.
  std::string name_in_cluster(std::string_view job, std::string_view cluster) {
    if (log_.workload().jobs.empty()) cluster_ = cluster;
    several_clusters_ |= cluster != cluster_;
    return fmt::format("{}/{}", cluster, job);
  }

  SacctRows rows_;
  SacctColumns at_;
  std::vector<std::string> names_;
  JobLog log_;
  std::vector<bool> ended_for_good_;  ///< [jobs of the log]
  std::int64_t num_steps_ = 0;
  std::int64_t num_held_ = 0;
  std::int64_t num_components_ = 0;  ///< number of components of heterogeneous jobs
  bool is_local_ = false;
  std::string_view cluster_;  ///< cluster of the first job
  bool several_clusters_ = false;
};

/// The separator between the columns of sacct if it is neither a bar nor blanks; empty for any other text.
std::string_view find_other_separator(std::string_view header) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::string_view> names;
  std::string_view separator;
  for (auto at = header.begin(); at != header.end();) {
    const auto begin = std::find_if(at, header.end(), is_letter);
    if (names.size() == 1) separator = std::string_view(at, begin);
    at = std::find_if_not(begin, header.end(), is_letter);
    if (begin != at) names.emplace_back(begin, at);
  }
  if (!are_sacct_columns(names)) return {};
  constexpr std::string_view kAround = "\" ";  // quotes of CSV, blanks
  separator.remove_prefix(std::min(separator.find_first_not_of(kAround), separator.size()));
  separator = separator.substr(0, separator.find_last_not_of(kAround) + 1);
  return separator == "|" ? std::string_view() : separator;
}

}  // namespace

bool recognise_sacct(std::string_view head) {
  LineReader lines(head, {});
  const auto more = lines.next();
  if (!more || !*more) return false;
  const auto names = split(lines.line(), '|');
  if (names.size() > 1 && SacctColumns(names).job_id >= 0) return true;
  // Output of sacct without -P, without a header or after a warning is accepted here. The error says how to
  // export.
  constexpr std::size_t kFewestFields = 4;
  const std::string_view first = trim(names.front());
  const bool is_row = names.size() >= kFewestFields && !first.empty() &&
                      std::isdigit(static_cast<unsigned char>(first.front()));
  return is_row || first.starts_with("JobID ") || first.starts_with("sacct: ") ||
         !find_other_separator(lines.line()).empty();
}

Result<Trace> read_sacct(const TraceInput& input) {
  LineReader lines(input.text, input.file);
  const auto more = lines.next();
  if (!more) return fail(more.error());
  const auto names = *more ? split(lines.line(), '|') : std::vector<std::string_view>();
  const SacctColumns at(names);
  const std::string_view separator = *more ? find_other_separator(lines.line()) : std::string_view();
  if (!separator.empty()) {
    return fail(
        {.file = input.file,
         .line = lines.number(),
         .message = fmt::format("expected columns of sacct separated by '|', as -P prints them, found "
                                "'{}'. Export with for instance {}",
                                printable(separator), kSacctExport)});
  }
  if (const std::string_view missing = at.missing(); !missing.empty()) {
    return fail({.file = input.file,
                 .line = lines.number(),
                 .field = std::string(missing),
                 .message = fmt::format("column missing; the header has {}. Export with for instance {}",
                                        printable(list_names(names)), kSacctExport)});
  }
  const std::string header = lower_case(lines.line());  // sacct takes names in any case
  if (const std::string_view repeated = repeated_column(split(header, '|')); !repeated.empty()) {
    return fail({.file = input.file,
                 .line = lines.number(),
                 .field = printable(repeated),
                 .message = std::string(kRepeatedColumn)});
  }
  return SacctReader(input, std::move(lines), at, names).read();
}

}  // namespace vtrain
