#include "tools/serve/live_jobs.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/calendar.hpp"
#include "core/text/quantities.hpp"
#include "policies/registry.hpp"
#include "sched/cluster/node_table.hpp"
#include "tools/experiment/disruption_rules.hpp"
#include "tools/experiment/earliest_deadline.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/experiment/prediction_error.hpp"
#include "tools/format/text_format.hpp"
#include "tools/serve/event_log.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kPhaseNames = {"waiting", "running",   "completed",
                                                         "failed",  "cancelled", "refused"};

/// Names of the log's inputs.
constexpr std::string_view kSetupInput = "setup";
constexpr std::string_view kJobInput = "job";
constexpr std::string_view kCancelInput = "cancel";
constexpr std::string_view kProgressInput = "progress";
constexpr std::string_view kEndInput = "end";
constexpr std::string_view kNodeInput = "node";

Error no_such_job(std::int64_t id) {
  return {.kind = ErrorKind::NotFound, .message = fmt::format("there is no job {}", id)};
}

Error is_over_error(const ServedJob& job) {
  return {.kind = ErrorKind::Failed,
          .message = fmt::format("job {} is over: {}", job.job.id,
                                 kPhaseNames[static_cast<std::size_t>(job.phase)])};
}

JobPhase phase_of(JobState state) {
  switch (state) {
    case JobState::Running:
      return JobPhase::Running;
    case JobState::Completed:
      return JobPhase::Completed;
    case JobState::Failed:
      return JobPhase::Failed;
    case JobState::Rejected:
      return JobPhase::Refused;
    case JobState::Cancelled:
      return JobPhase::Cancelled;
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Unfinished:
      break;
  }
  return JobPhase::Waiting;
}

/// Jobs with all names that later jobs may have: the models of the predictor and the cluster's types.
Workload with_all_names(const ClusterSpec& cluster) {
  Workload workload;
  for (const ZooModel& model : model_zoo())
    workload.model(model.name());
  for (const NodeGroup& group : cluster.groups) {
    if (!group.gpu_type.empty()) workload.gpu_type(group.gpu_type);
  }
  return workload;
}

/// The costs of interruptions, for every model.
Result<std::optional<Disruptions>> read_costs(const std::string& rule, PlacementKind placement,
                                              const ClusterSpec& cluster) {
  DisruptionArguments arguments;
  arguments.interruption_cost = rule;
  std::vector<std::string> ignored;
  const auto rules = read_disruption_rules(arguments, placement, ignored);
  if (!rules) return fail(rules.error());
  Workload workload = with_all_names(cluster);
  for (std::uint32_t model = 0; model < workload.models.size(); ++model) {
    Job job;
    job.model = ModelId(model);
    workload.jobs.push_back(job);
  }
  return read_disruptions(arguments, *rules, workload, cluster, 1);
}

Fact job_changed(JobId job, std::optional<SimDuration> duration, std::optional<std::int64_t> iterations) {
  JobChanged changed{.job = job};
  changed.duration = duration;
  changed.iterations = iterations;
  return changed;
}

}  // namespace

std::span<const std::string_view> job_phase_names() {
  return kPhaseNames;
}

Result<UnixTime> read_deadline(const std::string& text, UnixTime now) {
  if (text.empty()) return 0;
  constexpr std::string_view kExpected = "a time from now, such as 36h or 10d, or a date later than now, UTC";
  const auto bad = [&] { return fail({.field = "deadline", .message = expected_found(kExpected, text)}); };
  if (const auto span = parse_time_span(text)) {
    if (span->count() <= 0) return bad();
    // Whole seconds, as answers show them.
    constexpr UnixTime kSecond = 1'000'000'000;
    return (now + span->count() + kSecond - 1) / kSecond * kSecond;
  }
  const auto date = parse_civil_time(text);
  if (!date) return bad();
  const UnixTime time = date->utc(kUtc).time_since_epoch().count();
  if (time <= now) return bad();
  return time;
}

LiveJobs::LiveJobs(LiveJobsOptions options, Store& store) : options_(std::move(options)), store_(store) {}
LiveJobs::~LiveJobs() = default;

Result<std::unique_ptr<LiveJobs>> LiveJobs::open(LiveJobsOptions options, Store& store) {
  std::unique_ptr<LiveJobs> jobs(new LiveJobs(std::move(options), store));
  if (auto repeated = jobs->repeat_log(); !repeated) return fail(std::move(repeated.error()));
  const JobsSetup& wanted = jobs->options_.setup;
  const UnixTime now = jobs->time_now();
  if (!jobs->admission_ || wanted != jobs->setup_) {
    if (auto done = jobs->set_up(wanted, now); !done) return fail(std::move(done.error()));
    const auto kept =
        store.append({.time_ns = now, .kind = std::string(kSetupInput), .body = to_json(wanted).dump()});
    if (!kept) return fail(kept.error());
  }
  if (auto moved = jobs->move_to(now); !moved) return fail(std::move(moved.error()));
  return jobs;
}

Result<void> LiveJobs::repeat_log() {
  return store_.replay(0, [this](std::int64_t sequence, const Input& input) -> Result<void> {
    if (auto applied = apply(input); !applied) {
      Error error = std::move(applied.error());
      error.message = fmt::format("input {} of the state: {}", sequence, error.message);
      return fail(std::move(error));
    }
    return {};
  });
}

Result<void> LiveJobs::apply(const Input& input) {
  auto document = JsonDocument::parse(input.body, "state");
  if (!document) return fail(std::move(document.error()));
  JsonFields fields(*document, document->root());
  const auto number = [&](std::string_view key) {
    return fields.integer(key, 0, std::numeric_limits<std::int64_t>::max());
  };
  if (input.kind == kSetupInput) {
    const auto setup = setup_from(*document, document->root());
    if (!setup) return fail(setup.error());
    return set_up(*setup, input.time_ns);
  }
  if (auto moved = move_to(input.time_ns); !moved) return moved;
  if (input.kind == kJobInput) {
    if (!document->root().contains("job")) return fail({.field = "job", .message = "missing"});
    const auto job = logged_job_from(*document, document->root()["job"]);
    if (!job) return fail(job.error());
    if (auto applied = apply_job(*job); !applied) return applied;
    const ServedJob decided = view(records_.at(job->id));
    const bool was_promised = fields.boolean_or("promised", false);
    if (decided.promised == was_promised) return {};
    ++num_redecided_;
    log_event(Severity::Warning, "a job is decided otherwise than before",
              {{"job", job->id}, {"promised_before", was_promised ? "yes" : "no"}});
    return {};
  }
  if (input.kind == kNodeInput) {
    const std::int64_t node = number("node");
    const std::size_t state = fields.choice_or("state", node_state_names(), 0);
    if (fields.error()) return fail(*fields.error());
    if (node >= std::ssize(node_names_)) return fail({.field = "node", .message = "there is no such node"});
    return apply_node(static_cast<std::uint32_t>(node), static_cast<NodeState>(state));
  }
  const auto record = record_of(number("job"));
  if (!record) return fail(record.error());
  if (input.kind == kCancelInput) return apply_cancel(**record);
  if (input.kind == kProgressInput) {
    const double fraction = fields.number("fraction", 0, 1);
    if (fields.error()) return fail(*fields.error());
    return apply_progress(**record, fraction);
  }
  if (input.kind == kEndInput)
    return apply_end(**record, static_cast<ReportedEnd>(fields.integer("end", 0, 1)));
  return fail({.field = "kind", .message = fmt::format("'{}' is unknown to this version", input.kind)});
}

Result<void> LiveJobs::set_up(const JobsSetup& setup, UnixTime time) {
  const auto placement = parse_placement(setup.placement);
  if (!placement) return fail(placement.error());
  ClusterSpec cluster;
  cluster.groups = setup.cluster;
  std::vector<std::string> warnings;
  auto pricing = ClusterPricing::open(options_.pricing, cluster, warnings);
  if (!pricing) return fail(std::move(pricing.error()));
  if (!pricing->missing_profile().empty())
    return fail({.field = "--profile", .message = pricing->missing_profile()});
  auto costs = read_costs(setup.interruption_cost, *placement, cluster);
  if (!costs) return fail(std::move(costs.error()));
  if (!admission_) origin_ = now_ = time;
  ClusterToday today{.cluster = cluster, .workload = with_all_names(cluster), .has_curves = true};
  if (admission_) {
    if (auto moved = move_to(time); !moved) return moved;
    today = admission_->today();
    const bool is_same_cluster = setup.cluster == setup_.cluster;
    if (!is_same_cluster || setup.policy != setup_.policy) today.state.memory.reset();
    if (!is_same_cluster) {
      // Nodes have other numbers now.
      today.state.out_of_service.clear();
      out_of_service_.clear();
      for (LiveJob& job : today.state.jobs) {
        if (job.outcome.state != JobState::Running) continue;
        job.outcome.state = JobState::Waiting;
        job.gang.clear();
        job.num_gpus = GpuCount(0);
      }
    }
    for (const NodeGroup& group : cluster.groups) {
      if (!group.gpu_type.empty()) today.workload.gpu_type(group.gpu_type);
    }
  }
  today.cluster = cluster;
  for (auto& [id, record] : records_) {
    if (!record.simulated) continue;
    record.known = view(record);
    record.simulated = {};
  }
  cluster_ = std::move(cluster);
  pricing_ = std::make_shared<ClusterPricing>(*std::move(pricing));
  disruptions_ = *std::move(costs);
  setup_ = setup;
  node_names_.clear();
  const NodeTable table(cluster_, today.workload);
  for (std::size_t i = 0; i < table.nodes().size(); ++i)
    node_names_.push_back({.name = fmt::format("node-{}", i + 1),
                           .gpu_type = table.types().names()[table.nodes()[i].type],
                           .gpus = table.nodes()[i].num_gpus});
  return begin_anew(std::move(today));
}

Result<Admission> LiveJobs::begin_from(ClusterToday today, std::unique_ptr<PredictedSpeeds>& speeds) const {
  AdmissionSetup setup;
  setup.cluster = cluster_;
  setup.policy = setup_.policy;
  setup.options.placement = *parse_placement(setup_.placement);
  setup.options.disruptions = disruptions_ ? &*disruptions_ : nullptr;
  speeds = std::make_unique<PredictedSpeeds>(today.workload, pricing_->on(cluster_, today.workload));
  setup.options.gang_speed_model = speeds.get();
  setup.workload = std::move(today.workload);
  setup.state = std::move(today.state);
  return Admission::begin(std::move(setup), PolicyRegistry::built_in());
}

Result<void> LiveJobs::begin_anew(ClusterToday today) {
  std::vector<std::int64_t> ids;
  for (const Job& job : today.workload.jobs)
    ids.push_back(parse_integer(job.name, 1, std::numeric_limits<std::int64_t>::max()).value_or(0));
  std::unique_ptr<PredictedSpeeds> speeds;
  auto admission = begin_from(std::move(today), speeds);
  if (!admission) return fail(std::move(admission.error()));
  if (!admission->gives_promises())
    return fail({.field = "policy", .message = "it promises no deadlines: name deadline or elasticflow"});
  admission_.emplace(*std::move(admission));
  speeds_ = std::move(speeds);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto record = records_.find(ids[i]);
    if (record != records_.end()) record->second.simulated = JobId(static_cast<std::uint32_t>(i));
  }
  return {};
}

Result<void> LiveJobs::move_to(UnixTime time) {
  now_ = std::max(now_, time);
  return admission_->run_until(sim_time(now_));
}

Result<void> LiveJobs::tell(const Fact& fact) {
  if (auto told = admission_->tell(sim_time(now_), fact); !told) return told;
  return admission_->run_until(sim_time(now_));
}

Result<LiveJobs::Record*> LiveJobs::record_of(std::int64_t id) {
  const auto found = records_.find(id);
  if (found == records_.end()) return fail(no_such_job(id));
  return &found->second;
}

Result<void> LiveJobs::apply_job(const LoggedJob& job) {
  Workload alone = workload_of(job, now_, origin_);
  const Job adopted = admission_->adopt(alone, alone.jobs.front());
  speeds_->know(admission_->next_number(), admission_->simulation().workload(), adopted);
  const auto id = admission_->admit(std::to_string(job.id), adopted);
  if (!id) return fail(id.error());
  next_id_ = std::max(next_id_, job.id + 1);
  Record& record = records_[job.id];
  record.known.job = job;
  record.known.submitted = now_;
  record.simulated = *id;
  const JobOutcome outcome = admission_->simulation().outcome(*id);
  const bool is_refused =
      outcome.state == JobState::Rejected || (job.deadline_ns > 0 && !outcome.has_promise());
  if (!is_refused) return {};
  record.said = JobPhase::Refused;
  record.known.reason = refusal(job, outcome);
  record.known.ended = now_;
  if (outcome.state == JobState::Rejected) return {};
  return tell(JobCancelled{*id});
}

std::string LiveJobs::refusal(const LoggedJob& job, const JobOutcome& outcome) const {
  if (outcome.state == JobState::Rejected && !outcome.rejected_by_policy) {
    return fmt::format("the cluster has no room for {} GPUs{}", with_thousands(job.gpus),
                       job.gpu_type.empty() ? "" : " of type " + job.gpu_type);
  }
  SimDuration fastest(job.duration_ns);
  std::int64_t gpus = job.gpus;
  for (const SpeedByGpus::Level& level : job.levels) {
    const SimDuration time = time_for_iterations(static_cast<double>(job.iterations), level.iterations_per_s);
    if (time >= fastest || level.num_gpus > cluster_.total_gpus()) continue;
    fastest = time;
    gpus = level.num_gpus.value;
  }
  if (now_ + fastest.count() > job.deadline_ns) {
    return fmt::format("the deadline is too early: alone on {} it would take {}", count_of(gpus, "GPU"),
                       as_duration(to_seconds(fastest)));
  }
  return "the GPUs that it needs until its deadline are promised to other jobs";
}

Result<void> LiveJobs::apply_cancel(Record& record) {
  const ServedJob job = view(record);
  if (!job.is_live()) return fail(is_over_error(job));
  record.known.progress = job.progress;
  record.said = JobPhase::Cancelled;
  record.known.ended = now_;
  return tell(JobCancelled{record.simulated});
}

Result<void> LiveJobs::apply_end(Record& record, ReportedEnd how) {
  const ServedJob job = view(record);
  if (job.phase == JobPhase::Cancelled || job.phase == JobPhase::Refused) return fail(is_over_error(job));
  record.said = how == ReportedEnd::Completed ? JobPhase::Completed : JobPhase::Failed;
  record.known.ended = now_;
  record.known.progress = how == ReportedEnd::Completed ? 1 : job.progress;
  if (!job.is_live()) return {};  // it was expected to be done by now
  if (job.phase == JobPhase::Running && how == ReportedEnd::Completed)
    return tell(JobEnded{record.simulated});
  return tell(JobCancelled{record.simulated});
}

Result<void> LiveJobs::apply_progress(Record& record, double fraction) {
  const ServedJob job = view(record);
  if (!job.is_live()) return fail(is_over_error(job));
  // What is left takes as much longer than predicted as what is done; of too little nothing follows.
  constexpr double kTellsPace = 0.02;
  constexpr double kMostSlowdown = 20;
  const double predicted = job.progress;
  const bool tells_pace = fraction >= kTellsPace && predicted >= kTellsPace;
  const double factor = tells_pace ? std::clamp(predicted / fraction, 1 / kMostSlowdown, kMostSlowdown)
                                   : 1 - fraction + predicted;
  const Job& simulated = admission_->simulation().workload().jobs[record.simulated.value];
  const auto scaled = [factor](auto value) {
    return std::max(1.0, std::round(static_cast<double>(value) * factor));
  };
  const SimDuration duration(static_cast<std::int64_t>(scaled(simulated.duration.count())));
  const auto iterations = static_cast<std::int64_t>(scaled(simulated.iterations));
  return tell(
      job_changed(record.simulated, duration, simulated.curve ? std::optional(iterations) : std::nullopt));
}

Result<void> LiveJobs::apply_node(std::uint32_t number, NodeState state) {
  const auto known = out_of_service_.find(number);
  const NodeState before = known == out_of_service_.end() ? NodeState::Up : known->second;
  if (before == state) return {};
  const NodeId node(number);
  if (before != NodeState::Up) {
    if (auto told = admission_->tell(sim_time(now_), NodeUp{node}); !told) return told;
    out_of_service_.erase(known);
  }
  if (state != NodeState::Up) {
    if (auto told = admission_->tell(sim_time(now_), NodeDown{node, state == NodeState::Drains}); !told)
      return told;
    out_of_service_[number] = state;
  }
  return admission_->run_until(sim_time(now_));
}

ServedJob LiveJobs::view(const Record& record) const {
  ServedJob job = record.known;
  if (!record.simulated) return job;
  const Simulation& simulation = admission_->simulation();
  const JobOutcome outcome = simulation.outcome(record.simulated);
  job.promised = outcome.has_promise() && record.said != JobPhase::Refused;
  job.phase = record.said.value_or(phase_of(outcome.state));
  if (outcome.state == JobState::Running || outcome.state == JobState::Waiting) {
    const LiveJob live = simulation.live_job(record.simulated);
    job.held_gpus = live.num_gpus.value;
    if (live.has_started) job.started = unix_time(outcome.start);
    job.progress = simulation.part_done(record.simulated, sim_time(now_));
    return job;
  }
  if (outcome.start != SimTime{} || outcome.attained.count() > 0) job.started = unix_time(outcome.start);
  if (!record.said) {
    job.ended = unix_time(outcome.state == JobState::Completed ? outcome.finished : outcome.end);
    job.progress = job.phase == JobPhase::Completed ? 1 : 0;
  }
  return job;
}

Result<ServedJob> LiveJobs::repeated(const std::string& tenant, const std::string& key) {
  // Another request may still wait for it to be durable.
  const auto sequence = store_.append({.tenant = tenant, .key = key});
  if (!sequence) return fail(sequence.error());
  std::optional<Input> first;
  const auto read = store_.replay(*sequence - 1, [&](std::int64_t, const Input& input) -> Result<void> {
    first = input;
    return fail({.message = "enough"});
  });
  if (!first) return fail(read.error());
  auto document = JsonDocument::parse(first->body, "state");
  if (!document) return fail(std::move(document.error()));
  const nlohmann::json& root = document->root();
  if (first->kind != kJobInput)
    return fail({.kind = ErrorKind::Failed, .message = "another request came with this Idempotency-Key"});
  const std::int64_t id = root["job"]["id"].get<std::int64_t>();
  auto job = find(id);
  if (!job) return fail(no_such_job(id));
  return *std::move(job);
}

Result<ServedJob> LiveJobs::submit(const JobRequest& request, const std::string& tenant,
                                   const std::string& key) {
  const auto is_known = [&] { return !key.empty() && store_.find(tenant, key).has_value(); };
  if (is_known()) return repeated(tenant, key);
  std::shared_ptr<ClusterPricing> pricing;
  ClusterSpec cluster;
  UnixTime priced_at = 0;
  bool is_elastic = false;
  {
    const std::shared_lock lock(mutex_);
    pricing = pricing_;
    cluster = cluster_;
    priced_at = time_now();
    is_elastic = admission_->is_elastic();
  }
  const auto deadline = read_deadline(request.deadline, priced_at);
  if (!deadline) return fail(deadline.error());
  const SimTime latest = *deadline == 0 ? Job::kNoDeadline : sim_time(*deadline);
  const auto priced =
      price_training_job(request.spec(), cluster, *pricing, is_elastic, sim_time(priced_at), latest);
  if (!priced) return fail(priced.error());

  std::unique_lock lock(mutex_);
  if (is_known()) {
    lock.unlock();
    return repeated(tenant, key);
  }
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  const LoggedJob job = log_of(*priced, next_id_, request, tenant, origin_);
  if (auto applied = apply_job(job); !applied) return fail(std::move(applied.error()));
  ServedJob decided = view(records_.at(job.id));
  const ordered_json body = {{"job", to_json(job)}, {"promised", decided.promised}};
  std::promise<Result<std::int64_t>> durable;
  store_.append(
      {.time_ns = now_, .kind = std::string(kJobInput), .tenant = tenant, .key = key, .body = body.dump()},
      [&durable](Result<std::int64_t> sequence) { durable.set_value(std::move(sequence)); });
  lock.unlock();
  if (auto sequence = durable.get_future().get(); !sequence) return fail(std::move(sequence.error()));
  return decided;
}

Result<ServedJob> LiveJobs::change(std::int64_t id, std::string kind, ordered_json body,
                                   const std::function<Result<void>(Record&)>& work) {
  std::unique_lock lock(mutex_);
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  const auto record = record_of(id);
  if (!record) return fail(record.error());
  if (auto done = work(**record); !done) return fail(std::move(done.error()));
  ServedJob changed = view(**record);
  std::promise<Result<std::int64_t>> durable;
  body["job"] = id;
  store_.append({.time_ns = now_, .kind = std::move(kind), .tenant = changed.job.tenant, .body = body.dump()},
                [&durable](Result<std::int64_t> sequence) { durable.set_value(std::move(sequence)); });
  lock.unlock();
  if (auto sequence = durable.get_future().get(); !sequence) return fail(std::move(sequence.error()));
  return changed;
}

Result<ServedJob> LiveJobs::cancel(std::int64_t id) {
  return change(id, std::string(kCancelInput), {}, [this](Record& record) { return apply_cancel(record); });
}

Result<ServedJob> LiveJobs::report_progress(std::int64_t id, double fraction) {
  return change(id, std::string(kProgressInput), {{"fraction", fraction}},
                [&](Record& record) { return apply_progress(record, fraction); });
}

Result<ServedJob> LiveJobs::report_end(std::int64_t id, ReportedEnd how) {
  return change(id, std::string(kEndInput), {{"end", static_cast<int>(how)}},
                [&](Record& record) { return apply_end(record, how); });
}

Result<ServedNode> LiveJobs::report_node(const std::string& name, NodeState state) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find(node_names_, name, &ServedNode::name);
  if (found == node_names_.end())
    return fail({.kind = ErrorKind::NotFound, .message = fmt::format("there is no node '{}'", name)});
  if (!info_of(*parse_placement(setup_.placement)).knows_nodes) {
    return fail({.kind = ErrorKind::Failed,
                 .message = fmt::format("the placement '{}' knows no nodes", setup_.placement)});
  }
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  const auto number = static_cast<std::uint32_t>(found - node_names_.begin());
  if (auto applied = apply_node(number, state); !applied) return fail(std::move(applied.error()));
  ServedNode node = *found;
  node.state = state;
  const ordered_json body = {{"node", number},
                             {"state", node_state_names()[static_cast<std::size_t>(state)]}};
  std::promise<Result<std::int64_t>> durable;
  store_.append({.time_ns = now_, .kind = std::string(kNodeInput), .body = body.dump()},
                [&durable](Result<std::int64_t> sequence) { durable.set_value(std::move(sequence)); });
  lock.unlock();
  if (auto sequence = durable.get_future().get(); !sequence) return fail(std::move(sequence.error()));
  return node;
}

std::optional<ServedJob> LiveJobs::find(std::int64_t id) {
  const std::unique_lock lock(mutex_);
  if (!move_to(time_now())) return std::nullopt;
  const auto record = record_of(id);
  if (!record) return std::nullopt;
  return view(**record);
}

Result<std::optional<JobForecast>> LiveJobs::forecast(std::int64_t id) {
  const std::shared_lock lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end() || !found->second.simulated || !view(found->second).is_live())
    return std::nullopt;
  const auto all = admission_->forecast();
  if (!all) return fail(all.error());
  const JobOutcome& outcome = (*all)->outcomes[admission_->number_of(found->second.simulated).value];
  JobForecast forecast;
  const bool starts = outcome.state == JobState::Completed || outcome.attained.count() > 0;
  if (starts) forecast.start = unix_time(outcome.start);
  if (outcome.state == JobState::Completed) forecast.end = unix_time(outcome.finished);
  const UnixTime deadline = found->second.known.job.deadline_ns;
  forecast.in_time = deadline == 0 || (forecast.end && *forecast.end <= deadline);
  return forecast;
}

std::vector<ServedJob> LiveJobs::list(std::int64_t below, std::size_t limit,
                                      const std::function<bool(const ServedJob&)>& wanted) {
  const std::unique_lock lock(mutex_);
  std::vector<ServedJob> jobs;
  if (!move_to(time_now())) return jobs;
  for (auto record = records_.lower_bound(below); record != records_.begin() && jobs.size() < limit;) {
    --record;
    ServedJob job = view(record->second);
    if (wanted(job)) jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<ServedNode> LiveJobs::nodes() const {
  std::vector<ServedNode> nodes = node_names_;
  for (const auto& [number, state] : out_of_service_)
    nodes[number].state = state;
  return nodes;
}

JobCounts LiveJobs::count() const {
  JobCounts counts{.gpus = cluster_.total_gpus().value};
  for (const auto& [number, state] : out_of_service_)
    counts.gpus_out_of_service += node_names_[number].gpus;
  for (const auto& [id, record] : records_) {
    const ServedJob job = view(record);
    counts.gpus_in_use += job.held_gpus;
    counts.running += job.phase == JobPhase::Running ? 1 : 0;
    counts.waiting += job.phase == JobPhase::Waiting ? 1 : 0;
    if (!job.promised) continue;
    const bool is_done = job.phase == JobPhase::Completed;
    const bool is_kept = is_done && job.ended && *job.ended <= job.job.deadline_ns;
    counts.promises.open += job.is_live() ? 1 : 0;
    counts.promises.kept += is_kept ? 1 : 0;
    counts.promises.broken += is_done && !is_kept ? 1 : 0;
  }
  return counts;
}

JobCounts LiveJobs::counts() {
  const std::unique_lock lock(mutex_);
  static_cast<void>(move_to(time_now()));  // a simulation that cannot go on tells its last state
  return count();
}

Result<ServedCluster> LiveJobs::cluster() {
  {
    const std::unique_lock lock(mutex_);
    if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  }
  const std::shared_lock lock(mutex_);
  ServedCluster cluster{.now = now_, .setup = setup_, .nodes = nodes(), .counts = count()};
  const auto all = admission_->forecast();
  if (!all) return fail(all.error());
  for (const auto& [id, record] : records_) {
    const ServedJob job = view(record);
    if (!job.promised || !job.is_live()) continue;
    const JobOutcome& outcome = (*all)->outcomes[admission_->number_of(record.simulated).value];
    if (outcome.state != JobState::Completed || unix_time(outcome.finished) > job.job.deadline_ns)
      cluster.at_risk.push_back(id);
  }
  constexpr std::size_t kMostSteps = 500;
  for (const ClusterSample& sample : (*all)->gpus) {
    if (cluster.gpus_planned.size() == kMostSteps) break;
    const std::int64_t in_use = sample.gpus_in_use.value;
    if (!cluster.gpus_planned.empty() && cluster.gpus_planned.back().second == in_use) continue;
    cluster.gpus_planned.emplace_back(unix_time(sample.time), in_use);
  }
  return cluster;
}

std::optional<UnixTime> LiveJobs::earliest_deadline(std::int64_t id) {
  const std::shared_lock lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end() || !found->second.simulated) return std::nullopt;
  const std::unique_lock searching(search_mutex_, std::try_to_lock);
  if (!searching.owns_lock()) return std::nullopt;
  Job job = admission_->simulation().workload().jobs[found->second.simulated.value];
  job.submit = sim_time(now_);
  constexpr auto kLongestSearch = std::chrono::hours(24 * 365);
  const auto answer = find_earliest_deadline(*admission_, job.name, job, std::chrono::minutes(1),
                                             job.submit + kLongestSearch);
  if (!answer || !*answer) return std::nullopt;
  return unix_time(job.deadline);
}

Result<std::vector<JobTimes>> LiveJobs::likely_times(std::optional<std::int64_t> id) {
  std::vector<JobTimes> times;
  std::unique_lock lock(mutex_);
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  ClusterToday today = admission_->today();
  for (const Job& job : today.workload.jobs)
    times.push_back({.job = view(records_.at(parse_integer(job.name, 1, INT64_MAX).value_or(0)))});
  const Workload names = [&] {
    Workload copy = today.workload.copy_with_texts_of_this();
    for (Job& job : copy.jobs)
      job.name = copy.keep(job.name);
    return copy;
  }();
  const std::shared_ptr<ClusterPricing> pricing = pricing_;
  const ClusterSpec cluster = cluster_;
  std::unique_ptr<PredictedSpeeds> speeds;
  const auto admission = begin_from(std::move(today), speeds);
  lock.unlock();
  if (!admission) return fail(admission.error());
  constexpr std::int64_t kMostSampledJobs = 20'000;
  const std::int64_t samples =
      std::clamp<std::int64_t>(kMostSampledJobs / std::max<std::int64_t>(std::ssize(times), 1), 8, 100);
  const CurvesByType curves = pricing->on(cluster, names);
  const auto rule = PredictionErrorRule::parse("empirical");
  if (!rule) return fail(rule.error());
  const auto outcomes = admission->likely_outcomes(samples, 0, [&](std::int64_t sample) {
    return std::make_unique<DrawnRunTimeErrors>(*rule, names, curves, static_cast<std::uint64_t>(sample) + 1);
  });
  if (!outcomes) return fail(outcomes.error());
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<SimTime> starts;
    std::vector<SimTime> ends;
    for (const std::vector<JobOutcome>& sample : *outcomes) {
      const bool is_done = sample[i].state == JobState::Completed;
      if (is_done || sample[i].attained.count() > 0) starts.push_back(sample[i].start);
      if (is_done) ends.push_back(sample[i].finished);
    }
    const auto quantile = [&](std::vector<SimTime>& values, double part) -> std::optional<UnixTime> {
      std::ranges::sort(values);
      const auto at = quantile_position(values.size(), static_cast<std::size_t>(samples), part);
      return at ? std::optional(unix_time(values[*at])) : std::nullopt;
    };
    constexpr double kHalf = 0.5;
    constexpr double kNineInTen = 0.9;
    times[i].start_p50 = quantile(starts, kHalf);
    times[i].start_p90 = quantile(starts, kNineInTen);
    times[i].end_p50 = quantile(ends, kHalf);
    times[i].end_p90 = quantile(ends, kNineInTen);
  }
  if (id) std::erase_if(times, [&](const JobTimes& each) { return each.job.job.id != *id; });
  return times;
}

std::pair<ClusterToday, UnixTime> LiveJobs::today() {
  const std::unique_lock lock(mutex_);
  static_cast<void>(move_to(time_now()));
  return {admission_->today(), now_};
}

}  // namespace vtrain::serve
