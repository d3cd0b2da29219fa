/// The JSON workload of the Batsim simulator (Dutot et al., JSSPP 2015), restricted to jobs that take a known
/// time.
///
/// Kept: submission, duration, GPUs (`res`), requested time (`walltime`, unless it is absent or -1), size of
/// the cluster (`nb_res`). The format has no tenant, user, GPU type, model, iterations, deadline, status or
/// original start. The profiles that jobs use must be delays (`delay`, since Batsim 5 `DelayProfile`) or
/// sequences of delays (`SequentialCompositionProfile`, before `composed` and `sequential_composition`). The
/// run times of all other profiles depend on a platform. Times are seconds; times with at most nine digits
/// after the point are read exactly, others to the nearest nanosecond. The text is read in one pass: a job
/// costs 4 bytes more than in other formats, and a profile at most 36.
///
/// Recognised by a JSON object that begins with one of Batsim's keys and is not a job in our JSON lines.
///
/// Written are job id, submission, GPUs, requested time and the duration, as a profile of type `delay` that
/// jobs of equal duration share. `nb_res` is the size of the cluster if the trace has one, otherwise the size
/// of the largest job. Assumptions become the `description`. Numbers of JSON are doubles: times are exact to
/// the nanosecond below 2^22 s (48 days), and beyond if they are whole milliseconds. A job without a run time
/// is an error.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "core/io/json_line.hpp"
#include "core/io/json_reader.hpp"
#include "traces/formats/batsim_profiles.hpp"
#include "traces/reading/job_fields.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Types of the profiles with a known run time, by version.
constexpr std::array<std::string_view, 2> kDelays = {"delay", "DelayProfile"};
constexpr std::array<std::string_view, 3> kSequences = {"composed", "sequential_composition",
                                                        "SequentialCompositionProfile"};

/// Keys of the root object; one of them is near its beginning.
constexpr std::array<std::string_view, 3> kBatsimKeys = {"nb_res", "jobs", "profiles"};

/// A JSON value as the text of a CSV field.
struct Value {
  enum class Kind : std::uint8_t { Absent, String, Integer, Other };
  Kind kind = Kind::Absent;
  std::string text{};  ///< value of a scalar, JSON of an object or an array
};

/// Text of a number that is no 64-bit integer: as written, or with nine digits after the point. Sums of
/// doubles have more digits, and small numbers an exponent.
std::string number_text(double value, std::string_view written) {
  const std::size_t point = written.find('.');
  const bool too_long = point != std::string_view::npos && written.size() - point > 10;
  const bool has_exponent = written.find_first_of("eE") != std::string_view::npos;
  if (std::abs(value) >= 1e15 || !(too_long || has_exponent)) return std::string(written);
  return fmt::format("{:.9f}", value);
}

/// Parses a value into `to`. Errors have the key as their field.
template <class T>
Result<void> parse_value(const Value& value, std::string_view key, Result<T> (*parse)(std::string_view),
                         T& to) {
  if (value.kind == Value::Kind::Absent) return fail({.field = std::string(key), .message = "missing"});
  auto parsed = parse(value.text);
  if (!parsed) return fail({.field = std::string(key), .message = std::move(parsed.error().message)});
  to = *parsed;
  return {};
}

/// Turns the parser's events into jobs. If an object has a key twice, the last value counts, except for
/// `jobs` and `profiles`.
class WorkloadHandler : public JsonEvents {
 public:
  explicit WorkloadHandler(const TraceInput& input) : input_(input) {
    constexpr std::size_t kBytesOfShortJob = 44;      // {"id":1,"subtime":0,"res":1,"profile":"a"},
    constexpr std::size_t kBytesOfShortProfile = 31;  // "a":{"type":"delay","delay":1},
    const std::size_t most_jobs =
        std::min(count_words(input.text, "\"subtime\""), input.text.size() / kBytesOfShortJob);
    trace_.workload.jobs.reserve(most_jobs);
    profile_of_job_.reserve(most_jobs);
    profiles_.reserve(
        std::min(count_words(input.text, "\"type\""), input.text.size() / kBytesOfShortProfile));
  }

  Result<Trace> read() {
    if (auto parsed = parse(input_.text, input_.file); !parsed) return fail(std::move(parsed.error()));
    if (!is_object_) return fail({.file = input_.file, .line = 1, .message = "expected a JSON object"});
    if (!repeated_key_.empty()) {
      return fail({.file = input_.file, .field = repeated_key_, .message = "expected once, found twice"});
    }
    if (auto taken = take_size(); !taken) return fail(std::move(taken.error()));
    if (!has_array_)
      return fail({.file = input_.file, .field = "jobs", .message = "expected an array of jobs"});
    if (auto taken = take_run_times(); !taken) return fail(std::move(taken.error()));
    if (error_) return fail(*std::move(error_));
    if (const auto same = find_same_name(jobs())) {
      auto message = fmt::format("{}: jobs[{}] on line {} has the same",
                                 expected_found("a job id of its own", jobs()[same->second].name),
                                 same->first, jobs()[same->first].line);
      return fail(error_of_job(same->second, {.field = "id", .message = std::move(message)}));
    }
    return std::move(trace_);
  }

  bool null() override { return scalar(Value::Kind::Other, "null"); }
  bool boolean(bool value) override { return scalar(Value::Kind::Other, value ? "true" : "false"); }
  bool number_integer(json::number_integer_t value) override {
    return scalar(Value::Kind::Integer, fmt::to_string(value));
  }
  bool number_unsigned(json::number_unsigned_t value) override {
    return scalar(Value::Kind::Integer, fmt::to_string(value));
  }
  bool number_float(json::number_float_t value, const std::string& text) override {
    return scalar(Value::Kind::Other, number_text(value, text));
  }
  bool string(std::string& text) override { return scalar(Value::Kind::String, text); }
  bool binary(json::binary_t&) override { return scalar(Value::Kind::Other, "bytes"); }

  bool key(std::string& name) override {
    if (place_ == Place::Profiles) {
      profile_ = profile_number(name);
    } else if (place_ != Place::Other) {
      key_.swap(name);
    }
    if (place_ != Place::Top) return true;
    // Parsing stops at a second `jobs` or `profiles`: errors name jobs by their index in one array.
    if (key_ == "jobs" && std::exchange(has_jobs_, true)) repeated_key_ = key_;
    if (key_ == "profiles" && std::exchange(has_profiles_, true)) repeated_key_ = key_;
    return repeated_key_.empty();
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::Outside) is_object_ = true;
    return enter(place_ == Place::Outside                     ? Place::Top
                 : place_ == Place::Top && key_ == "profiles" ? Place::Profiles
                 : place_ == Place::Jobs                      ? Place::Job
                 : place_ == Place::Profiles                  ? Place::Profile
                                                              : Place::Other);
  }

  bool start_array(std::size_t) override {
    return enter(place_ == Place::Top && key_ == "jobs"      ? Place::Jobs
                 : place_ == Place::Profile && key_ == "seq" ? Place::Sequence
                                                             : Place::Other);
  }

  bool end_object() override {
    if (place_ == Place::Job) end_job();
    if (place_ == Place::Profile) end_profile();
    return leave();
  }

  bool end_array() override { return leave(); }

 private:
  /// Position of the parser. `Other` are objects and arrays without a meaning here.
  enum class Place : std::uint8_t { Outside, Top, Jobs, Job, Profiles, Profile, Sequence, Other };

  /// Fields of the current job, as read so far.
  struct Fields {
    Value id{};
    Value submit{};
    Value num_gpus{};
    Value walltime{};
    std::optional<std::uint32_t> profile{};
  };

  std::vector<Job>& jobs() { return trace_.workload.jobs; }

  /// Notes the line of each element of `jobs`, up to the first bad element.
  void begin_value() {
    if (place_ == Place::Jobs && !error_) line_ = current_line();
  }

  bool enter(Place place) {
    begin_value();
    if (!check_depth(parents_.size())) return false;
    if (place == Place::Other && place_ != Place::Other) other_begin_ = num_read() - 1;
    if (place == Place::Jobs) has_array_ = true;
    if (place == Place::Job) fields_ = {};
    if (place == Place::Profile) type_ = delay_ = repeat_ = {};
    if (place == Place::Profile || place == Place::Sequence) {
      parts_.clear();
      has_other_parts_ = false;
    }
    parents_.push_back(std::exchange(place_, place));
    return true;
  }

  bool leave() {
    const Place ended = std::exchange(place_, parents_.back());
    parents_.pop_back();
    if (ended != Place::Other || place_ == Place::Other) return true;
    return take(Value::Kind::Other, input_.text.substr(other_begin_, num_read() - other_begin_));
  }

  bool scalar(Value::Kind kind, std::string_view text) {
    begin_value();
    return take(kind, text);
  }

  /// Takes a complete value: a scalar, or an object or array that is `Other`.
  bool take(Value::Kind kind, std::string_view text) {
    if (place_ == Place::Jobs && !error_) {
      error_ = error_of_job(jobs().size(), {.message = expected_found("a JSON object", text)});
    } else if (place_ == Place::Profiles) {
      profiles_.define(profile_, SimDuration());
    } else if (place_ == Place::Sequence) {
      has_other_parts_ |= kind != Value::Kind::String;
      if (kind == Value::Kind::String) parts_.push_back(profile_number(text));
    } else if (place_ == Place::Job && key_ == "profile") {
      fields_.profile.reset();
      if (kind == Value::Kind::String) fields_.profile = profile_number(text);
    } else if (Value* const value = value_of_key()) {
      value->kind = kind;
      value->text = text;
    }
    return true;
  }

  /// The member for the value under the key, null if the value is not kept.
  Value* value_of_key() {
    if (place_ == Place::Top) return key_ == "nb_res" ? &size_ : nullptr;
    if (place_ == Place::Profile) {
      if (key_ == "type") return &type_;
      if (key_ == "delay") return &delay_;
      return key_ == "repeat" || key_ == "nb" ? &repeat_ : nullptr;
    }
    if (place_ != Place::Job) return nullptr;
    if (key_ == "id") return &fields_.id;
    if (key_ == "subtime") return &fields_.submit;
    if (key_ == "res") return &fields_.num_gpus;
    return key_ == "walltime" ? &fields_.walltime : nullptr;
  }

  /// The number of the profile whose name was just read. The name of a new profile is a view of the file, or
  /// a copy if it has escapes there.
  std::uint32_t profile_number(std::string_view name) {
    if (const auto known = profiles_.find(name)) return *known;
    const std::size_t end = num_read() - 1;
    const std::string_view written =
        input_.text.substr(end - std::min(end, name.size()), std::min(end, name.size()));
    return profiles_.add(written == name ? written : trace_.workload.keep(name));
  }

  void end_profile() {
    const auto is_one_of = [this](const auto& names) {
      return type_.kind == Value::Kind::String &&
             std::find(names.begin(), names.end(), type_.text) != names.end();
    };
    if (is_one_of(kSequences)) return end_sequence();
    if (!is_one_of(kDelays)) {
      const std::string_view found =
          type_.kind == Value::Kind::Absent ? "no type" : std::string_view(type_.text);
      return profiles_.refuse(
          profile_, {.field = "profile", .message = expected_found("a profile of type 'delay'", found)});
    }
    SimDuration run_time{};
    if (auto parsed = parse_value(delay_, "delay", parse_duration, run_time); !parsed)
      return profiles_.refuse(profile_, std::move(parsed.error()));
    profiles_.define(profile_, run_time);
  }

  void end_sequence() {
    std::int64_t repeat = 1;
    if (repeat_.kind != Value::Kind::Absent) {
      auto parsed = parse_value(repeat_, "repeat", parse_iterations, repeat);
      if (!parsed) return profiles_.refuse(profile_, std::move(parsed.error()));
    }
    if (parts_.empty() || has_other_parts_)
      return profiles_.refuse(profile_,
                              {.field = "seq", .message = "expected a list of the names of profiles"});
    profiles_.define(profile_, repeat, parts_);
  }

  /// Adds the job, unless an earlier job had an error.
  void end_job() {
    if (error_) return;
    if (auto added = add_job(); !added) error_ = error_of_job(jobs().size(), std::move(added.error()));
  }

  Result<void> add_job() {
    Job job;
    if (auto parsed = parse_value(fields_.submit, "subtime", parse_instant, job.submit); !parsed)
      return parsed;
    if (auto parsed = parse_value(fields_.num_gpus, "res", parse_num_gpus, job.num_gpus); !parsed)
      return parsed;
    if (has_walltime()) {
      auto parsed = parse_value(fields_.walltime, "walltime", parse_duration, job.requested_time);
      if (!parsed) return parsed;
    }
    if (!fields_.profile) return fail({.field = "profile", .message = "expected the name of a profile"});
    profile_of_job_.push_back(*fields_.profile);
    const Value& id = fields_.id;
    if (id.kind != Value::Kind::String && id.kind != Value::Kind::Integer)
      return fail({.field = "id", .message = "expected a string or a whole number"});
    if (auto checked = check_name(id.text); !checked)
      return fail({.field = "id", .message = std::move(checked.error().message)});
    job.name = trace_.workload.keep(id.text);
    job.line = static_cast<std::uint32_t>(line_);
    jobs().push_back(job);
    return {};
  }

  /// True if the job has a walltime; the number -1 is none.
  bool has_walltime() const {
    const Value& walltime = fields_.walltime;
    if (walltime.kind == Value::Kind::Absent) return false;
    const bool is_negative = walltime.kind != Value::Kind::String && walltime.text.starts_with('-');
    return !is_negative || parse_number(walltime.text, -1, -1) != -1.0;
  }

  Result<void> take_size() {
    if (size_.kind == Value::Kind::Absent) return {};
    auto num_gpus = parse_num_gpus(size_.text);
    if (!num_gpus) {
      return fail({.file = input_.file, .field = "nb_res", .message = std::move(num_gpus.error().message)});
    }
    trace_.num_gpus = num_gpus->value;
    return {};
  }

  /// Sets the jobs' run times from their profiles. The job with a bad id has a profile too.
  Result<void> take_run_times() {
    for (std::size_t i = 0; i < profile_of_job_.size(); ++i) {
      auto run_time = profiles_.run_time(profile_of_job_[i]);
      if (!run_time) return fail(error_of_job(i, std::move(run_time.error())));
      if (i < jobs().size()) jobs()[i].duration = *run_time;
    }
    return {};
  }

  /// Adds the place of a job to an error: of an added job, or of the first bad one.
  Error error_of_job(std::size_t index, Error error) const {
    const std::vector<Job>& jobs = trace_.workload.jobs;
    error.file = input_.file;
    error.line = index < jobs.size() ? jobs[index].line : line_;
    error.field = fmt::format("jobs[{}]{}{}", index, error.field.empty() ? "" : ".", error.field);
    return error;
  }

  const TraceInput& input_;
  Trace trace_;
  BatsimProfiles profiles_;
  std::vector<std::uint32_t> profile_of_job_;  ///< [jobs], or [jobs + 1] after a job with a bad id
  std::optional<Error> error_;                 ///< error of the first bad job

  Place place_ = Place::Outside;
  std::vector<Place> parents_;   ///< enclosing places, outermost first
  std::string key_;              ///< last key outside of `Other`, except names of profiles
  std::size_t other_begin_ = 0;  ///< position of the opening bracket
  std::int64_t line_ = 0;        ///< line of the last element of `jobs`, or of the first bad one
  std::uint32_t profile_ = 0;    ///< profile whose name was read last
  Fields fields_;
  Value type_;                        ///< type of the current profile
  Value delay_;                       ///< delay of the current profile
  Value repeat_;                      ///< repetitions of the current sequence
  std::vector<std::uint32_t> parts_;  ///< parts of the current sequence
  bool has_other_parts_ = false;      ///< true if some parts are no names of profiles
  Value size_;                        ///< size of the cluster

  std::string repeated_key_;
  bool is_object_ = false;
  bool has_jobs_ = false;
  bool has_profiles_ = false;
  bool has_array_ = false;
};

std::string seconds(SimDuration duration) {
  std::string text;
  append_ns_as_seconds(text, duration.count());
  return text;
}

std::string header(const Trace& trace) {
  std::int32_t size = trace.num_gpus.value_or(1);
  for (const Job& job : trace.workload.jobs)
    size = std::max(size, job.num_gpus.value);
  std::string out = fmt::format("{{\n\"nb_res\": {},\n", size);
  if (!trace.assumptions.empty()) {
    out += fmt::format("\"description\": {},\n",
                       json_string(fmt::format("{}", fmt::join(trace.assumptions, "; "))));
  }
  return out + "\"jobs\": [\n";
}

std::string job_text(const Job& job) {
  const std::string walltime = job.requested_time.count() > 0 ? seconds(job.requested_time) : "-1";
  return fmt::format(
      "{{\"id\": {}, \"subtime\": {}, \"res\": {}, \"walltime\": {}, \"profile\": \"delay {}\"}}",
      json_string(job.name), seconds(job.submit.time_since_epoch()), job.num_gpus.value, walltime,
      seconds(job.duration));
}

}  // namespace

bool recognise_batsim(std::string_view head) {
  if (!begins_with_object(head) || recognise_json_lines(head)) return false;
  return std::any_of(kBatsimKeys.begin(), kBatsimKeys.end(), [&](std::string_view key) {
    return find_json_key(head, key) != std::string_view::npos;
  });
}

Result<Trace> read_batsim(const TraceInput& input) {
  return WorkloadHandler(input).read();
}

Result<void> write_batsim(const Trace& trace, const std::filesystem::path& path) {
  std::set<SimDuration> durations;
  for (const Job& job : trace.workload.jobs) {
    if (job.duration.count() == 0) {
      return fail(
          job_error(trace.workload, job, "duration", "has no run time, and a profile of Batsim needs one"));
    }
    durations.insert(job.duration);
  }
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  file->write(header(trace));
  const auto append = [&](const std::string& element, bool first) {
    if (!first) file->write(",\n");
    file->write(element);
  };
  for (const Job& job : trace.workload.jobs)
    append(job_text(job), &job == &trace.workload.jobs.front());
  file->write("\n],\n\"profiles\": {\n");
  for (const SimDuration duration : durations) {
    append(fmt::format("\"delay {0}\": {{\"type\": \"delay\", \"delay\": {0}}}", seconds(duration)),
           duration == *durations.begin());
  }
  file->write("\n}\n}\n");
  return file->commit();
}

}  // namespace vtrain
