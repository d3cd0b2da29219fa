/// The job log of Microsoft's Philly cluster, 2017, as published: `cluster_job_log`, one JSON array of jobs
/// with their scheduling attempts (Jeon et al., USENIX ATC'19).
///
/// Kept of a job: `jobid`, `submitted_time`, `vc` (the tenant), `user`, `status`, the start of the first
/// attempt, and the GPUs of the first attempt that has any. The run time is the sum over all attempts: the
/// time for which the job held its GPUs. Simulators use this run time too. Times are local time of the US
/// west coast. A time in the repeated hour of 2017-11-05 means the first occurrence, or the second if the
/// attempt would otherwise end before it started. Not in the log: GPU type, model, deadline, requested time,
/// iterations. Not kept: machines, and GPUs that differ between attempts.
///
/// Skipped: no submission time, no attempt, no GPU, an attempt without start or end (the last: not ended).
///
/// The log is read in one pass, which keeps one job at a time in addition to the result. Malformed JSON is an
/// error; so is an array nested more than 64 levels deep. Recognised by a JSON array of objects with keys of
/// the log; no other trace format is a JSON array.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/io/json_line.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/calendar.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// One scheduling attempt as written.
struct Attempt {
  std::string start{};
  std::string end{};
  std::int32_t num_gpus = 0;
};

/// One job as written.
struct Entry {
  std::string id{};
  std::string submitted{};
  std::string tenant{};
  std::string user{};
  std::string status{};
  std::vector<Attempt> attempts{};
  bool malformed = false;  ///< true if a list, an attempt or a text has another type
};

JobStatus philly_job_status(std::string_view word) {
  if (word == "Pass") return JobStatus::Completed;
  if (word == "Killed") return JobStatus::Cancelled;
  return word == "Failed" ? JobStatus::Failed : JobStatus::Unknown;
}

/// Sets submission, GPUs, start and duration from the attempts. Returns the reason why the job cannot be
/// replayed, or an empty text.
std::string_view add_up(const std::vector<Attempt>& attempts, Instant submitted, const TimeZone& zone,
                        Job& job) {
  if (attempts.empty()) return skip::kNeverStarted;
  const auto with_gpus =
      std::find_if(attempts.begin(), attempts.end(), [](const Attempt& each) { return each.num_gpus > 0; });
  if (with_gpus == attempts.end()) return skip::kNoGpu;
  SimDuration run_time(0);
  std::optional<Instant> first_start;
  Instant now = submitted;
  for (const Attempt& attempt : attempts) {
    if (is_missing(attempt.start)) return "an attempt without a start";
    if (is_missing(attempt.end))
      return &attempt == &attempts.back() ? skip::kNotEnded : "an attempt without an end";
    const auto start = parse_civil_time(attempt.start);
    const auto end = parse_civil_time(attempt.end);
    if (!start || !end) return skip::kBadTime;
    const auto from = start->utc_not_before(now, zone);
    now = end->utc_not_before(from, zone);
    if (now < from) return skip::kEndsBeforeStart;
    run_time += now - from;
    if (!first_start) first_start = from;
  }
  job.num_gpus = GpuCount(with_gpus->num_gpus);
  return set_run(job, to_sim_time(submitted), to_sim_time(*first_start),
                 to_sim_time(*first_start + run_time));
}

/// Turns the parser's events into jobs.
class LogHandler : public JsonEvents {
 public:
  LogHandler(const TraceInput& input, const TimeZone& zone) : input_(input), zone_(zone), log_(input) {
    constexpr std::size_t kBytesOfShortJob = 256;  // with one attempt on one GPU, without blanks
    log_.reserve(std::min(count_words(input.text, "\"jobid\""), input.text.size() / kBytesOfShortJob));
  }

  Result<Trace> read() {
    if (auto parsed = parse(input_.text, input_.file); !parsed) return fail(std::move(parsed.error()));
    return log_.finish(Origin::FirstSubmission);
  }

  bool null() override { return scalar(Kind::Null); }
  bool boolean(bool) override { return scalar(Kind::Other); }
  bool number_integer(json::number_integer_t) override { return scalar(Kind::Other); }
  bool number_unsigned(json::number_unsigned_t) override { return scalar(Kind::Other); }
  bool number_float(json::number_float_t, const std::string&) override { return scalar(Kind::Other); }
  bool binary(json::binary_t&) override { return scalar(Kind::Other); }

  bool string(std::string& text) override {
    if (place() == Place::Gpus) {
      ++entry_.attempts.back().num_gpus;
    } else if (target_ != nullptr) {
      target_->swap(text);
    }
    return scalar(Kind::String);
  }

  bool key(std::string& name) override {
    key_ = find_key(name);
    target_ = target_of(place(), key_);
    return true;
  }

  bool start_object(std::size_t) override {
    const Place parent = place();
    check(Kind::Object);
    if (parent == Place::Jobs) begin_job();
    if (parent == Place::Attempts) begin_attempt();
    return enter(parent == Place::Jobs       ? Place::Job
                 : parent == Place::Attempts ? Place::Attempt
                 : parent == Place::Machines ? Place::Machine
                                             : Place::Other);
  }

  bool start_array(std::size_t) override {
    const Place parent = place();
    check(Kind::Array);
    if (parent == Place::Jobs && !keep(log_.skip(skip::kMalformed, current_line()))) return false;
    return enter(parent == Place::Top                              ? Place::Jobs
                 : parent == Place::Job && key_ == Key::Attempts   ? Place::Attempts
                 : parent == Place::Attempt && key_ == Key::Detail ? Place::Machines
                 : parent == Place::Machine && key_ == Key::Gpus   ? Place::Gpus
                                                                   : Place::Other);
  }

  bool end_object() override {
    const Place ended = place();
    places_.pop_back();
    return ended != Place::Job || end_job();
  }

  bool end_array() override {
    places_.pop_back();
    return true;
  }

 private:
  enum class Kind : std::uint8_t { Null, String, Array, Object, Other };
  enum class Place : std::uint8_t { Top, Jobs, Job, Attempts, Attempt, Machines, Machine, Gpus, Other };
  enum class Key : std::uint8_t {
    Other,
    Id,
    Submitted,
    Tenant,
    User,
    Status,
    Attempts,
    Start,
    End,
    Detail,
    Gpus
  };

  static Key find_key(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Key>, 10> kKeys = {{{"start_time", Key::Start},
                                                                         {"end_time", Key::End},
                                                                         {"detail", Key::Detail},
                                                                         {"gpus", Key::Gpus},
                                                                         {"status", Key::Status},
                                                                         {"vc", Key::Tenant},
                                                                         {"jobid", Key::Id},
                                                                         {"attempts", Key::Attempts},
                                                                         {"submitted_time", Key::Submitted},
                                                                         {"user", Key::User}}};
    const auto found =
        std::find_if(kKeys.begin(), kKeys.end(), [name](const auto& entry) { return entry.first == name; });
    return found == kKeys.end() ? Key::Other : found->second;
  }

  /// The member for a string under a key, null if the string is not kept.
  std::string* target_of(Place place, Key key) {
    if (place == Place::Attempt) {
      Attempt& attempt = entry_.attempts.back();
      return key == Key::Start ? &attempt.start : key == Key::End ? &attempt.end : nullptr;
    }
    if (place != Place::Job) return nullptr;
    switch (key) {
      case Key::Id:
        return &entry_.id;
      case Key::Submitted:
        return &entry_.submitted;
      case Key::Tenant:
        return &entry_.tenant;
      case Key::User:
        return &entry_.user;
      case Key::Status:
        return &entry_.status;
      default:
        return nullptr;
    }
  }

  Place place() const { return places_.back(); }

  bool enter(Place place) {
    if (places_.size() == 1 && place != Place::Jobs) return refuse();
    if (!check_depth(places_.size() - 1)) return false;
    places_.push_back(place);
    target_ = nullptr;
    return true;
  }

  /// Marks the job as malformed if the value's type is not the expected one.
  void check(Kind found) {
    const auto must_be = [&](Kind wanted) { entry_.malformed |= found != wanted; };
    if (place() == Place::Attempts || place() == Place::Machines) must_be(Kind::Object);
    if (place() == Place::Gpus) must_be(Kind::String);
    if ((place() == Place::Job && key_ == Key::Attempts) ||
        (place() == Place::Attempt && key_ == Key::Detail) ||
        (place() == Place::Machine && key_ == Key::Gpus))
      must_be(Kind::Array);
    if (target_ != nullptr && found != Kind::Null) must_be(Kind::String);
  }

  /// Any value that is neither an object nor an array.
  bool scalar(Kind kind) {
    check(kind);
    target_ = nullptr;
    if (place() == Place::Top) return refuse();
    return place() != Place::Jobs || keep(log_.skip(skip::kMalformed, current_line()));
  }

  void begin_job() {
    line_ = current_line();
    for (std::string* text : {&entry_.id, &entry_.submitted, &entry_.tenant, &entry_.user, &entry_.status})
      text->clear();
    entry_.attempts.clear();
    entry_.malformed = false;
  }

  void begin_attempt() { entry_.attempts.emplace_back(); }

  bool end_job() {
    Job job;
    const std::string_view problem = read_entry(job);
    return keep(problem.empty() ? log_.add(job, line_) : log_.skip(problem, line_, {}, entry_.id));
  }

  /// Fills the job. Returns the reason why it cannot be replayed, or an empty text.
  std::string_view read_entry(Job& job) {
    if (entry_.malformed) return skip::kMalformed;
    if (is_missing(entry_.submitted)) return skip::kNoSubmission;
    const auto submitted = parse_civil_time(entry_.submitted);
    if (!submitted) return skip::kBadTime;
    if (const auto reason = add_up(entry_.attempts, submitted->utc(zone_), zone_, job); !reason.empty())
      return reason;
    job.name = entry_.id;
    job.status = philly_job_status(entry_.status);
    Workload& workload = log_.workload();
    const auto reason = take_name(entry_.tenant, workload.tenants, job.tenant);
    return reason.empty() ? take_name(entry_.user, workload.users, job.user) : reason;
  }

  /// Stops the parser at an error.
  bool keep(Result<void> done) { return done || stop(std::move(done.error())); }
  bool refuse() { return stop({.line = current_line(), .message = "expected a JSON array of jobs"}); }

  const TraceInput& input_;
  const TimeZone& zone_;
  JobLog log_;
  std::int64_t line_ = 0;  ///< first line of the current job
  std::vector<Place> places_ = {Place::Top};
  Key key_ = Key::Other;
  std::string* target_ = nullptr;
  Entry entry_;
};

}  // namespace

bool recognise_philly_log(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n", head.starts_with("\xef\xbb\xbf") ? 3 : 0);
  if (first == std::string_view::npos || head[first] != '[') return false;
  constexpr std::array<std::string_view, 3> kKeys = {"jobid", "attempts", "submitted_time"};
  return std::any_of(kKeys.begin(), kKeys.end(), [head](std::string_view key) {
    return find_json_key(head, key) != std::string_view::npos;
  });
}

Result<Trace> read_philly_log(const TraceInput& input) {
  const auto zone = TimeZone::find(kPhillyTimeZone);
  if (!zone) return fail(zone.error());
  auto trace = LogHandler(input, *zone).read();
  if (!trace) return trace;
  trace->assumptions.emplace_back("run time is the sum over a job's scheduling attempts");
  trace->assumptions.emplace_back("times are local times of the US west coast");
  return trace;
}

}  // namespace vtrain
