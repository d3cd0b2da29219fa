#include "tools/serve/service.hpp"

#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/names.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/calendar.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/spec.hpp"
#include "tools/format/text_format.hpp"
#include "tools/serve/event_log.hpp"
#include "tools/serve/openapi.hpp"
#include "tools/serve/page/page.hpp"
#include "tools/serve/problem.hpp"
#include "tools/serve/process_figures.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

constexpr MetricFamily kRequests = {"vtrain_http_requests_total", MetricKind::Counter,
                                    "Requests that were answered."};
constexpr MetricFamily kDuration = {"vtrain_http_request_duration_seconds", MetricKind::Histogram,
                                    "Time from the end of a request's header to its response."};
constexpr MetricFamily kConnections = {"vtrain_http_connections", MetricKind::Gauge, "Open connections."};
constexpr MetricFamily kCached = {"vtrain_cached_answers_total", MetricKind::Counter,
                                  "Predictions and plan searches by whether their answer was kept."};
constexpr MetricFamily kInputs = {"vtrain_state_inputs_total", MetricKind::Counter,
                                  "Inputs that this process appended to the state."};
constexpr MetricFamily kCommits = {"vtrain_state_commits_total", MetricKind::Counter,
                                   "Commits of the state, which concurrent inputs share."};
constexpr MetricFamily kBuild = {"vtrain_build_info", MetricKind::Gauge, "Version of the program."};
constexpr MetricFamily kStarted = {"process_start_time_seconds", MetricKind::Gauge,
                                   "Start of the process, seconds since 1970."};
constexpr MetricFamily kMemory = {"process_resident_memory_bytes", MetricKind::Gauge,
                                  "Resident memory of the process."};
constexpr MetricFamily kDescriptors = {"process_open_fds", MetricKind::Gauge, "Open file descriptors."};

ordered_json status_schema() {
  return {{"type", "object"}, {"properties", {{"status", {{"type", "string"}}}}}};
}

ordered_json openapi_schema() {
  return {{"type", "object"}};
}

ordered_json clock_schema() {
  return {{"type", "object"},
          {"required", {"now"}},
          {"additionalProperties", false},
          {"properties",
           {{"now", {{"type", "string"}, {"description", "a date, also with a part of a second"}}}}}};
}

Response status_response(int status, std::string_view text) {
  return {.status = status, .body = json_text({{"status", text}})};
}

}  // namespace

std::vector<Route> Service::routes() {
  constexpr std::size_t kSmallBody = std::size_t{256} << 10;
  std::vector<Route> routes = {
      {.method = "POST",
       .path = "/v1/predict",
       .role = Role::Read,
       .lane = Lane::Short,
       .summary = "Predict the time of one training iteration",
       .request_schema = predict_request_schema,
       .response_schema = predict_response_schema,
       .max_body = kSmallBody,
       .handler = [this](const Request& request) { return predictions_.predict(request); }},
      {.method = "POST",
       .path = "/v1/plans",
       .role = Role::Read,
       .lane = Lane::Long,
       .summary = "Search the best parallel plans of a model on given GPUs",
       .request_schema = plan_spec_schema,
       .response_schema = plans_response_schema,
       .max_body = kSmallBody,
       .handler = [this](const Request& request) { return predictions_.search_plans(request); }},
      {.method = "GET",
       .path = "/healthz",
       .role = Role::None,
       .summary = "Say that the process answers",
       .response_schema = status_schema,
       .handler = [](const Request&) { return status_response(200, "ok"); }},
      {.method = "GET",
       .path = "/readyz",
       .role = Role::None,
       .summary = "Say whether requests should be sent here",
       .response_schema = status_schema,
       .handler = [this](const Request&) { return ready(); }},
      {.method = "GET",
       .path = "/metrics",
       .role = Role::Read,
       .summary = "Figures of the service for Prometheus",
       .media_type = "text/plain; version=0.0.4; charset=utf-8",
       .handler =
           [this](const Request&) {
             return Response{.body = metrics_.text(),
                             .content_type = "text/plain; version=0.0.4; charset=utf-8"};
           }},
      {.method = "GET",
       .path = "/openapi.json",
       .role = Role::None,
       .summary = "This description",
       .response_schema = openapi_schema,
       .handler = [this](const Request&) { return Response{.body = openapi_}; }},
  };
  if (jobs_ == nullptr) return routes;
  for (Route& route : jobs_->routes())
    routes.push_back(std::move(route));
  for (Route& route : page_routes())
    routes.push_back(std::move(route));
  if (clock_.is_simulated()) {
    routes.push_back({.method = "POST",
                      .path = "/v1/clock",
                      .role = Role::Operate,
                      .summary = "Move the simulated clock",
                      .request_schema = clock_schema,
                      .response_schema = clock_schema,
                      .max_body = kSmallBody,
                      .handler = [this](const Request& request) { return move_clock(request); }});
  }
  return routes;
}

Service::Service(ServiceOptions options, std::optional<Tokens> tokens, Calibration calibration)
    : options_(std::move(options)),
      gate_(std::move(tokens), options_.requests_per_second),
      predictions_(std::move(calibration)),
      clock_(options_.simulated_clock) {}

Result<void> Service::open_jobs() {
  if (options_.cluster.empty() != options_.state.empty()) {
    return fail({.field = "--cluster, --state",
                 .message = "both or none: the cluster of the jobs, and the file that keeps them"});
  }
  if (options_.cluster.empty()) return {};
  auto setting = read_setting();  // before a state is made
  if (!setting) return fail(std::move(setting.error()));
  auto store = Store::open(options_.state);
  if (!store) return fail(std::move(store.error()));
  store_ = *std::move(store);
  auto jobs = LiveJobs::open(
      {.setting = *std::move(setting), .pricing = options_.pricing, .clock = [this] { return clock_.now(); }},
      *store_);
  if (!jobs) return fail(std::move(jobs.error()));
  live_jobs_ = *std::move(jobs);
  jobs_ = std::make_unique<Jobs>(*live_jobs_, metrics_);
  return {};
}

Result<std::shared_ptr<const JobSetting>> Service::read_setting() const {
  const auto cluster = ClusterSpec::parse(options_.cluster);
  if (!cluster) return fail(in_option("--cluster", cluster.error()));
  JobsSetup setup = options_.jobs;
  setup.cluster = cluster->groups;
  return JobSetting::read(std::move(setup), options_.pricing);
}

void Service::begin_work() {
  if (live_jobs_ == nullptr) return;
  keeper_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stops;
    while (!stop.stop_requested()) {
      std::unique_lock lock(mutex);
      stops.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      keep_snapshot(false);
    }
  });
  if (options_.follow.empty()) return;
  follower_ =
      std::make_unique<Follower>(options_.follow, options_.every, [this](std::vector<DumpText> texts) {
        const auto state = read_live_texts(std::move(texts));
        const auto drift = state ? live_jobs_->reconcile(*state) : fail(state.error());
        if (!drift) log_event(Severity::Warning, "cannot follow", {{"what", drift.error().describe()}});
      });
}

void Service::end_work() {
  follower_.reset();
  if (!keeper_.joinable()) return;
  keeper_.request_stop();
  keeper_.join();
  keep_snapshot(true);
}

void Service::keep_snapshot(bool always) {
  const auto kept = always ? live_jobs_->keep_snapshot() : live_jobs_->keep_snapshot_if_due();
  if (!kept) log_event(Severity::Error, "cannot keep a snapshot", {{"what", kept.error().describe()}});
}

void Service::make_router() {
  router_ = std::make_unique<Router>(routes(), gate_);
  openapi_ = json_text(openapi_document(router_->routes(), VTRAIN_VERSION));
  watch_own_figures();
}

Response Service::move_clock(const Request& request) {
  const auto document = JsonDocument::parse(request.body, "-");
  if (!document) return problem(document.error());
  JsonFields fields(*document, document->root());
  fields.allow_only(std::array<std::string_view, 1>{"now"});
  const std::string text = fields.string("now");
  if (fields.error()) return problem(*fields.error());
  const auto time = parse_civil_time(text);
  if (!time || !clock_.move_to(time->utc(kUtc).time_since_epoch().count()))
    return problem(
        Error{.field = "now", .message = expected_found("a date that the clock has not passed", text)});
  return {.body = json_text({{"now", text}})};
}

Result<std::unique_ptr<Service>> Service::open(const ServiceOptions& options) {
  std::optional<Tokens> tokens;
  if (!options.tokens.empty()) {
    auto read = Tokens::read(options.tokens);
    if (!read) return fail(std::move(read.error()));
    tokens = *std::move(read);
  }
  auto calibration = read_calibration(options.pricing.calibration);
  if (!calibration) return fail(std::move(calibration.error()));
  std::unique_ptr<Service> service(new Service(options, std::move(tokens), *std::move(calibration)));
  if (auto opened = service->open_jobs(); !opened) return fail(std::move(opened.error()));
  service->make_router();
  return service;
}

void Service::watch_own_figures() {
  metrics_.count(kBuild, label("version", VTRAIN_VERSION));
  metrics_.watch(kStarted, "", [started = seconds_since_1970()] { return started; });
  metrics_.watch(kMemory, "", resident_bytes);
  metrics_.watch(kDescriptors, "", open_descriptors);
  metrics_.watch(kCached, label("kept", "yes"),
                 [this] { return static_cast<double>(predictions_.figures().found); });
  metrics_.watch(kCached, label("kept", "no"),
                 [this] { return static_cast<double>(predictions_.figures().missing); });
  if (store_ == nullptr) return;
  metrics_.watch(kInputs, "", [this] { return static_cast<double>(store_->figures().inputs); });
  metrics_.watch(kCommits, "", [this] { return static_cast<double>(store_->figures().commits); });
}

void Service::watch(const Server& server) {
  metrics_.watch(kConnections, "", [&server] { return static_cast<double>(server.num_connections()); });
}

void Service::observe(const Exchange& exchange) {
  const std::string route = label("route", exchange.route);
  // What clients make up would make endless series.
  const std::string_view method = exchange.route.empty() ? std::string_view() : exchange.method;
  metrics_.count(kRequests, fmt::format("{},{},{}", route, label("method", method),
                                        label("code", std::to_string(exchange.status))));
  metrics_.observe(kDuration, route, exchange.seconds);
  if (!logs_requests()) return;
  log_event(Severity::Info, "request",
            {{"id", exchange.id},
             {"method", exchange.method},
             {"path", exchange.path},
             {"status", std::int64_t{exchange.status}},
             {"bytes", static_cast<std::int64_t>(exchange.bytes)},
             {"seconds", exchange.seconds},
             {"tenant", exchange.tenant},
             {"peer", exchange.peer}});
}

Result<void> Service::reload() {
  if (!options_.tokens.empty()) {
    auto tokens = Tokens::read(options_.tokens);
    if (!tokens) return fail(std::move(tokens.error()));
    gate_.replace(*std::move(tokens));
  }
  if (live_jobs_ == nullptr) return {};
  auto setting = read_setting();
  if (!setting) return fail(std::move(setting.error()));
  return live_jobs_->change_setting(*std::move(setting));
}

Response Service::ready() const {
  if (!is_ready_) return status_response(503, "stopping");
  if (store_ != nullptr && !store_->is_healthy()) return status_response(503, "the state cannot be written");
  return status_response(200, "ready");
}

}  // namespace vtrain::serve
