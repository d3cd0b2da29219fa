#include "tools/serve/job_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/json_reader.hpp"
#include "workloads/config/field_json.hpp"
#include "workloads/search/plan_search.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostIterations = 1'000'000'000'000'000;
constexpr std::int64_t kMostNs = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t kMostSeconds = kMostNs / 1'000'000'000;

constexpr std::array<std::string_view, 2> kEndNames = {"completed", "failed"};
constexpr std::array<std::string_view, 3> kNodeStateNames = {"up", "down", "drains"};

std::span<const std::string_view> end_names() {
  return kEndNames;
}

constexpr auto kJobRequestFields = std::to_array<Field<JobRequest>>({
    {.key = "model", .member = &JobRequest::model, .meaning = "a name of `vtrain models`", .required = true},
    {.key = "tokens", .member = &JobRequest::tokens, .meaning = "tokens to train on, such as 300B"},
    {.key = "iterations",
     .member = &JobRequest::iterations,
     .meaning = "iterations to train, instead of tokens",
     .low = 1,
     .high = kMostIterations},
    {.key = "deadline",
     .member = &JobRequest::deadline,
     .meaning = "time from now, such as 10d, or a date such as 2026-12-05T12:00:00Z; absent: no promise"},
    {.key = "name", .member = &JobRequest::name, .meaning = "name for people; by default the model's"},
    {.key = "tenant", .member = &JobRequest::tenant, .meaning = "tenant; by default that of the token"},
    {.key = "global_batch",
     .member = &JobRequest::global_batch,
     .meaning = "sequences an iteration; by default as published, or about 4 Mi tokens",
     .low = 1,
     .high = kMaxGlobalBatch},
    {.key = "gpus",
     .member = &JobRequest::gpus,
     .meaning = "GPUs that it requests; by default the fewest with which it would be in time alone",
     .low = 1,
     .high = kMaxClusterGpus},
    {.key = "rigid",
     .member = &JobRequest::rigid,
     .meaning = "true if it can train only on the GPUs that it requests"},
    {.key = "gpu_type",
     .member = &JobRequest::gpu_type,
     .meaning = "type of GPUs that it must have; by default any"},
    {.key = "dry_run",
     .member = &JobRequest::dry_run,
     .meaning = "true: answer as `vtrain admit --json`, and accept nothing"},
});
static_assert(kJobRequestFields.size() == num_members<JobRequest>());

constexpr auto kProgressFields = std::to_array<Field<ProgressReport>>({
    {.key = "fraction",
     .member = &ProgressReport::fraction,
     .meaning = "part of the work that is done",
     .low = 0,
     .high = 1,
     .required = true},
});

constexpr auto kCompletionFields = std::to_array<Field<CompletionReport>>({
    {.key = "state",
     .member = named_member<&CompletionReport::state, end_names>(),
     .meaning = "how the job ended",
     .required = true},
});

constexpr auto kNodeFields = std::to_array<Field<NodeReport>>({
    {.key = "state",
     .member = named_member<&NodeReport::state, node_state_names>(),
     .meaning = "down stops the jobs on the node; a node that drains lets them run to their ends",
     .required = true},
});

constexpr auto kLoggedJobFields = std::to_array<Field<LoggedJob>>({
    {.key = "id", .member = &LoggedJob::id, .low = 0, .high = kMostNs},
    {.key = "name", .member = &LoggedJob::name},
    {.key = "tenant", .member = &LoggedJob::tenant},
    {.key = "model", .member = &LoggedJob::model},
    {.key = "gpu_type", .member = &LoggedJob::gpu_type},
    {.key = "gpus", .member = &LoggedJob::gpus, .low = 1, .high = kMaxClusterGpus},
    {.key = "global_batch", .member = &LoggedJob::global_batch, .low = 0, .high = kMaxGlobalBatch},
    {.key = "iterations", .member = &LoggedJob::iterations, .low = 0, .high = kMostIterations},
    {.key = "tokens", .member = &LoggedJob::tokens, .low = 0, .high = kMostNs},
    {.key = "duration_ns", .member = &LoggedJob::duration_ns, .low = 0, .high = kMostNs},
    {.key = "deadline_ns", .member = &LoggedJob::deadline_ns, .low = 0, .high = kMostNs},
    {.key = "time_limit_s", .member = &LoggedJob::time_limit_s, .low = 0, .high = kMostSeconds},
});
static_assert(kLoggedJobFields.size() + 1 == num_members<LoggedJob>());

}  // namespace

TrainingJobSpec JobRequest::spec() const {
  return {.model = model,
          .global_batch = global_batch,
          .tokens = tokens,
          .iterations = iterations,
          .tenant = tenant,
          .gpu_type = gpu_type,
          .gpus = gpus,
          .rigid = rigid};
}

std::span<const Field<JobRequest>> job_request_fields() {
  return kJobRequestFields;
}

std::span<const Field<ProgressReport>> progress_fields() {
  return kProgressFields;
}

std::span<const Field<CompletionReport>> completion_fields() {
  return kCompletionFields;
}

std::span<const std::string_view> node_state_names() {
  return kNodeStateNames;
}

std::span<const Field<NodeReport>> node_fields() {
  return kNodeFields;
}

std::span<const Field<LoggedJob>> logged_job_fields() {
  return kLoggedJobFields;
}

ordered_json to_json(const LoggedJob& job) {
  ordered_json json = fields_to_json(logged_job_fields(), job);
  if (!job.is_elastic()) return json;
  ordered_json& levels = json["levels"] = ordered_json::array();
  for (const SpeedByGpus::Level& level : job.levels)
    levels.push_back({level.num_gpus.value, level.iterations_per_s});
  return json;
}

Result<LoggedJob> logged_job_from(const JsonDocument& document, const nlohmann::json& object) {
  JsonFields fields(document, object);
  LoggedJob job;
  read_fields(fields, logged_job_fields(), job);
  if (fields.error()) return fail(*fields.error());
  const auto found = object.find("levels");
  if (found == object.end()) return job;
  const auto bad = [&] { return fail(document.error_at(object, "levels", "expected [GPUs, speed] pairs")); };
  if (!found->is_array()) return bad();
  for (const nlohmann::json& level : *found) {
    if (!level.is_array() || level.size() != 2 || !level[0].is_number_integer() || !level[1].is_number())
      return bad();
    const auto gpus = level[0].get<std::int64_t>();
    const GpuCount last = job.levels.empty() ? GpuCount(0) : job.levels.back().num_gpus;
    const double speed = level[1].get<double>();
    if (gpus <= last.value || gpus > kMaxClusterGpus || !(speed > 0) || std::isinf(speed)) return bad();
    job.levels.push_back({GpuCount(static_cast<std::int32_t>(gpus)), speed});
  }
  return job;
}

LoggedJob log_of(const PricedJob& priced, std::int64_t id, const JobRequest& request, std::string tenant,
                 std::int64_t origin_ns) {
  const Job& job = priced.job();
  LoggedJob logged{.id = id,
                   .name = request.name.empty() ? request.model : request.name,
                   .tenant = std::move(tenant),
                   .model = request.model,
                   .gpu_type = request.gpu_type,
                   .gpus = job.num_gpus.value,
                   .global_batch = job.global_batch,
                   .iterations = job.iterations,
                   .tokens = priced.tokens,
                   .duration_ns = job.duration.count()};
  if (job.has_deadline()) logged.deadline_ns = origin_ns + job.deadline.time_since_epoch().count();
  constexpr double kMinute = 60;
  const double longest_s = to_seconds(job.duration) * std::max(priced.slowest, 1.0);
  logged.time_limit_s = static_cast<std::int64_t>(std::ceil(longest_s / kMinute) * kMinute);
  if (job.curve) {
    const auto levels = priced.workload.curves[job.curve.value].levels();
    logged.levels.assign(levels.begin(), levels.end());
  }
  return logged;
}

Workload workload_of(const LoggedJob& logged, std::int64_t submit_ns, std::int64_t origin_ns) {
  Workload workload;
  Job job;
  job.name = workload.keep(std::to_string(logged.id));
  job.submit = SimTime(SimDuration(submit_ns - origin_ns));
  if (logged.deadline_ns > 0) job.deadline = SimTime(SimDuration(logged.deadline_ns - origin_ns));
  if (!logged.tenant.empty()) job.tenant = workload.tenant(logged.tenant);
  if (!logged.model.empty()) job.model = workload.model(logged.model);
  if (!logged.gpu_type.empty()) job.gpu_type = workload.gpu_type(logged.gpu_type);
  job.num_gpus = GpuCount(static_cast<std::int32_t>(logged.gpus));
  job.global_batch = static_cast<std::int32_t>(logged.global_batch);
  job.iterations = logged.iterations;
  job.duration = SimDuration(logged.duration_ns);
  if (logged.is_elastic()) {
    workload.curves.emplace_back(logged.levels, SpeedByGpus::Source::Predictor);
    job.curve = CurveId(0);
  }
  workload.jobs.push_back(job);
  return workload;
}

ordered_json to_json(const JobsSetup& setup) {
  ordered_json groups = ordered_json::array();
  for (const NodeGroup& group : setup.cluster)
    groups.push_back({{"num_nodes", group.num_nodes},
                      {"gpus_per_node", group.gpus_per_node.value},
                      {"gpu_type", group.gpu_type},
                      {"gpus_per_island", group.gpus_per_island.value},
                      {"nodes_per_rack", group.nodes_per_rack}});
  return {{"cluster", std::move(groups)},
          {"policy", setup.policy},
          {"placement", setup.placement},
          {"interruption_cost", setup.interruption_cost}};
}

Result<JobsSetup> setup_from(const JsonDocument& document, const nlohmann::json& object) {
  JsonFields fields(document, object);
  JobsSetup setup;
  setup.policy = fields.string("policy");
  setup.placement = fields.string("placement");
  setup.interruption_cost = fields.string("interruption_cost");
  if (!object.contains("cluster") || !object["cluster"].is_array()) {
    fields.complain("cluster", "expected a list of groups of nodes");
    return fail(*fields.error());
  }
  for (const nlohmann::json& each : object["cluster"]) {
    JsonFields group(document, each);
    const auto number = [&](std::string_view key, std::int64_t low) {
      return static_cast<std::int32_t>(group.integer(key, low, kMaxClusterGpus));
    };
    setup.cluster.push_back({.num_nodes = number("num_nodes", 1),
                             .gpus_per_node = GpuCount(number("gpus_per_node", 1)),
                             .gpu_type = group.string_or("gpu_type", ""),
                             .gpus_per_island = GpuCount(number("gpus_per_island", 0)),
                             .nodes_per_rack = number("nodes_per_rack", 0)});
    if (group.error()) return fail(*group.error());
  }
  if (fields.error()) return fail(*fields.error());
  return setup;
}

}  // namespace vtrain::serve
