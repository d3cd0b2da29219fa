#include "traces/json_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/json_line.hpp"
#include "core/json_reader.hpp"
#include "core/line_reader.hpp"
#include "core/text.hpp"
#include "traces/job_fields.hpp"

namespace vtrain {
namespace {

/// What a key says of a job, from the text of its value.
struct Key {
  std::string_view name;
  Result<void> (*take)(std::string_view text, Job& job, Workload& workload);
};

template <class T>
Result<void> assign(Result<T> value, T& to) {
  if (!value) return fail(std::move(value.error()));
  to = *value;
  return {};
}

template <class NameId>
Result<void> assign_name(std::string_view text, NameTable& names, NameId& to) {
  if (auto checked = check_name(text); !checked) return checked;
  to = NameId(names.add(text));
  return {};
}

constexpr std::array kJobKeys = {
    Key{"job_id",
        [](std::string_view text, Job& job, Workload& workload) {
          auto checked = check_name(text);
          if (checked) job.name = workload.keep(text);
          return checked;
        }},
    Key{"tenant", [](std::string_view text, Job& job,
                     Workload& workload) { return assign_name(text, workload.tenants, job.tenant); }},
    Key{"user", [](std::string_view text, Job& job,
                   Workload& workload) { return assign_name(text, workload.users, job.user); }},
    Key{"submit_s",
        [](std::string_view text, Job& job, Workload&) { return assign(parse_instant(text), job.submit); }},
    Key{"num_gpus", [](std::string_view text, Job& job,
                       Workload&) { return assign(parse_num_gpus(text), job.num_gpus); }},
    Key{"gpu_type", [](std::string_view text, Job& job,
                       Workload& workload) { return assign_name(text, workload.gpu_types, job.gpu_type); }},
    Key{"gpu_share", [](std::string_view text, Job& job,
                        Workload&) { return assign(parse_gpu_share(text), job.gpu_share); }},
    Key{"max_gpus", [](std::string_view text, Job& job,
                       Workload&) { return assign(parse_num_gpus(text), job.max_gpus); }},
    Key{"duration_s", [](std::string_view text, Job& job,
                         Workload&) { return assign(parse_duration(text), job.duration); }},
    Key{"requested_s", [](std::string_view text, Job& job,
                          Workload&) { return assign(parse_duration(text), job.requested_time); }},
    Key{"deadline_s",
        [](std::string_view text, Job& job, Workload&) { return assign(parse_instant(text), job.deadline); }},
    Key{"model", [](std::string_view text, Job& job,
                    Workload& workload) { return assign_name(text, workload.models, job.model); }},
    Key{"global_batch", [](std::string_view text, Job& job,
                           Workload&) { return assign(parse_global_batch(text), job.global_batch); }},
    Key{"iterations", [](std::string_view text, Job& job,
                         Workload&) { return assign(parse_iterations(text), job.iterations); }},
    Key{"original_start_s", [](std::string_view text, Job& job,
                               Workload&) { return assign(parse_instant(text), job.original_start); }},
    Key{"status",
        [](std::string_view text, Job& job, Workload&) { return assign(parse_status(text), job.status); }},
};
constexpr std::string_view kAssumption = "assumption";

class JsonLinesReader {
 public:
  explicit JsonLinesReader(const TraceInput& input) : lines_(input.text, input.file) {
    constexpr std::size_t kBytesOfShortJob = 40;  // id, submission, GPUs and a duration
    const auto num_lines = static_cast<std::size_t>(std::count(input.text.begin(), input.text.end(), '\n'));
    const std::size_t most_jobs = std::min(num_lines, input.text.size() / kBytesOfShortJob) + 1;
    trace_.workload.jobs.reserve(most_jobs);
  }

  Result<Trace> read() {
    for (;;) {
      const auto more = lines_.next();
      if (!more) return fail(more.error());
      if (!*more) break;
      if (auto read = read_line(); !read) return fail(std::move(read.error()));
    }
    const auto& jobs = trace_.workload.jobs;
    if (const auto same = find_same_name(jobs)) {
      return fail({.file = lines_.file(),
                   .line = jobs[same->second].line,
                   .field = "job_id",
                   .message = fmt::format("{}: line {} has the same",
                                          expected_found("a job id of its own", jobs[same->second].name),
                                          jobs[same->first].line)});
    }
    return std::move(trace_);
  }

 private:
  tl::unexpected<Error> complain(std::string_view field, std::string message) const {
    return fail({.file = lines_.file(),
                 .line = lines_.number(),
                 .field = std::string(field),
                 .message = std::move(message)});
  }

  Result<void> read_line() {
    const auto values = parse_json_line(lines_.line());
    if (!values) return complain(values.error().field, values.error().message);
    if (values->size() == 1 && values->front().key == kAssumption) {
      const std::string& text = values->front().text;
      if (!is_printable(text)) return complain(kAssumption, expected_found("a line of text", text));
      trace_.assumptions.push_back(text);
      return {};
    }
    return read_job(*values);
  }

  Result<void> read_job(const std::vector<JsonLineValue>& values) {
    Job job;
    std::array<bool, kJobKeys.size()> seen{};
    bool has_submit = false;
    bool has_num_gpus = false;
    for (const JsonLineValue& value : values) {
      const auto key = std::find_if(kJobKeys.begin(), kJobKeys.end(),
                                    [&](const Key& known) { return known.name == value.key; });
      if (key == kJobKeys.end()) return complain(value.key, unknown_key(value.key));
      if (std::exchange(seen[static_cast<std::size_t>(key - kJobKeys.begin())], true)) {
        return complain(value.key, "the key stands twice in this line");
      }
      if (value.text.empty()) continue;
      if (auto taken = key->take(value.text, job, trace_.workload); !taken) {
        return complain(value.key, std::move(taken.error().message));
      }
      has_submit |= key->name == "submit_s";
      has_num_gpus |= key->name == "num_gpus";
    }
    if (job.name.empty()) return complain("job_id", "missing");
    if (!has_submit) return complain("submit_s", "missing");
    if (!has_num_gpus) return complain("num_gpus", "missing");
    if (job.max_gpus.value > 0 && job.max_gpus < job.num_gpus) {
      return complain("max_gpus",
                      expected_found(fmt::format("at least the {} GPUs asked for", job.num_gpus.value),
                                     std::to_string(job.max_gpus.value)));
    }
    const bool has_work = job.model && job.global_batch > 0 && job.iterations > 0;
    if (job.duration.count() == 0 && !has_work) {
      return complain("duration_s",
                      "expected a duration, or a model with its global batch and iterations, found neither");
    }
    job.line = static_cast<std::uint32_t>(lines_.number());
    trace_.workload.jobs.push_back(job);
    return {};
  }

  static std::string unknown_key(std::string_view key) {
    std::vector<std::string_view> names;
    for (const Key& known : kJobKeys)
      names.push_back(known.name);
    return "unknown key; " + suggest_name(key, names);
  }

  LineReader lines_;
  Trace trace_;
};

/// Writes one object a job.
class JsonLinesWriter {
 public:
  explicit JsonLinesWriter(const Workload& workload) : workload_(workload) {}

  void append_job(std::string& out, const Job& job) const {
    out += "{\"job_id\":";
    out += json_string(job.name);
    append_name(out, "tenant", workload_.tenants, job.tenant);
    append_name(out, "user", workload_.users, job.user);
    append_seconds(out, "submit_s", job.submit.time_since_epoch(), true);
    append_count(out, "num_gpus", job.num_gpus.value);
    append_name(out, "gpu_type", workload_.gpu_types, job.gpu_type);
    // Thousandths are written as milliseconds are: exactly, and as short as possible.
    append_seconds(out, "gpu_share", std::chrono::milliseconds(job.gpu_share), job.shares_gpus());
    append_count(out, "max_gpus", job.max_gpus.value);
    append_seconds(out, "duration_s", job.duration, job.duration.count() > 0);
    append_seconds(out, "requested_s", job.requested_time, job.requested_time.count() > 0);
    append_seconds(out, "deadline_s", job.deadline.time_since_epoch(), job.has_deadline());
    append_name(out, "model", workload_.models, job.model);
    append_count(out, "global_batch", job.global_batch);
    append_count(out, "iterations", job.iterations);
    append_seconds(out, "original_start_s", job.original_start.time_since_epoch(),
                   job.original_start != Job::kNoStart);
    if (job.status != JobStatus::Unknown) out += fmt::format(",\"status\":\"{}\"", status_name(job.status));
    out += "}\n";
  }

 private:
  template <class NameId>
  static void append_name(std::string& out, std::string_view key, const NameTable& names, NameId id) {
    if (id) out += fmt::format(",\"{}\":{}", key, json_string(names[id.value]));
  }

  static void append_seconds(std::string& out, std::string_view key, SimDuration time, bool given) {
    if (!given) return;
    out += fmt::format(",\"{}\":", key);
    append_ns_as_seconds(out, time.count());
  }

  static void append_count(std::string& out, std::string_view key, std::int64_t count) {
    if (count > 0) out += fmt::format(",\"{}\":{}", key, count);
  }

  const Workload& workload_;
};

}  // namespace

bool recognise_json_lines(std::string_view head) {
  LineReader lines(head, {});
  const auto more = lines.next();
  if (!more || !*more) return false;
  const std::string_view line = trim(lines.line());
  return line.front() == '{' && (line.find("\"job_id\"") != std::string_view::npos ||
                                 line.find("\"assumption\"") != std::string_view::npos);
}

Result<Trace> read_json_lines(const TraceInput& input) {
  return JsonLinesReader(input).read();
}

Result<void> write_json_lines(const Trace& trace, const std::filesystem::path& path) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  const JsonLinesWriter writer(trace.workload);
  for (const std::string& assumption : trace.assumptions)
    file->write(fmt::format("{{\"{}\":{}}}\n", kAssumption, json_string(assumption)));
  std::string line;
  for (const Job& job : trace.workload.jobs) {
    line.clear();
    writer.append_job(line, job);
    file->write(line);
  }
  return file->commit();
}

}  // namespace vtrain
