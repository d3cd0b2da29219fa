#include "traces/batsim_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/json_reader.hpp"
#include "core/text.hpp"
#include "traces/job_fields.hpp"
#include "traces/json_lines.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Keys of the root object, of which one stands near its beginning.
constexpr std::array<std::string_view, 3> kKeys = {"\"nb_res\"", "\"jobs\"", "\"profiles\""};

/// The line on which an element of the array under the root's key `jobs` begins, 0 if it is not found. `text`
/// is valid JSON.
std::int64_t line_of_job(std::string_view text, std::size_t index) {
  int depth = 0;
  std::size_t element = 0;
  bool in_jobs = false;
  std::string_view last_string;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_jobs && depth == 2 && element == index && c > ' ' && c != ',') {
      return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
    }
    if (c == '"') {
      const std::size_t first = ++i;
      while (i < text.size() && text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
      last_string = text.substr(first, i - first);
    } else if (c == '[' || c == '{') {
      if (++depth == 2) in_jobs = c == '[' && last_string == "jobs";
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && in_jobs && depth == 2) {
      ++element;
    }
  }
  return 0;
}

class BatsimReader {
 public:
  BatsimReader(const JsonDocument& document, std::string_view text)
      : root_(document.root()), text_(text), file_(document.file()) {}

  Result<Trace> read() {
    if (!root_.is_object()) return fail({.file = file_, .line = 1, .message = "expected a JSON object"});
    if (auto size = read_size(); !size) return fail(std::move(size.error()));
    const auto jobs = root_.find("jobs");
    if (jobs == root_.end() || !jobs->is_array()) {
      return fail({.file = file_, .field = "jobs", .message = "expected an array of jobs"});
    }
    trace_.workload.jobs.reserve(jobs->size());
    for (position_ = 0; position_ < jobs->size(); ++position_) {
      if (auto read = read_job((*jobs)[position_]); !read) return fail(std::move(read.error()));
    }
    if (const auto same = find_same_name(trace_.workload.jobs)) {
      position_ = same->second;
      return complain("id",
                      fmt::format("{}: jobs[{}] on line {} has the same",
                                  expected_found("a job id of its own", trace_.workload.jobs[position_].name),
                                  same->first, line_of_job(text_, same->first)));
    }
    return std::move(trace_);
  }

 private:
  tl::unexpected<Error> complain(std::string_view field, std::string message) const {
    return fail({.file = file_,
                 .line = line_of_job(text_, position_),
                 .field = fmt::format("jobs[{}]{}{}", position_, field.empty() ? "" : ".", field),
                 .message = std::move(message)});
  }

  Result<void> read_size() {
    const auto size = root_.find("nb_res");
    if (size == root_.end()) return {};
    auto num_gpus = parse_num_gpus(scalar(*size));
    if (!num_gpus) return fail({.file = file_, .field = "nb_res", .message = num_gpus.error().message});
    trace_.num_gpus = num_gpus->value;
    return {};
  }

  /// The text of a number or a string as a CSV field would have it; anything else as JSON, which no parser
  /// accepts.
  static std::string scalar(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float() && value.get<double>() < 1e15) {
      // As written where that is to the nanosecond; sums of doubles have more digits, and small ones an
      // exponent.
      std::string text = value.dump();
      const std::size_t point = text.find('.');
      const bool too_long = point != std::string::npos && text.size() - point > 10;
      if (too_long || text.find('e') != std::string::npos) text = fmt::format("{:.9f}", value.get<double>());
      return text;
    }
    return value.dump();
  }

  template <class T>
  Result<void> take(const json& object, std::string_view key, Result<T> (*parse)(std::string_view),
                    T& to) const {
    const auto found = object.find(key);
    if (found == object.end()) return complain(key, "missing");
    auto value = parse(scalar(*found));
    if (!value) return complain(key, std::move(value.error().message));
    to = *value;
    return {};
  }

  Result<void> read_job(const json& object) {
    if (!object.is_object()) return complain("", expected_found("a JSON object", object.dump()));
    Job job;
    if (auto taken = take(object, "subtime", parse_instant, job.submit); !taken) return taken;
    if (auto taken = take(object, "res", parse_num_gpus, job.num_gpus); !taken) return taken;
    if (object.contains("walltime") && object["walltime"] != -1) {
      if (auto taken = take(object, "walltime", parse_duration, job.requested_time); !taken) return taken;
    }
    if (auto taken = read_profile(object, job.duration); !taken) return taken;
    return add(object, job);
  }

  Result<void> read_profile(const json& object, SimDuration& duration) const {
    const auto name = object.find("profile");
    if (name == object.end() || !name->is_string())
      return complain("profile", "expected the name of a profile");
    const auto profiles = root_.find("profiles");
    const auto profile = profiles != root_.end() && profiles->is_object()
                             ? profiles->find(name->get_ref<const std::string&>())
                             : root_.end();
    if (profiles == root_.end() || !profiles->is_object() || profile == profiles->end() ||
        !profile->is_object()) {
      return complain("profile", expected_found("the name of an object in 'profiles'", scalar(*name)));
    }
    const auto type = profile->find("type");
    if (type == profile->end() || *type != "delay") {
      return complain("profile", expected_found("a profile of type 'delay'",
                                                type == profile->end() ? "no type" : scalar(*type)));
    }
    return take(*profile, "delay", parse_duration, duration);
  }

  Result<void> add(const json& object, Job& job) {
    const auto id = object.find("id");
    if (id == object.end() || !(id->is_string() || id->is_number_integer())) {
      return complain("id", "expected a string or a whole number");
    }
    const std::string name = scalar(*id);
    if (auto checked = check_name(name); !checked) return complain("id", std::move(checked.error().message));
    job.name = trace_.workload.keep(name);
    trace_.workload.jobs.push_back(job);
    return {};
  }

  const json& root_;
  std::string_view text_;
  const std::string& file_;
  Trace trace_;
  std::size_t position_ = 0;
};

}  // namespace

bool recognise_batsim(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  head = trim(head);
  if (!head.starts_with('{') || recognise_json_lines(head)) return false;
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view key) { return head.find(key) != std::string_view::npos; });
}

Result<Trace> read_batsim(const TraceInput& input) {
  const auto document = JsonDocument::parse(std::string(input.text), input.file);
  if (!document) return fail(document.error());
  return BatsimReader(*document, input.text).read();
}

}  // namespace vtrain
