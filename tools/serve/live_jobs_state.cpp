#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"
#include "sched/simulation/state_json.hpp"
#include "tools/serve/live_jobs.hpp"
#include "workloads/jobs/job_json.hpp"

namespace vtrain::serve {

using nlohmann::ordered_json;

namespace {

/// Adds what a job has done since it got its gang, as if it were preempted at `now`.
void end_segment(LiveJob& job, SimTime now) {
  const SimDuration held = now - job.resumed;
  job.outcome.attained += held;
  job.accounting.overhead.lost += held - job.accounting.overhead.plan.work(held);
  if (held.count() > 0) job.accounting.start = SegmentAccounting::Start::AfterPreemption;
}

/// Moves jobs that have been over for a day to the past, and all but the last `most_over` that are over. A
/// snapshot thus stays small, however many jobs come in a day.
void move_past(std::vector<ServedJob>& jobs, std::vector<ServedJob>& past, UnixTime now,
               std::int64_t most_over) {
  constexpr UnixTime kDay = std::int64_t{24} * 3600 * 1'000'000'000;
  const auto end = [](const ServedJob& job) { return job.ended.value_or(job.submitted); };
  std::vector<UnixTime> ends;
  for (const ServedJob& job : jobs) {
    if (!job.is_live()) ends.push_back(end(job));
  }
  UnixTime before = now - kDay;
  if (std::ssize(ends) > most_over) {
    const auto first_kept = ends.end() - most_over;
    std::ranges::nth_element(ends, first_kept);
    before = std::max(before, *first_kept);
  }
  const auto first_past = std::stable_partition(
      jobs.begin(), jobs.end(), [&](const ServedJob& job) { return job.is_live() || end(job) >= before; });
  past.assign(std::move_iterator(first_past), std::move_iterator(jobs.end()));
  jobs.erase(first_past, jobs.end());
}

}  // namespace

LiveJobs::LiveJobs(LiveJobsOptions options, Store& store) : options_(std::move(options)), store_(store) {}
LiveJobs::~LiveJobs() = default;

Result<std::unique_ptr<LiveJobs>> LiveJobs::open(LiveJobsOptions options, Store& store) {
  std::unique_ptr<LiveJobs> jobs(new LiveJobs(std::move(options), store));
  if (auto restored = jobs->restore(); !restored) return fail(std::move(restored.error()));
  const std::shared_ptr<const JobSetting> wanted = jobs->options_.setting;
  if (!jobs->setting_) {
    const UnixTime now = jobs->time_now();
    if (auto done = jobs->apply_setup(wanted, now); !done) return fail(std::move(done.error()));
    const auto kept = store.append(
        {.time_ns = now, .kind = std::string(kSetupInput), .body = to_json(wanted->setup()).dump()});
    if (!kept) return fail(kept.error());
  }
  if (auto changed = jobs->change_setting(wanted); !changed) return fail(std::move(changed.error()));
  return jobs;
}

Result<void> LiveJobs::restore() {
  const auto snapshot = store_.snapshot();
  if (!snapshot) return fail(snapshot.error());
  if (*snapshot) {
    if (auto restored = restore((*snapshot)->body); !restored) {
      Error error = std::move(restored.error());
      error.message = "the snapshot of the state: " + error.message;
      return fail(std::move(error));
    }
    kept_ = (*snapshot)->sequence;
  }
  return store_.replay(kept_, [this](std::int64_t sequence, const Input& input) -> Result<void> {
    if (auto applied = apply(input); !applied) {
      Error error = std::move(applied.error());
      error.message = fmt::format("input {} of the state: {}", sequence, error.message);
      return fail(std::move(error));
    }
    return {};
  });
}

Result<void> LiveJobs::restore(const std::string& snapshot) {
  const auto document = JsonDocument::parse(snapshot, "snapshot");
  if (!document) return fail(document.error());
  JsonFields parts(*document, document->root());
  for (const char* const part : {"service", "workload", "state"}) {
    if (!parts.has(part)) parts.complain(part, "missing");
  }
  if (parts.error()) return fail(*parts.error());
  const nlohmann::json& root = document->root()["service"];
  JsonFields fields(*document, root);
  const auto time = [&](std::string_view key) {
    return fields.integer(key, 0, std::numeric_limits<std::int64_t>::max());
  };
  origin_ = time("origin");
  now_ = time("now");
  next_id_ = time("next_id");
  past_promises_.kept = time("promises_kept");
  past_promises_.broken = time("promises_broken");
  for (const char* const part : {"setup", "jobs", "out_of_service", "node_names"}) {
    if (!fields.has(part)) fields.complain(part, "missing");
  }
  if (fields.error()) return fail(*fields.error());
  auto setup = setup_from(*document, root["setup"]);
  if (!setup) return fail(std::move(setup.error()));
  auto setting = JobSetting::read(*std::move(setup), options_.pricing);
  if (!setting) return fail(std::move(setting.error()));
  setting_ = *std::move(setting);
  for (const nlohmann::json& each : root["jobs"]) {
    auto job = served_job_from(*document, each);
    if (!job) return fail(std::move(job.error()));
    Record& record = records_[job->job.id];
    record.known = *std::move(job);
    if (!record.known.is_live()) record.said = record.known.phase;
  }
  for (const nlohmann::json& each : root["out_of_service"]) {
    JsonFields node(*document, each);
    const std::int64_t number = node.integer("node", 0, std::ssize(setting_->nodes()) - 1);
    const std::size_t state = node.choice_or("state", node_state_names(), 0);
    if (node.error()) return fail(*node.error());
    out_of_service_[static_cast<std::uint32_t>(number)] = static_cast<NodeState>(state);
  }
  for (const nlohmann::json& name : root["node_names"])
    node_names_.push_back(name.is_string() ? name.get<std::string>() : "");
  if (!node_names_.empty() && node_names_.size() != setting_->nodes().size())
    return fail({.field = "node_names", .message = "expected a name for each node"});
  const auto policy = setting_->make_policy();
  if (!policy) return fail(policy.error());
  auto workload = workload_from_json(document->root()["workload"]);
  if (!workload) return fail(std::move(workload.error()));
  auto state = state_from_json(document->root()["state"], **policy);
  if (!state) return fail(std::move(state.error()));
  return begin_anew(setting_, {.cluster = setting_->cluster(),
                               .workload = *std::move(workload),
                               .state = *std::move(state),
                               .has_curves = true});
}

Result<void> LiveJobs::keep_snapshot_if_due() {
  return keep(options_.keep_after);
}

Result<void> LiveJobs::keep_snapshot() {
  return keep(1);
}

Result<void> LiveJobs::keep(std::int64_t fewest_inputs) {
  const std::lock_guard one_at_a_time(snapshot_mutex_);
  // The lock is held for as long as the state is copied, not while it is written.
  std::unique_lock lock(mutex_);
  const std::int64_t sequence = store_.last_appended();
  if (sequence - kept_ < fewest_inputs) return {};
  if (auto moved = move_to(time_now()); !moved) return moved;
  const ClusterToday today = simulation_.admission->today();
  if (auto begun = begin_anew(setting_, simulation_.admission->today()); !begun) return begun;
  ordered_json jobs = ordered_json::array();
  std::vector<ServedJob> recent;
  std::vector<ServedJob> past;
  for (const auto& [id, record] : records_)
    recent.push_back(view(record));
  move_past(recent, past, now_, options_.most_over);
  PromiseCounts promises = past_promises_;
  for (const ServedJob& job : past) {
    promises.add(job);
    records_.at(job.job.id).is_leaving = true;
  }
  ordered_json service = {{"origin", origin_},
                          {"now", now_},
                          {"next_id", next_id_},
                          {"promises_kept", promises.kept},
                          {"promises_broken", promises.broken},
                          {"setup", to_json(setting_->setup())},
                          {"node_names", node_names_},
                          {"out_of_service", ordered_json::array()}};
  for (const auto& [node, state] : out_of_service_)
    service["out_of_service"].push_back(
        {{"node", node}, {"state", node_state_names()[static_cast<std::size_t>(state)]}});
  lock.unlock();

  for (const ServedJob& job : recent)
    jobs.push_back(to_kept_json(job));
  service["jobs"] = std::move(jobs);
  std::vector<JobId> all(today.workload.jobs.size());
  for (std::uint32_t i = 0; i < all.size(); ++i)
    all[i] = JobId(i);
  // Written part by part: a copy of all would take long.
  std::string text =
      fmt::format(R"({{"service":{},"workload":{},"state":{}}})", service.dump(),
                  vtrain::to_json(today.workload, all).dump(), vtrain::to_json(today.state).dump());
  std::vector<PastJob> rows;
  for (const ServedJob& job : past)
    rows.push_back({.id = job.job.id,
                    .tenant = job.job.tenant,
                    .state = std::string(name_of(job.phase)),
                    .body = to_kept_json(job).dump()});
  // Inputs in the snapshot must not come after it.
  while (store_.last() < sequence && store_.is_healthy())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto kept = store_.keep({.sequence = sequence, .body = std::move(text)}, rows);

  lock.lock();
  for (const ServedJob& job : past) {
    if (kept) {
      records_.erase(job.job.id);
    } else {
      records_.at(job.job.id).is_leaving = false;
    }
  }
  if (!kept) return kept;
  kept_ = sequence;
  past_promises_ = promises;
  return {};
}

Result<void> LiveJobs::apply_setup(std::shared_ptr<const JobSetting> setting, UnixTime time) {
  if (!setting_) {
    origin_ = now_ = time;
    ClusterToday empty{.cluster = setting->cluster(), .workload = setting->no_jobs(), .has_curves = true};
    return begin_anew(std::move(setting), std::move(empty));
  }
  if (auto moved = move_to(time); !moved) return moved;
  ClusterToday today = simulation_.admission->today();
  const bool is_same_cluster = setting->setup().cluster == setting_->setup().cluster;
  if (!is_same_cluster || setting->setup().policy != setting_->setup().policy) today.state.memory.reset();
  if (!is_same_cluster) {
    // Nodes have other numbers now: jobs begin again where they were.
    today.state.out_of_service.clear();
    const std::vector<JobId> live = simulation_.admission->simulation().live();
    for (std::size_t i = 0; i < today.state.jobs.size(); ++i) {
      LiveJob& job = today.state.jobs[i];
      if (job.outcome.state != JobState::Running) continue;
      end_segment(job, sim_time(now_));
      job.iterations = simulation_.admission->simulation().part_done(live[i], sim_time(now_)) *
                       static_cast<double>(today.workload.jobs[i].iterations);
      job.outcome.state = JobState::Waiting;
      job.gang.clear();
      job.num_gpus = GpuCount(0);
    }
  }
  for (const NodeGroup& group : setting->cluster().groups) {
    if (!group.gpu_type.empty()) today.workload.gpu_type(group.gpu_type);
  }
  today.cluster = setting->cluster();
  if (auto begun = begin_anew(std::move(setting), std::move(today)); !begun) return begun;
  if (!is_same_cluster) {
    out_of_service_.clear();
    node_names_.clear();
  }
  return {};
}

Result<void> LiveJobs::begin_anew(std::shared_ptr<const JobSetting> setting, ClusterToday today) {
  std::vector<Record*> live;
  for (const Job& job : today.workload.jobs) {
    const auto id = parse_integer(job.name, 1, std::numeric_limits<std::int64_t>::max());
    const auto record = id ? records_.find(*id) : records_.end();
    if (record == records_.end())
      return fail(
          {.kind = ErrorKind::Io, .message = "the simulation has a job that the service does not know"});
    live.push_back(&record->second);
  }
  auto begun = setting->begin(std::move(today));
  if (!begun) return fail(std::move(begun.error()));
  for (auto& [id, record] : records_) {
    if (!record.simulated) continue;
    record.known = view(record);
    record.simulated = {};
  }
  for (std::uint32_t i = 0; i < live.size(); ++i)
    live[i]->simulated = JobId(i);
  simulation_ = *std::move(begun);
  setting_ = std::move(setting);  // the simulation up to now referred to the former one
  return {};
}

}  // namespace vtrain::serve
