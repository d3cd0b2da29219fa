/// Our own trace format as JSON lines: one job a line, an object with the columns of our CSV as keys.
///
///     {"job_id":"a","tenant":"vision","submit_s":0,"num_gpus":8,"duration_s":3600.5,"status":"completed"}
///
/// Required are `job_id`, `submit_s`, `num_gpus`, and either `duration_s` or all of `model`, `global_batch`
/// and `iterations`. Values are numbers or strings; a key that is absent, null or "" is not given. A line
/// {"assumption":"..."} states an assumption or a synthetic field. All fields of a job are kept. Numbers are
/// read without conversion to double. An unknown or repeated key, a nested value and a repeated job id are
/// errors.
///
/// Recognised by a first line, not blank, that begins an object and names `job_id` or `assumption` as a key.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/io/json_line.hpp"
#include "core/io/json_reader.hpp"
#include "core/io/line_reader.hpp"
#include "traces/reading/columns.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

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
      if (!is_plain_text(text)) return complain(kAssumption, expected_found("a line of text", text));
      trace_.assumptions.push_back(text);
      return {};
    }
    return read_job(*values);
  }

  Result<void> read_job(const std::vector<JsonLineValue>& values) {
    Job job;
    const auto& columns = trace_columns();
    std::array<bool, kNumTraceColumns> seen{};
    bool has_submit = false;
    bool has_num_gpus = false;
    for (const JsonLineValue& value : values) {
      const auto* const key = std::find_if(columns.begin(), columns.end(),
                                           [&](const TraceColumn& known) { return known.name == value.key; });
      if (key == columns.end()) return complain(value.key, unknown_key(value.key));
      if (std::exchange(seen[static_cast<std::size_t>(key - columns.begin())], true)) {
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
    for (const TraceColumn& known : trace_columns())
      names.push_back(known.name);
    return "unknown key; " + suggest_name(key, names);
  }

  LineReader lines_;
  Trace trace_;
};

/// Appends a job as one object, with the keys for which it has a value.
void append_job(std::string& out, const Job& job, const Workload& workload) {
  char before = '{';
  for (const TraceColumn& column : trace_columns()) {
    if (!column.is_given(job, workload)) continue;
    out += std::exchange(before, ',');
    out += '"';
    out += column.name;
    out += "\":";
    if (column.is_text) {
      std::string text;
      column.append(text, job, workload);
      out += json_string(text);
    } else {
      column.append(out, job, workload);
    }
  }
  out += "}\n";
}

}  // namespace

bool recognise_json_lines(std::string_view head) {
  LineReader lines(head, {});
  const auto more = lines.next();
  if (!more || !*more) return false;
  const std::string_view line = trim(lines.line());
  const auto has_key = [line](std::string_view key) {
    return find_json_key(line, key) != std::string_view::npos;
  };
  return line.front() == '{' && (has_key("job_id") || has_key(kAssumption));
}

Result<Trace> read_json_lines(const TraceInput& input) {
  return JsonLinesReader(input).read();
}

Result<void> write_json_lines(const Trace& trace, const std::filesystem::path& path) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  for (const std::string& assumption : trace.assumptions)
    file->write(fmt::format("{{\"{}\":{}}}\n", kAssumption, json_string(assumption)));
  std::string line;
  for (const Job& job : trace.workload.jobs) {
    line.clear();
    append_job(line, job, trace.workload);
    file->write(line);
  }
  return file->commit();
}

}  // namespace vtrain
