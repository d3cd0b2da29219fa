#include "tools/serve/live_jobs.hpp"

#include <cmath>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/calendar.hpp"
#include "core/text/quantities.hpp"
#include "tools/format/text_format.hpp"
#include "tools/serve/event_log.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

Error no_such_job(std::int64_t id) {
  return {.kind = ErrorKind::NotFound, .message = fmt::format("there is no job {}", id)};
}

Error is_over_error(const ServedJob& job) {
  return {.kind = ErrorKind::Failed,
          .message = fmt::format("job {} is over: {}", job.job.id, name_of(job.phase))};
}

}  // namespace

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

Result<void> LiveJobs::apply(const Input& input) {
  auto document = JsonDocument::parse(input.body, "state");
  if (!document) return fail(std::move(document.error()));
  JsonFields fields(*document, document->root());
  const auto number = [&](std::string_view key) {
    return fields.integer(key, 0, std::numeric_limits<std::int64_t>::max());
  };
  if (input.kind == kSetupInput) {
    auto setup = setup_from(*document, document->root());
    if (!setup) return fail(std::move(setup.error()));
    auto setting = JobSetting::read(*std::move(setup), options_.pricing);
    if (!setting) return fail(std::move(setting.error()));
    return apply_setup(*std::move(setting), input.time_ns);
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
    if (node >= std::ssize(setting_->nodes()))
      return fail({.field = "node", .message = "there is no such node"});
    return apply_node(static_cast<std::uint32_t>(node), static_cast<NodeState>(state));
  }
  if (input.kind == kDriftInput) {
    const auto drift = drift_from(*document, document->root());
    if (!drift) return fail(drift.error());
    return apply_drift(*drift);
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

Result<void> LiveJobs::move_to(UnixTime time) {
  now_ = std::max(now_, time);
  return simulation_.admission->run_until(sim_time(now_));
}

Result<void> LiveJobs::tell(const Fact& fact) {
  if (auto told = simulation_.admission->tell(sim_time(now_), fact); !told) return told;
  return simulation_.admission->run_until(sim_time(now_));
}

Result<LiveJobs::Record*> LiveJobs::record_of(std::int64_t id) {
  const auto found = records_.find(id);
  if (found == records_.end() || found->second.is_leaving) return fail(no_such_job(id));
  return &found->second;
}

Result<void> LiveJobs::apply_job(const LoggedJob& job) {
  Workload alone = workload_of(job, now_, origin_);
  const Job adopted = simulation_.admission->adopt(alone, alone.jobs.front());
  simulation_.speeds->know(simulation_.admission->next_number(),
                           simulation_.admission->simulation().workload(), adopted);
  const auto id = simulation_.admission->admit(std::to_string(job.id), adopted);
  if (!id) return fail(id.error());
  next_id_ = std::max(next_id_, job.id + 1);
  Record& record = records_[job.id];
  record.known.job = job;
  record.known.submitted = now_;
  record.simulated = *id;
  const JobOutcome outcome = simulation_.admission->simulation().outcome(*id);
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
    if (time >= fastest || level.num_gpus > setting_->cluster().total_gpus()) continue;
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
  record.said = record.known.phase = how == ReportedEnd::Completed ? JobPhase::Completed : JobPhase::Failed;
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
  const Simulation& simulation = simulation_.admission->simulation();
  const Job& simulated = simulation.workload().jobs[record.simulated.value];
  const double part = simulation.part_done(record.simulated, sim_time(now_));
  // What is left takes as much longer than predicted as what is done; of too little nothing follows.
  constexpr double kTellsPace = 0.02;
  constexpr double kMostSlowdown = 20;
  const bool tells_pace = fraction >= kTellsPace && part >= kTellsPace;
  const double as_predicted =
      static_cast<double>(record.known.job.duration_ns) / static_cast<double>(simulated.duration.count());
  const double factor = tells_pace ? std::clamp(part / fraction, 1 / kMostSlowdown, kMostSlowdown)
                                   : part + (1 - fraction) * as_predicted;
  const auto scaled = [factor](auto value) {
    return std::max(1.0, std::round(static_cast<double>(value) * factor));
  };
  JobChanged changed{.job = record.simulated};
  changed.duration = SimDuration(static_cast<std::int64_t>(scaled(simulated.duration.count())));
  if (simulated.curve) changed.iterations = static_cast<std::int64_t>(scaled(simulated.iterations));
  record.known.report = {.fraction = fraction, .part = std::min(part / factor, 1.0)};
  return tell(changed);
}

Result<void> LiveJobs::apply_node(std::uint32_t number, NodeState state) {
  const auto known = out_of_service_.find(number);
  const NodeState before = known == out_of_service_.end() ? NodeState::Up : known->second;
  if (before == state) return {};
  const NodeId node(number);
  if (before != NodeState::Up) {
    if (auto told = simulation_.admission->tell(sim_time(now_), NodeUp{node}); !told) return told;
    out_of_service_.erase(known);
  }
  if (state != NodeState::Up) {
    if (auto told = simulation_.admission->tell(sim_time(now_), NodeDown{node, state == NodeState::Drains});
        !told)
      return told;
    out_of_service_[number] = state;
  }
  return simulation_.admission->run_until(sim_time(now_));
}

Result<void> LiveJobs::commit(std::string_view kind, const ordered_json& body,
                              std::unique_lock<std::shared_mutex> lock, std::string tenant, std::string key) {
  std::promise<Result<std::int64_t>> durable;
  store_.append({.time_ns = now_,
                 .kind = std::string(kind),
                 .tenant = std::move(tenant),
                 .key = std::move(key),
                 .body = body.dump()},
                [&durable](Result<std::int64_t> sequence) { durable.set_value(std::move(sequence)); });
  lock.unlock();
  auto sequence = durable.get_future().get();
  if (!sequence) return fail(std::move(sequence.error()));
  return {};
}

Result<ServedJob> LiveJobs::repeated(const std::string& tenant, const std::string& key) {
  // The first request may still wait for it to be durable.
  const auto sequence = store_.append({.tenant = tenant, .key = key});
  if (!sequence) return fail(sequence.error());
  const auto first = store_.input(*sequence);
  if (!first) return fail(first.error());
  const auto document = JsonDocument::parse(first->body, "state");
  if (!document) return fail(document.error());
  if (!document->root().contains("job"))
    return fail({.kind = ErrorKind::Io, .message = "the state has no such job"});
  const auto logged = logged_job_from(*document, document->root()["job"]);
  if (!logged) return fail(logged.error());
  auto job = find(logged->id);
  if (!job) return fail(no_such_job(logged->id));
  return *std::move(job);
}

Result<ServedJob> LiveJobs::submit(const JobRequest& request, const std::string& tenant,
                                   const std::string& key) {
  const auto is_known = [&] { return !key.empty() && store_.find(tenant, key).has_value(); };
  if (is_known()) return repeated(tenant, key);
  std::unique_lock lock(mutex_);
  const std::shared_ptr<const JobSetting> setting = setting_;
  const bool is_elastic = simulation_.admission->is_elastic();
  const UnixTime priced_at = time_now();
  lock.unlock();
  const auto deadline = read_deadline(request.deadline, priced_at);
  if (!deadline) return fail(deadline.error());
  const auto priced =
      price_training_job(request.spec(), setting->cluster(), *setting->pricing(), is_elastic,
                         sim_time(priced_at), *deadline == 0 ? Job::kNoDeadline : sim_time(*deadline));
  if (!priced) return fail(priced.error());

  lock.lock();
  if (is_known()) {
    lock.unlock();
    return repeated(tenant, key);
  }
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  const LoggedJob job = log_of(*priced, next_id_, request, tenant, origin_);
  if (auto applied = apply_job(job); !applied) return fail(std::move(applied.error()));
  ServedJob decided = view(records_.at(job.id));
  const ordered_json body = {{"job", to_json(job)}, {"promised", decided.promised}};
  if (auto done = commit(kJobInput, body, std::move(lock), tenant, key); !done)
    return fail(std::move(done.error()));
  return decided;
}

Result<ServedJob> LiveJobs::change(std::int64_t id, std::string_view kind, ordered_json body,
                                   const std::function<Result<void>(Record&)>& work) {
  std::unique_lock lock(mutex_);
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  const auto record = record_of(id);
  if (!record) {
    lock.unlock();
    const auto past = find(id);
    return fail(past ? is_over_error(*past) : record.error());
  }
  if (auto done = work(**record); !done) return fail(std::move(done.error()));
  ServedJob changed = view(**record);
  body["job"] = id;
  if (auto done = commit(kind, body, std::move(lock), changed.job.tenant); !done)
    return fail(std::move(done.error()));
  return changed;
}

Result<ServedJob> LiveJobs::cancel(std::int64_t id) {
  return change(id, kCancelInput, {}, [this](Record& record) { return apply_cancel(record); });
}

Result<ServedJob> LiveJobs::report_progress(std::int64_t id, double fraction) {
  return change(id, kProgressInput, {{"fraction", fraction}},
                [&](Record& record) { return apply_progress(record, fraction); });
}

Result<ServedJob> LiveJobs::report_end(std::int64_t id, ReportedEnd how) {
  return change(id, kEndInput, {{"end", static_cast<int>(how)}},
                [&](Record& record) { return apply_end(record, how); });
}

Result<ServedNode> LiveJobs::report_node(const std::string& name, NodeState state) {
  std::unique_lock lock(mutex_);
  const std::vector<ServedNode> all = nodes();
  const auto found = std::ranges::find(all, name, &ServedNode::name);
  if (found == all.end())
    return fail(
        {.kind = ErrorKind::NotFound, .message = fmt::format("there is no node '{}'", printable(name))});
  if (!info_of(setting_->placement()).knows_nodes) {
    return fail({.kind = ErrorKind::Failed,
                 .message = fmt::format("the placement '{}' knows no nodes", setting_->setup().placement)});
  }
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  const auto number = static_cast<std::uint32_t>(found - all.begin());
  if (auto applied = apply_node(number, state); !applied) return fail(std::move(applied.error()));
  ServedNode node = *found;
  node.state = state;
  const ordered_json body = {{"node", number},
                             {"state", node_state_names()[static_cast<std::size_t>(state)]}};
  if (auto done = commit(kNodeInput, body, std::move(lock)); !done) return fail(std::move(done.error()));
  return node;
}

Result<void> LiveJobs::change_setting(std::shared_ptr<const JobSetting> setting) {
  std::unique_lock lock(mutex_);
  if (setting->setup() == setting_->setup()) return {};
  const ordered_json body = to_json(setting->setup());
  if (auto applied = apply_setup(std::move(setting), time_now()); !applied) return applied;
  return commit(kSetupInput, body, std::move(lock));
}

}  // namespace vtrain::serve
