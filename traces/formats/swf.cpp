/// The Standard Workload Format, version 2.2, of the Parallel Workloads Archive (Feitelson, Tsafrir, Krakov,
/// JPDC 2014): 18 numbers a line, -1 where unknown, after a header of comments that begin with `;`.
///
/// Kept: submission (field 2), run time (4), processors as GPUs (5, or 8 if that is unknown), user (12),
/// group (13) as tenant, queue (15), preceding job (17) as a dependency, requested time (9), status (11),
/// original start (submission + wait, 3). Users, groups and queues are the numbers in the file, or their
/// names if a header of our own writer lists them. Fields after the 18th (three in MetaCentrum's logs),
/// memory, CPU time, executable, partition and think time are dropped. The format has no GPU type, model,
/// iterations or deadline.
///
/// Times are seconds from the header's `UnixStartTime`. If submissions are dates (above 10^9, as in
/// MetaCentrum's logs), time 0 becomes the first submission. `MaxProcs` of the header is the size of the
/// cluster. A header with only `MaxNodes` means nodes with one processor (an assumption), unless a job has
/// more processors.
///
/// Skipped: jobs of unknown or zero run time, of unknown processors or submission, and damaged lines. Parts
/// of checkpointed jobs (status 2, 3 and 4), which repeat the whole job's line, are skipped too.
///
/// Recognised by a first line, not blank, that is a comment beginning with `;`, or 18 or more numbers.
///
/// Written are submission, wait (from the original start), run time, GPUs as processors, requested time,
/// status, user, queue, the tenant as group, and a single dependency. Times keep their fractions of a second.
/// A job that reached its time limit has failed; a running job has an unknown status. Job ids, users, tenants
/// and queues that are whole numbers are written unchanged. Others are numbered from 1 in their order, and
/// the header lists the user, group and queue of each number. A job without a run time is an error: the
/// format has no models.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/io/line_reader.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kNumFields = 18;
using Fields = std::array<std::string_view, kNumFields>;

/// Field numbers of the format's definition minus one.
enum Field : std::size_t {
  kJob = 0,
  kSubmit = 1,
  kWait = 2,
  kRunTime = 3,
  kAllocated = 4,
  kRequested = 7,
  kRequestedTime = 8,
  kStatus = 10,
  kUser = 11,
  kGroup = 12,
  kQueue = 14,
  kPreceding = 16,
};

/// Splits a line into its first fields. Returns their number, at most `kNumFields`.
std::size_t split_blanks(std::string_view line, Fields& fields) {
  constexpr std::string_view kBlank = " \t";
  std::size_t count = 0;
  for (std::size_t at = 0; count < kNumFields; ++count) {
    at = line.find_first_not_of(kBlank, at);
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    fields[count] = line.substr(at, end - at);
    at = end;
  }
  return count;
}

/// The value of a header line `; Key: value`, empty for another line.
std::string_view header_value(std::string_view line, std::string_view key) {
  const std::size_t start = line.find_first_not_of("; \t");
  if (start == std::string_view::npos || !line.substr(start).starts_with(key)) return {};
  const std::string_view rest = line.substr(start + key.size());
  return rest.starts_with(':') ? trim(rest.substr(1)) : std::string_view();
}

/// Reads one line. Its first bad field is the reason why the line is no job.
class SwfLine {
 public:
  explicit SwfLine(const Fields& fields) : fields_(fields) {}

  /// A time; a negative time is unknown.
  std::optional<SimDuration> seconds(Field field) {
    const auto ns = parse_seconds_as_ns(fields_[field]);
    if (!ns) reject(skip::kBadTime, field);
    return ns && *ns >= 0 ? std::optional(SimDuration(*ns)) : std::nullopt;
  }

  /// A whole number, negative if unknown.
  std::int64_t number(Field field) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto value = parse_integer(fields_[field], -kMost, kMost);
    if (!value) reject(skip::kBadNumber, field);
    return value.value_or(-1);
  }

  void reject(std::string_view reason, Field field) {
    if (!reason_.empty()) return;
    reason_ = reason;
    field_ = field;
  }

  std::string_view reason() const { return reason_; }
  std::string_view found() const { return fields_[field_]; }

 private:
  const Fields& fields_;
  std::string_view reason_;
  Field field_ = kJob;
};

JobStatus status_of(std::int64_t code) {
  switch (code) {
    case 0:
      return JobStatus::Failed;
    case 1:
      return JobStatus::Completed;
    case 5:
      return JobStatus::Cancelled;
    default:
      return JobStatus::Unknown;
  }
}

/// Takes the times of a line.
void take_times(SwfLine& line, Job& job) {
  const auto submit = line.seconds(kSubmit);
  const auto wait = line.seconds(kWait);
  const auto run_time = line.seconds(kRunTime);
  const auto limit = line.seconds(kRequestedTime);
  if (!submit) return line.reject(skip::kNoSubmission, kSubmit);
  if (!run_time) return line.reject("run time unknown", kRunTime);
  if (*run_time == SimDuration(0)) return line.reject(skip::kNoRunTime, kRunTime);
  constexpr SimDuration kUnknown(0);
  if (std::max({*submit, *run_time, wait.value_or(kUnknown), limit.value_or(kUnknown)}) > kMaxTraceTime)
    return line.reject(skip::kTooLong, kSubmit);
  job.submit = SimTime(*submit);
  job.duration = *run_time;
  job.requested_time = limit.value_or(kUnknown);
  if (wait) job.original_start = job.submit + *wait;
}

/// Takes the processors and the status of a line.
void take_counts(SwfLine& line, Job& job) {
  const std::int64_t allocated = line.number(kAllocated);
  const std::int64_t requested = line.number(kRequested);
  const std::int64_t processors = allocated > 0 ? allocated : requested;
  if (processors <= 0) return line.reject("processors unknown", kAllocated);
  job.num_gpus = GpuCount(static_cast<std::int32_t>(processors));
  const std::int64_t status = line.number(kStatus);
  if (status >= 2 && status <= 4) line.reject("part of a checkpointed job", kStatus);
  job.status = status_of(status);
}

class SwfReader {
 public:
  explicit SwfReader(const TraceInput& input) : lines_(input.text, input.file), log_(input) {
    // A line has at least one digit and one blank per field.
    const auto num_lines = std::count(input.text.begin(), input.text.end(), '\n') + 1;
    log_.reserve(std::min(static_cast<std::size_t>(num_lines), input.text.size() / (2 * kNumFields) + 1));
  }

  Result<Trace> read() {
    for (;;) {
      auto more = lines_.next();
      if (!more) {
        if (auto skipped = log_.skip(skip::kMalformed, more.error()); !skipped) return fail(skipped.error());
        continue;
      }
      if (!*more) break;
      if (auto read = read_line(trim(lines_.line())); !read) return fail(std::move(read.error()));
    }
    const auto& jobs = log_.workload().jobs;
    const auto fits = [this](const Job& job) { return job.num_gpus.value <= *num_nodes_; };
    const bool has_nodes_only = num_nodes_ && !has_max_procs_ && std::all_of(jobs.begin(), jobs.end(), fits);
    auto trace = log_.finish(has_dates_ ? Origin::FirstSubmission : Origin::AsWritten);
    if (trace) {
      trace->num_gpus = num_processors_;
      trace->assumptions.emplace_back("processors are counted as GPUs");
      if (has_nodes_only) {
        trace->num_gpus = num_nodes_;
        trace->assumptions.emplace_back("the header counts nodes alone: they have one processor each");
      }
    }
    return trace;
  }

 private:
  Result<void> read_line(std::string_view text) {
    if (text.front() == ';') {
      read_header(text);
      return {};
    }
    Fields fields;
    if (split_blanks(text, fields) < kNumFields)
      return log_.skip(skip::kMalformed, lines_.number(), {}, text);
    SwfLine line(fields);
    Job job;
    take_times(line, job);
    take_counts(line, job);
    if (line.number(kJob) < 0) line.reject(skip::kBadName, kJob);
    const std::int64_t user = line.number(kUser);
    const std::int64_t group = line.number(kGroup);
    const std::int64_t queue = line.number(kQueue);
    const std::int64_t preceding = line.number(kPreceding);
    if (!line.reason().empty()) return log_.skip(line.reason(), lines_.number(), {}, line.found());
    if (user >= 0) job.user = log_.workload().user(name_of(users_, trim(fields[kUser])));
    if (group >= 0) job.tenant = log_.workload().tenant(name_of(groups_, trim(fields[kGroup])));
    if (queue >= 0) job.queue = log_.workload().queue(name_of(queues_, trim(fields[kQueue])));
    if (preceding > 0) {
      log_.workload().add_requirements(job).dependencies = {
          {DependencyKind::AfterAny, std::string(trim(fields[kPreceding]))}};
    }
    job.name = trim(fields[kJob]);
    constexpr SimTime kFirstDate{std::chrono::seconds(1'000'000'000)};  // September 2001
    has_dates_ |= job.submit > kFirstDate;
    return log_.add(job, lines_.number());
  }

  /// The names of the numbers.
  using Names = std::map<std::string_view, std::string_view>;

  void read_header(std::string_view text) {
    const auto size = parse_num_gpus(header_value(text, "MaxProcs"));
    if (size) num_processors_ = size->value;
    has_max_procs_ |= !header_value(text, "MaxProcs").empty();
    if (const auto nodes = parse_num_gpus(header_value(text, "MaxNodes"))) num_nodes_ = nodes->value;
    ours_ |= header_value(text, "Conversion") == "vtrain";
    if (!ours_) return;
    // Notes of our writer with the names for which it wrote numbers.
    const std::string_view note = header_value(text, "Note");
    for (const auto& [kind, names] :
         {std::pair("group ", &groups_), std::pair("user ", &users_), std::pair("queue ", &queues_)}) {
      constexpr std::string_view kIs = " is ";
      const std::size_t is = note.find(kIs);
      if (!note.starts_with(kind) || is == std::string_view::npos) continue;
      const std::string_view number =
          note.substr(std::string_view(kind).size(), is - std::string_view(kind).size());
      const std::string_view name = note.substr(is + kIs.size());
      if (is_name(name)) names->emplace(number, name);
    }
  }

  static std::string_view name_of(const Names& names, std::string_view number) {
    const auto found = names.find(number);
    return found == names.end() ? number : found->second;
  }

  LineReader lines_;
  JobLog log_;
  bool ours_ = false;  ///< true if this program wrote the file
  Names groups_;
  Names users_;
  Names queues_;
  std::optional<std::int32_t> num_processors_;
  std::optional<std::int32_t> num_nodes_;
  bool has_max_procs_ = false;
  bool has_dates_ = false;
};

/// True for a name that is a number with the digits that SWF would write.
bool is_plain_number(std::string_view name) {
  std::int32_t value = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), value);
  return code == std::errc() && end == name.data() + name.size() && name == std::to_string(value) &&
         value >= 0;
}

/// The numbers for names: the names themselves if all are numbers, otherwise 1, 2, ... in their order.
class NameNumbers {
 public:
  explicit NameNumbers(const NameTable& names)
      : names_(names), plain_(std::all_of(names.names().begin(), names.names().end(), is_plain_number)) {}

  /// The number for a name, -1 for none.
  template <class NameId>
  std::string of(NameId id) const {
    if (!id) return "-1";
    return plain_ ? names_[id.value] : std::to_string(id.value + 1);
  }

  void append_header(std::string& out, std::string_view kind) const {
    for (std::uint32_t i = 0; !plain_ && i < names_.size(); ++i)
      out += fmt::format("; Note: {} {} is {}\n", kind, i + 1, names_[i]);
  }

 private:
  const NameTable& names_;
  bool plain_;
};

int status_code(JobStatus status) {
  switch (status) {
    case JobStatus::Completed:
      return 1;
    case JobStatus::Failed:
    case JobStatus::TimedOut:
      return 0;
    case JobStatus::Cancelled:
      return 5;
    case JobStatus::Unknown:
    case JobStatus::Running:
      break;
  }
  return -1;
}

class SwfWriter {
 public:
  explicit SwfWriter(const Trace& trace)
      : trace_(trace),
        users_(trace.workload.users),
        groups_(trace.workload.tenants),
        queues_(trace.workload.queues) {
    const auto& jobs = trace.workload.jobs;
    plain_ids_ =
        std::all_of(jobs.begin(), jobs.end(), [](const Job& job) { return is_plain_number(job.name); });
  }

  std::string header() const {
    std::int32_t largest = 1;
    for (const Job& job : trace_.workload.jobs)
      largest = std::max(largest, job.num_gpus.value);
    std::string out = fmt::format("; Version: 2.2\n; Conversion: vtrain\n; MaxJobs: {0}\n; MaxRecords: {0}\n",
                                  trace_.workload.jobs.size());
    // Readers use MaxProcs as the size of the cluster, so it is written only if that size is known.
    if (trace_.num_gpus) out += fmt::format("; MaxProcs: {}\n", std::max(*trace_.num_gpus, largest));
    out += "; Note: processors are GPUs, groups are tenants\n";
    for (const std::string& assumption : trace_.assumptions)
      out += fmt::format("; Note: {}\n", printable(assumption));
    groups_.append_header(out, "group");
    users_.append_header(out, "user");
    queues_.append_header(out, "queue");
    return out;
  }

  void append_job(std::string& out, const Job& job, std::size_t number) const {
    out += plain_ids_ ? std::string(job.name) : std::to_string(number);
    append_seconds(out, job.submit.time_since_epoch().count(), true);
    append_seconds(out, (job.original_start - job.submit).count(),
                   job.original_start != Job::kNoStart && job.original_start >= job.submit);
    append_seconds(out, job.duration.count(), true);
    out += fmt::format(" {} -1 -1 {}", job.num_gpus.value, job.num_gpus.value);
    append_seconds(out, job.requested_time.count(), job.requested_time.count() > 0);
    out += fmt::format(" -1 {} {} {} -1 {} -1 {} -1\n", status_code(job.status), users_.of(job.user),
                       groups_.of(job.tenant), queues_.of(job.queue), preceding_job(job));
  }

 private:
  static void append_seconds(std::string& out, std::int64_t nanoseconds, bool known) {
    out += ' ';
    if (known) {
      append_ns_as_seconds(out, nanoseconds);
    } else {
      out += "-1";
    }
  }

  /// The only dependency that the format can hold, -1 for none.
  std::string preceding_job(const Job& job) const {
    const JobRequirements* const asked = trace_.workload.requirements_of(job);
    const bool can_say = asked != nullptr && plain_ids_ && asked->dependencies.size() == 1 &&
                         asked->dependencies[0].kind == DependencyKind::AfterAny &&
                         is_plain_number(asked->dependencies[0].job);
    return can_say ? asked->dependencies[0].job : "-1";
  }

  const Trace& trace_;
  NameNumbers users_;
  NameNumbers groups_;
  NameNumbers queues_;
  bool plain_ids_ = false;
};

}  // namespace

bool recognise_swf(std::string_view head) {
  LineReader lines(head, {});
  const auto more = lines.next();
  if (!more || !*more) return false;
  const std::string_view line = trim(lines.line());
  if (line.front() == ';') return true;
  Fields fields;
  if (split_blanks(line, fields) < kNumFields) return false;
  return std::all_of(fields.begin(), fields.end(),
                     [](std::string_view field) { return parse_seconds_as_ns(field).has_value(); });
}

Result<Trace> read_swf(const TraceInput& input) {
  return SwfReader(input).read();
}

Result<void> write_swf(const Trace& trace, const std::filesystem::path& path) {
  for (const Job& job : trace.workload.jobs) {
    if (job.duration.count() > 0) continue;
    return fail(job_error(trace.workload, job, "duration",
                          "has no run time, and SWF has no models to compute one from"));
  }
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  const SwfWriter writer(trace);
  file->write(writer.header());
  std::string line;
  std::size_t number = 0;
  for (const Job& job : trace.workload.jobs) {
    line.clear();
    writer.append_job(line, job, ++number);
    file->write(line);
  }
  return file->commit();
}

}  // namespace vtrain
