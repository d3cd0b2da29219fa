#include "traces/formats/swf.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kNumFields = 18;
using Fields = std::array<std::string_view, kNumFields>;

/// Fields by their numbers in the definition of the format, less one.
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
};

/// The first fields of a line; how many there are, up to `kNumFields`.
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

/// The value of a header line `; Key: value`, empty if it is another.
std::string_view header_value(std::string_view line, std::string_view key) {
  const std::size_t start = line.find_first_not_of("; \t");
  if (start == std::string_view::npos || !line.substr(start).starts_with(key)) return {};
  const std::string_view rest = line.substr(start + key.size());
  return rest.starts_with(':') ? trim(rest.substr(1)) : std::string_view();
}

/// Reads one line at a time. The first field that is no good decides why the line is no job.
class SwfLine {
 public:
  explicit SwfLine(const Fields& fields) : fields_(fields) {}

  /// A time; negative ones are unknown.
  std::optional<SimDuration> seconds(Field field) {
    const auto ns = parse_seconds_as_ns(fields_[field]);
    if (!ns) reject(skip::kBadTime, field);
    return ns && *ns >= 0 ? std::optional(SimDuration(*ns)) : std::nullopt;
  }

  /// A whole number, negative where unknown.
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

/// What a line says of times.
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

/// What else it says.
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
    // A line has at least a digit and a blank a field.
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
    auto trace = log_.finish(has_dates_ ? Origin::FirstSubmission : Origin::AsWritten);
    if (trace) {
      trace->num_gpus = num_processors_;
      trace->assumptions.emplace_back("processors are counted as GPUs");
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
    if (!line.reason().empty()) return log_.skip(line.reason(), lines_.number(), {}, line.found());
    if (user >= 0) job.user = log_.workload().user(name_of(users_, trim(fields[kUser])));
    if (group >= 0) job.tenant = log_.workload().tenant(name_of(groups_, trim(fields[kGroup])));
    job.name = trim(fields[kJob]);
    constexpr SimTime kFirstDate{std::chrono::seconds(1'000'000'000)};  // September 2001
    has_dates_ |= job.submit > kFirstDate;
    return log_.add(job, lines_.number());
  }

  /// The names that numbers stand for.
  using Names = std::map<std::string_view, std::string_view>;

  void read_header(std::string_view text) {
    const auto size = parse_num_gpus(header_value(text, "MaxProcs"));
    if (size) num_processors_ = size->value;
    ours_ |= header_value(text, "Conversion") == "vtrain";
    if (!ours_) return;
    // What our writer says of the names for which it wrote numbers.
    const std::string_view note = header_value(text, "Note");
    for (const auto& [kind, names] : {std::pair("group ", &groups_), std::pair("user ", &users_)}) {
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
  bool ours_ = false;  ///< the file was written by this program
  Names groups_;
  Names users_;
  std::optional<std::int32_t> num_processors_;
  bool has_dates_ = false;
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

}  // namespace vtrain
