#include "tools/serve/jobs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "policies/registry.hpp"
#include "tools/experiment/admission_request.hpp"
#include "tools/experiment/admission_text.hpp"
#include "tools/format/text_format.hpp"
#include "tools/live/read_state.hpp"
#include "tools/serve/event_log.hpp"
#include "tools/serve/field_schema.hpp"
#include "tools/serve/problem.hpp"
#include "workloads/config/field_json.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kSmallBody = std::size_t{64} << 10;

constexpr MetricFamily kAttempts = {"kueue_admission_attempts_total", MetricKind::Counter,
                                    "Jobs that were decided on, by result."};
constexpr MetricFamily kAttemptTime = {"kueue_admission_attempt_duration_seconds", MetricKind::Histogram,
                                       "Time of a decision with its commit, by result."};
constexpr MetricFamily kPending = {"kueue_pending_workloads", MetricKind::Gauge, "Accepted jobs that wait."};
constexpr MetricFamily kActive = {"kueue_admitted_active_workloads", MetricKind::Gauge, "Jobs that run."};
constexpr MetricFamily kPromises = {"vtrain_promises", MetricKind::Gauge,
                                    "Promised deadlines: open, kept and broken."};
constexpr MetricFamily kGpus = {"vtrain_gpus", MetricKind::Gauge, "GPUs of the cluster by use."};
constexpr MetricFamily kDrift = {
    "vtrain_drift_total", MetricKind::Counter,
    "Differences from the cluster's own scheduler that were taken over, by kind."};
constexpr MetricFamily kRedecided = {"vtrain_state_redecided_total", MetricKind::Counter,
                                     "Jobs whose decision differed when the state was read."};

constexpr std::array<QueryParameter, 3> kListQuery = {{
    {"state", "only jobs in this state"},
    {"limit", "most jobs of a page, 1 to 1000; 100 by default"},
    {"cursor", "value of `next` of the page before"},
}};
constexpr std::array<QueryParameter, 1> kEtaQuery = {{{"job", "id of one job; by default all live jobs"}}};

/// Reads a body with the fields of a table and no others.
template <class Struct>
Result<Struct> read_body(const std::string& body, std::span<const Field<Struct>> table) {
  const auto document = JsonDocument::parse(body, "-");
  if (!document) return fail(document.error());
  JsonFields fields(*document, document->root());
  const std::vector<std::string_view> keys = keys_of(table);
  fields.allow_only(keys);
  Struct read;
  read_fields(fields, table, read);
  for (const Field<Struct>& field : table) {
    if (field.required && !fields.has(field.key)) fields.complain(field.key, "missing");
  }
  if (fields.error()) return fail(*fields.error());
  return read;
}

/// Options of the command line are fields here: `--global-batch` is `global_batch`.
Error in_field(Error error) {
  if (error.field.starts_with("--")) {
    error.field.erase(0, 2);
    std::ranges::replace(error.field, '-', '_');
  }
  return error;
}

/// Checks a text that others will see.
Result<void> check_name(std::string_view field, const std::string& text) {
  constexpr std::size_t kLongest = 256;
  constexpr char kFirstPrintable = ' ';
  const bool is_printable = std::ranges::none_of(
      text, [](char letter) { return (letter >= 0 && letter < kFirstPrintable) || letter == '\x7f'; });
  if (text.size() <= kLongest && is_printable) return {};
  return fail(
      {.field = std::string(field), .message = "expected at most 256 bytes without control characters"});
}

Response json_response(const ordered_json& json, int status = 200) {
  return {.status = status, .body = json_text(json)};
}

bool sees_all(const Caller& caller) {
  return caller.role >= Role::Operate;
}

/// Of the answer to a dry run: that of `vtrain admit --json`.
ordered_json dry_run_schema() {
  ordered_json answer = {{"type", "string"}, {"enum", {"yes", "no"}}, {"description", "of a dry run"}};
  return {{"type", "object"}, {"properties", {{"answer", std::move(answer)}}}};
}

/// Has jobs of other tenants share a name that tells nothing.
void hide_others(Workload& workload, std::string_view tenant) {
  const TenantId own = workload.tenant(tenant);
  for (Job& job : workload.jobs) {
    if (job.tenant != own) job.name = "of another tenant";
  }
}

Error not_found(std::string_view id) {
  return {.kind = ErrorKind::NotFound, .message = fmt::format("there is no job {}", printable(id))};
}

ordered_json text_or_null(const std::optional<UnixTime>& time, std::string (*text_of)(UnixTime)) {
  return time ? ordered_json(text_of(*time)) : ordered_json();
}

ordered_json snapshot_schema() {
  return {
      {"description",
       "what a command of the scheduler prints: squeue --json, scontrol show job, kubectl get -o json; or "
       "{\"dumps\": [\"...\", \"...\"]} with what several print at one instant"}};
}

/// The dumps in a body.
Result<std::vector<DumpText>> dumps_in(const std::string& body) {
  std::vector<DumpText> dumps;
  if (!trim(body).starts_with('{')) {
    dumps.push_back({"snapshot", body});
    return dumps;
  }
  auto document = JsonDocument::parse(body, "snapshot");
  if (!document) return fail(std::move(document.error()));
  const nlohmann::json& root = document->root();
  if (!root.contains("dumps")) {
    dumps.push_back({"snapshot", body});
    return dumps;
  }
  const auto bad = [&] { return fail(document->error_at(root, "dumps", "expected a list of texts")); };
  if (!root["dumps"].is_array() || root["dumps"].empty()) return bad();
  for (const nlohmann::json& dump : root["dumps"]) {
    if (!dump.is_string()) return bad();
    dumps.push_back({fmt::format("dumps[{}]", dumps.size()), dump.get<std::string>()});
  }
  return dumps;
}

}  // namespace

Jobs::Jobs(LiveJobs& jobs, Metrics& metrics)
    : jobs_(jobs),
      metrics_(metrics),
      simulations_(static_cast<std::ptrdiff_t>(std::max(1U, std::thread::hardware_concurrency()))) {
  watch();
}

void Jobs::watch() {
  metrics_.before_text([this] {
    counts_ = jobs_.counts();
    drift_ = jobs_.drift();
  });
  const auto watch_count = [this](const MetricFamily& family, const std::string& labels, auto count) {
    metrics_.watch(family, labels, [this, count] { return static_cast<double>(count(counts_)); });
  };
  watch_count(kPending, "", [](const JobCounts& counts) { return counts.waiting; });
  watch_count(kActive, "", [](const JobCounts& counts) { return counts.running; });
  watch_count(kPromises, label("state", "open"),
              [](const JobCounts& counts) { return counts.promises.open; });
  watch_count(kPromises, label("state", "kept"),
              [](const JobCounts& counts) { return counts.promises.kept; });
  watch_count(kPromises, label("state", "broken"),
              [](const JobCounts& counts) { return counts.promises.broken; });
  watch_count(kGpus, label("use", "held"), [](const JobCounts& counts) { return counts.gpus_in_use; });
  watch_count(kGpus, label("use", "out_of_service"),
              [](const JobCounts& counts) { return counts.gpus_out_of_service; });
  watch_count(kGpus, label("use", "all"), [](const JobCounts& counts) { return counts.gpus; });
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(DriftKind::Seen); ++kind) {
    metrics_.watch(kDrift, label("kind", drift_kind_names()[kind]), [this, kind] {
      const auto& totals = drift_.total;
      const auto found = totals.find(static_cast<DriftKind>(kind));
      return found == totals.end() ? 0.0 : static_cast<double>(found->second);
    });
  }
  metrics_.watch(kRedecided, "", [this] { return static_cast<double>(jobs_.num_redecided()); });
}

std::vector<Route> Jobs::routes() {
  const auto bound = [this](Response (Jobs::*handler)(const Request&)) {
    return [this, handler](const Request& request) { return (this->*handler)(request); };
  };
  return {
      {.method = "POST",
       .path = "/v1/jobs",
       .role = Role::Submit,
       .lane = Lane::Durable,
       .summary = "Admit a training job, or refuse it",
       .request_schema = [] { return object_schema(job_request_fields()); },
       .response_schema = dry_run_schema,
       .created_schema = job_schema,
       .max_body = kSmallBody,
       .handler = bound(&Jobs::submit)},
      {.method = "GET",
       .path = "/v1/jobs",
       .summary = "List jobs, the newest first",
       .response_schema = jobs_schema,
       .query = kListQuery,
       .handler = bound(&Jobs::list)},
      {.method = "GET",
       .path = "/v1/jobs/{id}",
       .summary = "Show a job with its expected course",
       .response_schema = job_schema,
       .handler = bound(&Jobs::get)},
      {.method = "POST",
       .path = "/v1/jobs/{id}/progress",
       .role = Role::Submit,
       .lane = Lane::Durable,
       .summary = "Report how much of a job's work is done",
       .request_schema = [] { return object_schema(progress_fields()); },
       .response_schema = job_schema,
       .max_body = kSmallBody,
       .handler = bound(&Jobs::report_progress)},
      {.method = "POST",
       .path = "/v1/jobs/{id}/completion",
       .role = Role::Submit,
       .lane = Lane::Durable,
       .summary = "Report the end of a job",
       .request_schema = [] { return object_schema(completion_fields()); },
       .response_schema = job_schema,
       .max_body = kSmallBody,
       .handler = bound(&Jobs::report_completion)},
      {.method = "DELETE",
       .path = "/v1/jobs/{id}",
       .role = Role::Submit,
       .lane = Lane::Durable,
       .summary = "Cancel a job",
       .response_schema = job_schema,
       .handler = bound(&Jobs::cancel)},
      {.method = "GET",
       .path = "/v1/cluster",
       .summary = "Show nodes, promises, and the GPUs that jobs are expected to hold",
       .response_schema = cluster_schema,
       .handler = bound(&Jobs::cluster)},
      {.method = "PUT",
       .path = "/v1/nodes/{name}",
       .role = Role::Operate,
       .lane = Lane::Durable,
       .summary = "Take a node out of service, or back",
       .request_schema = [] { return object_schema(node_fields()); },
       .response_schema = node_schema,
       .max_body = kSmallBody,
       .handler = bound(&Jobs::report_node)},
      {.method = "GET",
       .path = "/v1/eta",
       .lane = Lane::Long,
       .summary = "Estimate starts and ends of live jobs, by simulations with errors of run times",
       .response_schema = eta_schema,
       .query = kEtaQuery,
       .handler = bound(&Jobs::eta)},
      {.method = "PUT",
       .path = "/v1/snapshot",
       .role = Role::Operate,
       .lane = Lane::Long,
       .summary = "Take over what the cluster's own scheduler does",
       .request_schema = snapshot_schema,
       .body_type = "*/*",
       .response_schema = drift_schema,
       .max_body = std::size_t{64} << 20,
       .handler = bound(&Jobs::take_snapshot)},
  };
}

Result<ServedJob> Jobs::visible_job(const std::string& id, const Caller& caller) {
  const auto number = parse_integer(id, 1, std::numeric_limits<std::int64_t>::max() - 1);
  if (!number) return fail(not_found(id));
  auto job = jobs_.find(*number);
  // Other tenants' jobs look as if they did not exist.
  if (!job || (!sees_all(caller) && job->job.tenant != caller.tenant)) return fail(not_found(id));
  return *std::move(job);
}

Result<ServedJob> Jobs::named_job(const Request& request) {
  return visible_job(request.parameters.at("id"), request.caller);
}

Response Jobs::submit(const Request& request) {
  const auto body = read_body(request.body, job_request_fields());
  if (!body) return problem(body.error());
  for (const auto& [field, text] : {std::pair("name", body->name), std::pair("tenant", body->tenant)}) {
    if (const auto checked = check_name(field, text); !checked) return problem(checked.error());
  }
  if (body->tokens.empty() == (body->iterations == 0))
    return problem(Error{.field = "tokens", .message = "expected either tokens or iterations"});
  if (!body->tenant.empty() && body->tenant != request.caller.tenant && !sees_all(request.caller))
    return problem(403, "the token is of another tenant");
  const std::string tenant = body->tenant.empty() ? request.caller.tenant : body->tenant;
  if (body->dry_run) return dry_run(*body, tenant, request);
  if (const auto checked = check_name("Idempotency-Key", request.head.idempotency_key); !checked)
    return problem(checked.error());
  const auto begin = std::chrono::steady_clock::now();
  const auto decided = jobs_.submit(*body, tenant, request.head.idempotency_key);
  if (!decided) return problem(in_field(decided.error()));
  const bool is_refused = decided->phase == JobPhase::Refused;
  const std::string result = label("result", is_refused ? "inadmissible" : "success");
  metrics_.count(kAttempts, result);
  metrics_.observe(kAttemptTime, result,
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  ordered_json json = to_json(*decided);
  if (is_refused) {
    if (const auto earliest = jobs_.earliest_deadline(decided->job.id, request.lateness()))
      json["earliest_deadline"] = end_text(*earliest);
  }
  Response response = json_response(json, 201);
  response.headers.emplace_back("Location", fmt::format("/v1/jobs/{}", decided->job.id));
  return response;
}

Jobs::Turn Jobs::turn_to_simulate(const Request& request) {
  constexpr int kMostWaiting = 32;
  if (waiting_simulations_ >= kMostWaiting) return nullptr;
  ++waiting_simulations_;
  const bool has_turn = simulations_.try_acquire_until(request.deadline);
  --waiting_simulations_;
  return Turn(has_turn ? &simulations_ : nullptr);
}

Response Jobs::dry_run(const JobRequest& job, const std::string& tenant, const Request& request) {
  const Turn turn = turn_to_simulate(request);
  if (turn == nullptr) return busy();
  auto [today, now, setting] = jobs_.today();
  if (!sees_all(request.caller)) hide_others(today.workload, request.caller.tenant);
  AdmissionSpec spec;
  static_cast<TrainingJobSpec&>(spec) = job.spec();
  spec.tenant = tenant;
  const auto deadline = read_deadline(job.deadline, now);
  if (!deadline) return problem(deadline.error());
  if (*deadline == 0)
    return problem(Error{.field = "deadline", .message = "missing: a dry run answers whether it can be met"});
  spec.deadline = fmt::format("{:.9f}s", static_cast<double>(*deadline - now) / 1e9);
  spec.policy = setting->setup().policy;
  spec.placement = setting->placement();
  spec.promises_at_once = true;
  spec.interruption_cost = setting->setup().interruption_cost;
  spec.pricing = jobs_.pricing_arguments();
  spec.pricing.prediction_error = "empirical";
  std::vector<std::string> warnings;
  auto prepared = AdmissionRequest::prepare(std::move(spec), std::move(today), PolicyRegistry::built_in(),
                                            warnings, setting->pricing());
  if (!prepared) return problem(in_field(prepared.error()));
  (*prepared)->give_up_when(request.lateness());
  auto answer = (*prepared)->answer();
  if (!answer) return problem(answer.error());
  AdmitReport report{.request = **prepared, .answer = *std::move(answer), .context = {}};
  if (report.answer.is_yes()) {
    auto likely = (*prepared)->likely_ends();
    if (!likely) return problem(likely.error());
    report.likely = *std::move(likely);
  } else {
    auto changes = (*prepared)->changes();
    if (!changes) return problem(changes.error());
    report.changes = *std::move(changes);
  }
  ordered_json json = admit_json(report);
  json["now"] = time_text(now);
  return json_response(json);
}

Response Jobs::list(const Request& request) {
  constexpr std::int64_t kMostJobs = 1000;
  constexpr std::int64_t kUsual = 100;
  const auto values = query_values(request.head.query);
  const auto value = [&](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
  std::int64_t limit = kUsual;
  if (const std::string text = value("limit"); !text.empty()) {
    const auto read = parse_integer(text, 1, kMostJobs);
    if (!read) return problem(Error{.field = "limit", .message = read.error().message});
    limit = *read;
  }
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  if (const std::string text = value("cursor"); !text.empty()) {
    const auto read = parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
    if (!read) return problem(Error{.field = "cursor", .message = "expected the value of `next`"});
    below = *read;
  }
  std::optional<JobPhase> wanted;
  if (const std::string text = value("state"); !text.empty()) {
    const auto read = parse_name<std::size_t>("state", job_phase_names(), text);
    if (!read) return problem(read.error());
    wanted = static_cast<JobPhase>(*read);
  }
  JobFilter filter{.below = below, .limit = static_cast<std::size_t>(limit) + 1, .phase = wanted};
  if (!sees_all(request.caller)) filter.tenant = request.caller.tenant;
  auto jobs = jobs_.list(filter);
  if (!jobs) return problem(jobs.error());
  const bool has_more = std::ssize(*jobs) > limit;
  if (has_more) jobs->pop_back();
  ordered_json page = {{"jobs", ordered_json::array()}, {"next", nullptr}};
  for (const ServedJob& job : *jobs)
    page["jobs"].push_back(to_json(job));
  if (has_more) page["next"] = std::to_string(jobs->back().job.id);
  return json_response(page);
}

Response Jobs::get(const Request& request) {
  const auto job = named_job(request);
  if (!job) return problem(job.error());
  ordered_json json = to_json(*job);
  const auto forecast = jobs_.forecast(job->job.id);
  if (!forecast) return problem(forecast.error());
  if (*forecast) {
    json["forecast"] = {{"start", text_or_null((*forecast)->start, time_text)},
                        {"end", text_or_null((*forecast)->end, end_text)},
                        {"in_time", (*forecast)->in_time}};
  }
  return json_response(json);
}

Response Jobs::report_progress(const Request& request) {
  const auto body = read_body(request.body, progress_fields());
  if (!body) return problem(body.error());
  const auto job = named_job(request);
  if (!job) return problem(job.error());
  const auto changed = jobs_.report_progress(job->job.id, body->fraction);
  return changed ? json_response(to_json(*changed)) : problem(changed.error());
}

Response Jobs::report_completion(const Request& request) {
  const auto body = read_body(request.body, completion_fields());
  if (!body) return problem(body.error());
  const auto job = named_job(request);
  if (!job) return problem(job.error());
  const auto changed = jobs_.report_end(job->job.id, body->state);
  return changed ? json_response(to_json(*changed)) : problem(changed.error());
}

Response Jobs::cancel(const Request& request) {
  const auto job = named_job(request);
  if (!job) return problem(job.error());
  const auto changed = jobs_.cancel(job->job.id);
  return changed ? json_response(to_json(*changed)) : problem(changed.error());
}

Response Jobs::cluster(const Request& request) {
  const auto cluster = jobs_.cluster();
  if (!cluster) return problem(cluster.error());
  ordered_json nodes = ordered_json::array();
  for (const ServedNode& node : cluster->nodes)
    nodes.push_back(to_json(node));
  ordered_json at_risk = ordered_json::array();
  for (const std::int64_t id : cluster->at_risk) {
    const auto job = jobs_.find(id);
    if (sees_all(request.caller) || (job && job->job.tenant == request.caller.tenant))
      at_risk.push_back(std::to_string(id));
  }
  ordered_json planned = ordered_json::array();
  for (const auto& [time, gpus] : cluster->gpus_planned)
    planned.push_back({{"time", time_text(time)}, {"planned_gpus", gpus}});
  const JobCounts& counts = cluster->counts;
  return json_response({{"now", time_text(cluster->now)},
                        {"policy", cluster->setup.policy},
                        {"placement", cluster->setup.placement},
                        {"gpus", counts.gpus},
                        {"gpus_in_use", counts.gpus_in_use},
                        {"gpus_out_of_service", counts.gpus_out_of_service},
                        {"nodes", std::move(nodes)},
                        {"jobs", {{"running", counts.running}, {"waiting", counts.waiting}}},
                        {"promises",
                         {{"open", counts.promises.open},
                          {"kept", counts.promises.kept},
                          {"broken", counts.promises.broken},
                          {"at_risk", std::move(at_risk)}}},
                        {"gpus_over_time", std::move(planned)},
                        {"drift", to_json(cluster->drift)}});
}

Response Jobs::report_node(const Request& request) {
  const auto body = read_body(request.body, node_fields());
  if (!body) return problem(body.error());
  const auto node = jobs_.report_node(request.parameters.at("name"), body->state);
  return node ? json_response(to_json(*node)) : problem(node.error());
}

Response Jobs::eta(const Request& request) {
  const auto values = query_values(request.head.query);
  std::optional<std::int64_t> id;
  if (const auto named = values.find("job"); named != values.end()) {
    const auto job = visible_job(named->second, request.caller);
    if (!job) return problem(job.error());
    id = job->job.id;
  }
  const Turn turn = turn_to_simulate(request);
  if (turn == nullptr) return busy();
  const auto times = jobs_.likely_times(id, request.lateness());
  if (!times) return problem(times.error());
  ordered_json jobs = ordered_json::array();
  for (const JobTimes& each : *times) {
    if (!sees_all(request.caller) && each.job.job.tenant != request.caller.tenant) continue;
    jobs.push_back(
        {{"id", std::to_string(each.job.job.id)},
         {"name", each.job.job.name},
         {"state", name_of(each.job.phase)},
         {"start",
          {{"p50", text_or_null(each.start_p50, time_text)},
           {"p90", text_or_null(each.start_p90, time_text)}}},
         {"end",
          {{"p50", text_or_null(each.end_p50, end_text)}, {"p90", text_or_null(each.end_p90, end_text)}}}});
  }
  return json_response({{"jobs", std::move(jobs)}});
}

Response Jobs::take_snapshot(const Request& request) {
  auto dumps = dumps_in(request.body);
  if (!dumps) return problem(dumps.error());
  const auto state = read_live_texts(*std::move(dumps));
  if (!state) return problem(state.error());
  const auto drift = jobs_.reconcile(*state);
  return drift ? json_response(to_json(*drift)) : problem(drift.error());
}

}  // namespace vtrain::serve
