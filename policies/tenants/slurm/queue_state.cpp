#include "policies/tenants/slurm/queue_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/calendar.hpp"
#include "core/text/slurm_conf_lines.hpp"
#include "policies/tenants/slurm/fair_share.hpp"
#include "policies/tenants/slurm/slurm_files.hpp"

namespace vtrain::slurm {
namespace {

/// Seconds since 1970; none for `Unknown` and the like.
Result<std::optional<std::int64_t>> parse_instant(std::string_view text) {
  const std::string lower = lower_case(text);
  if (lower.empty() || lower == "unknown" || lower == "n/a" || lower == "none" || lower == "(null)")
    return std::nullopt;
  const auto time = parse_civil_time(text);
  if (!time) return fail({.message = expected_found("a time as 2026-11-25T09:16:18", text)});
  return std::optional(seconds_since_1970(*time));
}

/// Reads the fields of one job. The first error is remembered.
class QueuedJobReader {
 public:
  QueuedJobReader(std::string_view line, std::int64_t number, const std::string& file, TresNames& names)
      : number_(number), file_(file), names_(names) {
    for (SlurmConfEntry& pair : slurm_pairs(line))
      fields_.emplace(std::move(pair.key), std::move(pair.value));
  }

  /// State of the job.
  std::string_view state() { return text("JobState"); }
  QueuedJob read() {
    QueuedJob job{.id = std::string(text("JobId")), .line = number_};
    if (has("ArrayJobId") && has("ArrayTaskId"))
      job.id = fmt::format("{}_{}", text("ArrayJobId"), text("ArrayTaskId"));
    const std::string_view user = text("UserId");
    job.user = user.substr(0, user.find('('));
    job.account = lower_case(text("Account"));
    job.qos = lower_case(text("QOS"));
    for (const std::string_view name : split(text("Partition"), ','))
      job.partitions.emplace_back(name);
    job.request.nodes = first_integer("NumNodes");
    job.request.cpus = first_integer("NumCPUs");
    take("TimeLimit", parse_slurm_minutes(text("TimeLimit")), job.request.limit_minutes);
    take("TRES", parse_tres_list(text(has("ReqTRES") ? "ReqTRES" : "TRES"), names_), job.request.tres);
    take("Nice", parse_integer(text("Nice"), -2'147'483'645, 2'147'483'645), job.request.nice);
    std::optional<std::int64_t> submit;
    take("SubmitTime", parse_instant(text("SubmitTime")), submit);
    job.submit = submit.value_or(0);
    take("EligibleTime", parse_instant(text("EligibleTime")), job.eligible);
    take("AccrueTime", parse_instant(text("AccrueTime")), job.accrue);
    job.is_running = state() == "RUNNING";
    job.is_held = text("Priority") == "0";
    return job;
  }
  /// The first error, if any.
  const std::optional<Error>& error() const { return error_; }

 private:
  bool has(std::string_view key) const { return fields_.contains(key); }
  std::string_view text(std::string_view key) {
    const auto found = fields_.find(key);
    if (found != fields_.end()) return found->second;
    complain(key, "missing");
    return {};
  }
  void complain(std::string_view key, std::string message) {
    if (!error_)
      error_ = {.file = file_, .line = number_, .field = std::string(key), .message = std::move(message)};
  }
  template <class T>
  void take(std::string_view key, Result<T>&& value, T& to) {
    if (value)
      to = *std::move(value);
    else
      complain(key, value.error().message);
  }
  /// The first number of `3` or `3-8`.
  std::int64_t first_integer(std::string_view key) {
    const std::string_view value = text(key);
    std::int64_t number = 1;
    take(key, parse_integer(value.substr(0, value.find('-')), 0, 2'147'483'647), number);
    return number;
  }

  std::map<std::string, std::string, std::less<>> fields_;
  std::int64_t number_;
  const std::string& file_;
  TresNames& names_;
  std::optional<Error> error_;
};

/// When priorities were calculated, and when the queue was written.
struct QueueInstant {
  std::int64_t calculated = 0;
  std::int64_t dumped = 0;
};

Result<QueueInstant> read_instant(const std::string& file) {
  auto text = read_file(file, InputKind::Instance);
  if (!text) return fail(std::move(text.error()));
  const auto document = JsonDocument::parse(*std::move(text), file);
  if (!document) return fail(document.error());
  const nlohmann::json& root = document->root();
  const auto found = root.is_object() ? root.find("calculated_at") : root.end();
  if (!root.is_object() || found == root.end())
    return fail(document->error_at(root, "", "expected an object with calculated_at"));
  const nlohmann::json* value = &*found;
  if (value->is_array() && !value->empty()) value = &value->back();
  if (!value->is_string())
    return fail(document->error_at(root, "calculated_at", expected_found("a time", value->dump())));
  const auto time = parse_instant(value->get<std::string>());
  if (!time || !*time)
    return fail(document->error_at(root, "calculated_at", expected_found("a time", value->dump())));
  QueueInstant instant{.calculated = **time, .dumped = **time};
  if (const auto dumped = root.find("dumped_at"); dumped != root.end() && dumped->is_number_integer())
    instant.dumped = std::max(instant.calculated, dumped->get<std::int64_t>());
  return instant;
}

/// True if sprio shows a job: it waits, nobody holds it, and it could run (`ACCRUE_ALWAYS`: or will).
bool has_priority(const QueuedJob& job, const PriorityConf& conf, const QueueInstant& instant) {
  if (job.is_running) return conf.calculate_running;
  if (job.is_held) return false;
  return conf.accrue_always || (job.eligible && *job.eligible <= instant.dumped);
}

double age_of(const QueuedJob& job, const PriorityConf& conf, const QueueInstant& instant) {
  const std::optional<std::int64_t> from = conf.accrue_always ? std::optional(job.submit) : job.accrue;
  return from ? static_cast<double>(instant.calculated - *from) : 0;
}

}  // namespace

Result<std::vector<QueuedJob>> parse_queue(std::string_view text, const std::string& file, TresNames& names) {
  std::vector<QueuedJob> jobs;
  LineReader lines(text, file);
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return jobs;
    if (!trim(lines.line()).starts_with("JobId=")) {
      return fail({.file = file,
                   .line = lines.number(),
                   .message = expected_found("a job of `scontrol show job -o`, which begins with JobId=",
                                             lines.line())});
    }
    QueuedJobReader reader(lines.line(), lines.number(), file, names);
    if (reader.error()) return fail(*reader.error());
    const std::string_view state = reader.state();
    if (state != "PENDING" && state != "RUNNING" && !reader.error()) continue;
    QueuedJob job = reader.read();
    if (reader.error()) return fail(*reader.error());
    jobs.push_back(std::move(job));
  }
}

Result<QueuePriorities> read_queue_priorities(const std::string& folder,
                                              std::span<const std::string_view> ignore) {
  QueuePriorities result;
  auto files = SlurmFiles::of_folder(folder);
  if (!files) return fail(std::move(files.error()));
  auto setup = read_setup(*files, result.names, ignore);
  if (!setup) return fail(std::move(setup.error()));
  const auto instant = read_instant((std::filesystem::path(folder) / "instant.json").string());
  if (!instant) return fail(instant.error());
  const std::string queue_file = (std::filesystem::path(folder) / "jobs.txt").string();
  const auto text = read_file(queue_file, InputKind::Instance);
  if (!text) return fail(text.error());
  auto jobs = parse_queue(*text, queue_file, result.names);
  if (!jobs) return fail(std::move(jobs.error()));

  const Configuration& conf = setup->configuration;
  const MultifactorPriority multifactor(conf, result.names, setup->associations, setup->qos);
  const std::vector<double> shares = fair_share_factors(setup->associations, conf.priority);
  for (QueuedJob& job : *jobs) {
    if (!has_priority(job, conf.priority, *instant)) continue;
    const auto unknown = [&](std::string field, std::string_view expected, std::string_view found) {
      return fail({.file = queue_file,
                   .line = job.line,
                   .field = std::move(field),
                   .message = expected_found(expected, found)});
    };
    const auto qos = std::ranges::find(setup->qos, job.qos, &Qos::name);
    if (qos == setup->qos.end()) return unknown("QOS", "a QOS of qos.txt", job.qos);
    job.request.qos_priority = qos->priority;
    job.request.age_s = age_of(job, conf.priority, *instant);
    for (const std::string& name : job.partitions) {
      const auto partition = conf.find_partition(name);
      if (!partition) return unknown("Partition", "a partition of slurm.conf", name);
      const auto position = setup->associations.find_user(job.account, job.user, name);
      if (!position) return unknown("Account", "an account that has the user", job.account + "/" + job.user);
      job.request.partition = *partition;
      job.request.fair_share = shares[*position];
      job.request.assoc_priority = setup->associations[*position].priority;
      PriorityFactors factors = multifactor.factors(job.request);
      const std::int64_t priority = multifactor.priority(factors, job.request.nice);
      result.rows.push_back({.job = job.id,
                             .partition = name,
                             .user = job.user,
                             .account = job.account,
                             .qos = job.qos,
                             .factors = std::move(factors),
                             .nice = job.request.nice,
                             .priority = priority});
    }
  }
  result.calculated_at = instant->calculated;
  result.conf = conf.priority;
  result.ignored = conf.ignored;
  return result;
}

}  // namespace vtrain::slurm
