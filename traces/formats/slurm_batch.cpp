/// A batch of `sbatch` commands for a cluster under Slurm: a row for each, as a script would submit them.
///
/// | column | meaning |
/// |---|---|
/// | `offset`, `name` | seconds of the submission; name of the job |
/// | `user`, `account`, `qos`, `partition` | who submits it, and where; may be empty |
/// | `nodes`, `cpus`, `gres` | nodes; CPUs and generic resources of each node (`gpu:4`, `gpu:a100:4`) |
/// | `time_limit`, `sleep` | time limit in minutes; seconds that it really takes |
/// | `array` | `0-7`, `1,3,5-9`, `2-8:2%2`: a job for each task, named `NAME_TASK` |
/// | `dependency` | `afterok:a:b,afterany:c`: names of other rows, a whole array by its name |
/// | `begin` | `now+12`, `now+5minutes`: earliest start |
/// | `reservation`, `nice`, `exit` | reservation to use; `--nice`; exit code (default 0) |
///
/// The exit code becomes the job's status. Rows without GPUs are skipped.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "core/text/slurm_lists.hpp"
#include "traces/formats/formats.hpp"
#include "traces/reading/job_csv.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"
#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMostTask = 4'000'000;
constexpr std::size_t kMostTasks = 1'000'000;
constexpr std::int64_t kMostBatchSeconds = 3'153'600'000;  ///< 100 years

/// Tasks of an array, and how many may run at once (0: all).
struct ArraySpec {
  std::vector<std::int64_t> tasks{};
  std::int32_t limit = 0;
};

/// Reads `0-7%2`, `1,3,5-9`, `2-8:2`. The error carries only the message.
Result<ArraySpec> parse_array(std::string_view text) {
  ArraySpec spec;
  const auto [list, limit] = split_once(text, '%');
  const auto bad = [&] { return fail({.message = expected_found("tasks of an array as 0-7%2", text)}); };
  if (limit) {
    const auto most = parse_integer(*limit, 1, kMostTask);
    if (!most) return bad();
    spec.limit = static_cast<std::int32_t>(*most);
  }
  for (const std::string_view part : split(list, ',')) {
    const auto [range, step_text] = split_once(part, ':');
    const auto numbers = parse_integer_range(range, 0, kMostTask);
    const auto step = parse_integer(step_text.value_or("1"), 1, kMostTask);
    if (!numbers || !step) return bad();
    for (std::int64_t task = numbers->first; task <= numbers->last; task += *step) {
      if (spec.tasks.size() >= kMostTasks)
        return fail({.message = fmt::format("expected at most {} tasks, found more", kMostTasks)});
      spec.tasks.push_back(task);
    }
  }
  return spec;
}

/// Reads `afterok:a:b,afterany:c`. The error carries only the message.
Result<std::vector<JobDependency>> parse_sbatch_dependencies(std::string_view text) {
  std::vector<JobDependency> all;
  for (const std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> words = split(part, ':');
    for (std::size_t i = 1; i < std::max<std::size_t>(words.size(), 2); ++i) {
      const std::string_view name = i < words.size() ? words[i] : std::string_view();
      auto one = parse_dependencies(fmt::format("{}:{}", words[0], name));
      if (!one) return fail(std::move(one.error()));
      all.push_back(std::move(one->front()));
    }
  }
  return all;
}

/// Reads `now+12`, `now+5minutes`. The error carries only the message.
Result<SimDuration> parse_begin(std::string_view text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"", 1}};
  const auto bad = [&] { return fail({.message = expected_found("now+SECONDS", text)}); };
  if (!text.starts_with("now")) return bad();
  std::string_view rest = text.substr(3);
  if (rest.empty()) return SimDuration(0);
  if (!rest.starts_with('+')) return bad();
  rest.remove_prefix(1);
  for (const auto& [name, seconds] : kUnits) {
    if (!rest.ends_with(name)) continue;
    const auto number =
        parse_integer(rest.substr(0, rest.size() - name.size()), 0, kMostBatchSeconds / seconds);
    if (!number) return bad();
    return std::chrono::seconds(*number * seconds);
  }
  return bad();
}

/// Reads the rows of one file.
class BatchReader {
 public:
  BatchReader(const TraceInput& input, CsvReader rows) : input_(input), rows_(std::move(rows)) {}

  Result<Trace> read() {
    for (const std::string_view name : {"offset", "name", "gres", "time_limit", "sleep"}) {
      const auto found = rows_.require_column(name);
      if (!found) return fail(found.error());
    }
    for (;;) {
      const auto more = rows_.next();
      if (!more) return fail(more.error());
      if (!*more) break;
      if (auto row = read_row(); !row) return fail(std::move(row.error()));
    }
    const std::vector<SameName> repeated = find_same_names(trace_.workload.jobs);
    if (repeated.empty()) return std::move(trace_);
    const Job& second = trace_.workload.jobs[repeated.front().second];
    return fail({.file = input_.file,
                 .line = second.line,
                 .field = "name",
                 .message = expected_found("a name of its own", second.name)});
  }

 private:
  std::string_view text(std::string_view column) const {
    const int at = rows_.find_column(column);
    return at < 0 ? std::string_view() : trim(rows_.field(at));
  }
  Error error(std::string_view column, std::string message) const {
    return {.file = input_.file,
            .line = rows_.line(),
            .field = std::string(column),
            .message = std::move(message)};
  }
  /// A whole number in a column, which may be empty.
  Result<std::int64_t> integer(std::string_view column, std::int64_t low, std::int64_t high,
                               std::int64_t absent) const {
    if (text(column).empty()) return absent;
    const auto value = parse_integer(text(column), low, high);
    if (!value) return fail(error(column, value.error().message));
    return *value;
  }

  Result<void> read_row() {
    Job job;
    JobRequirements needs;
    const auto gpus = parse_gres(text("gres"));
    if (!gpus) return fail(error("gres", gpus.error().message));
    if (gpus->empty()) {
      if (input_.options.strict) return fail(error("gres", expected_found("GPUs", text("gres"))));
      trace_.skipped.add(skip::kNoGpu, rows_.line());
      return {};
    }
    if (gpus->size() > 1) return fail(error("gres", expected_found("GPUs of one type", text("gres"))));
    constexpr std::int64_t kMost = 1'000'000;
    const auto nodes = integer("nodes", 1, kMost, 1);
    const auto cpus = integer("cpus", 1, kMost, 1);
    const auto nice = integer("nice", -2'147'483'645, 2'147'483'645, 0);
    const auto exit = integer("exit", 0, 255, 0);
    for (const auto* const value : {&nodes, &cpus, &nice, &exit}) {
      if (!*value) return fail(value->error());
    }
    const std::int64_t total = *nodes * gpus->front().count;
    if (total > kMost) return fail(error("gres", expected_found("at most a million GPUs", text("gres"))));
    job.num_gpus = GpuCount(static_cast<std::int32_t>(total));
    if (const std::string_view type = gpus->front().type; !type.empty()) {
      if (const auto checked = check_name(type); !checked)
        return fail(error("gres", checked.error().message));
      job.gpu_type = trace_.workload.gpu_type(type);
    }
    needs.num_nodes = static_cast<std::int32_t>(*nodes);
    needs.gpus_per_node = GpuCount(static_cast<std::int32_t>(gpus->front().count));
    needs.cpus_per_node = static_cast<std::int32_t>(*cpus);
    needs.nice = *nice;
    needs.reservation = text("reservation");
    job.status = *exit == 0 ? JobStatus::Completed : JobStatus::Failed;
    if (auto read = read_times(job, needs); !read) return read;
    if (auto named = read_names(job); !named) return named;
    if (!text("dependency").empty()) {
      auto dependencies = parse_sbatch_dependencies(text("dependency"));
      if (!dependencies) return fail(error("dependency", dependencies.error().message));
      std::string written;  // as our own format would have it
      append_dependencies(written, *dependencies);
      if (const auto checked = check_name(written); !checked)
        return fail(error("dependency", checked.error().message));
      needs.dependencies = *std::move(dependencies);
    }
    return add(job, std::move(needs));
  }

  Result<void> read_times(Job& job, JobRequirements& needs) const {
    const auto submit = parse_instant(text("offset"), kSeconds);
    if (!submit) return fail(error("offset", submit.error().message));
    job.submit = *submit;
    const auto duration = parse_duration(text("sleep"), kSeconds);
    if (!duration) return fail(error("sleep", duration.error().message));
    job.duration = *duration;
    if (!text("time_limit").empty()) {
      const auto limit = parse_duration(text("time_limit"), kMinutes);
      if (!limit) return fail(error("time_limit", limit.error().message));
      job.requested_time = *limit;
    }
    if (text("begin").empty()) return {};
    const auto begin = parse_begin(text("begin"));
    if (!begin) return fail(error("begin", begin.error().message));
    needs.begin = saturating_sum(job.submit, *begin);
    return {};
  }

  Result<void> read_names(Job& job) {
    for (const std::string_view column : {"user", "account", "qos", "partition", "reservation"}) {
      if (text(column).empty()) continue;
      if (const auto checked = check_name(text(column)); !checked)
        return fail(error(column, checked.error().message));
    }
    Workload& workload = trace_.workload;
    if (!text("user").empty()) job.user = workload.user(text("user"));
    if (!text("account").empty()) {
      job.account = workload.account(text("account"));
      job.tenant = workload.tenant(text("account"));
    }
    if (!text("qos").empty()) job.qos = workload.qos(text("qos"));
    if (!text("partition").empty()) job.queue = workload.queue(text("partition"));
    return {};
  }

  Result<void> add(Job job, JobRequirements needs) {
    Workload& workload = trace_.workload;
    const auto keep = [&](std::string_view name) -> Result<void> {
      if (const auto checked = check_name(name); !checked)
        return fail(error("name", checked.error().message));
      Job added = job;
      added.name = workload.keep(name);
      added.line = static_cast<std::uint32_t>(rows_.line());
      workload.add_requirements(added) = needs;
      workload.jobs.push_back(added);
      return {};
    };
    if (text("array").empty()) return keep(text("name"));
    const auto array = parse_array(text("array"));
    if (!array) return fail(error("array", array.error().message));
    needs.array = text("name");
    needs.array_limit = array->limit;
    for (const std::int64_t task : array->tasks) {
      if (auto kept = keep(fmt::format("{}_{}", text("name"), task)); !kept) return kept;
    }
    return {};
  }

  const TraceInput& input_;
  CsvReader rows_;
  Trace trace_;
};

}  // namespace

bool recognise_slurm_batch(std::string_view head) {
  return header_includes(head, {"offset", "name", "gres", "time_limit", "sleep"});
}

Result<Trace> read_slurm_batch(const TraceInput& input) {
  auto rows = CsvReader::open(input.text, input.file);
  if (!rows) return fail(std::move(rows.error()));
  return BatchReader(input, *std::move(rows)).read();
}

}  // namespace vtrain
