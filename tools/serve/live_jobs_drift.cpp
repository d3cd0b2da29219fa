#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "tools/serve/event_log.hpp"
#include "tools/serve/live_jobs.hpp"

namespace vtrain::serve {
namespace {

/// Places of running jobs on the nodes of a cluster, without the GPUs of others.
class FreePlaces {
 public:
  explicit FreePlaces(const std::vector<ServedNode>& nodes) : nodes_(nodes) {
    for (const ServedNode& node : nodes)
      free_.push_back(node.gpus);
  }

  /// Takes these GPUs, if they are free.
  bool take(std::span<const NodeShare> gang) {
    const bool fits = std::ranges::all_of(gang, [this](const NodeShare& share) {
      return share.node.value < free_.size() && free_[share.node.value] >= share.gpus.value;
    });
    if (!fits) return false;
    for (const NodeShare& share : gang)
      free_[share.node.value] -= share.gpus.value;
    return true;
  }

  /// Takes any free GPUs of a type; an empty name: of all types. Empty: there are not enough.
  std::vector<NodeShare> take_any(std::int64_t gpus, const std::string& type) {
    std::vector<NodeShare> gang;
    std::int64_t left = gpus;
    for (std::uint32_t node = 0; node < free_.size() && left > 0; ++node) {
      const std::int64_t here = std::min(left, free_[node]);
      if (here == 0 || (!type.empty() && nodes_[node].gpu_type != type)) continue;
      gang.push_back({.node = NodeId(node), .gpus = GpuCount(static_cast<std::int32_t>(here))});
      left -= here;
    }
    if (left > 0 || !take(gang)) return {};
    return gang;
  }

 private:
  const std::vector<ServedNode>& nodes_;
  std::vector<std::int64_t> free_;
};

void wait(LiveJob& live) {
  live.outcome.state = JobState::Waiting;
  live.num_gpus = GpuCount(0);
  live.gang.clear();
}

/// GPUs of a number with which a job can be simulated; 0: none.
std::int64_t usable_gpus(const Workload& workload, const Job& job, std::int64_t gpus) {
  if (!job.curve) return gpus;
  return workload.curves[job.curve.value].at_most(GpuCount(static_cast<std::int32_t>(gpus))).num_gpus.value;
}

}  // namespace

Result<void> LiveJobs::apply_drift(const Drift& drift) {
  for (const NodeDrift& node : drift.nodes) {
    if (node.number >= setting_->nodes().size())
      return fail({.field = "nodes", .message = "there is no such node"});
    if (!info_of(setting_->placement()).knows_nodes) continue;
    if (auto applied = apply_node(node.number, node.state); !applied) return applied;
  }
  if (!drift.names.empty() && drift.names.size() == setting_->nodes().size()) node_names_ = drift.names;

  const auto records_before = records_;
  const std::int64_t next_id_before = next_id_;
  ClusterToday today = simulation_.admission->today();
  today.state.memory.reset();  // plans of other jobs, or at other times
  std::map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < today.state.jobs.size(); ++i)
    places[parse_integer(today.workload.jobs[i].name, 1, INT64_MAX).value_or(0)] = i;
  std::set<std::size_t> gone;
  std::vector<std::pair<std::size_t, const JobDrift*>> running;  // as the scheduler has them
  bool changes_jobs = false;

  const auto add = [&](const ServedJob& job) {
    const Workload alone = workload_of(job.job, now_, origin_);
    today.workload.jobs.push_back(today.workload.adopt(alone, alone.jobs.front()));
    LiveJob live;
    live.outcome.state = JobState::Waiting;
    if (job.promised) live.outcome.promised = sim_time(now_);
    today.state.jobs.push_back(std::move(live));
    return places[job.job.id] = today.state.jobs.size() - 1;
  };
  for (const JobDrift& each : drift.jobs) {
    changes_jobs = changes_jobs || each.kind != DriftKind::Seen;
    if (each.kind == DriftKind::Unknown) {
      ServedJob job{.job = each.job, .submitted = now_, .external = each.external, .is_foreign = true};
      job.job.id = next_id_++;
      records_[job.job.id].known = job;
      const std::size_t place = add(job);
      if (each.phase == JobPhase::Running) running.emplace_back(place, &each);
      continue;
    }
    const auto found = records_.find(each.id);
    if (found == records_.end())
      return fail({.field = "jobs", .message = fmt::format("there is no job {}", each.id)});
    Record& record = found->second;
    record.known.external = each.external;
    const auto place = places.find(each.id);
    if (each.kind == DriftKind::Gone) {
      if (place == places.end()) continue;
      const ServedJob last = view(record);
      record.known.progress = each.phase == JobPhase::Completed ? 1 : last.progress;
      record.known.started = last.started;
      record.known.promised = last.promised;
      record.known.phase = each.phase;
      record.known.held_gpus = 0;
      record.known.ended = now_;
      record.said = each.phase;
      record.simulated = {};
      gone.insert(place->second);
    } else if (each.kind == DriftKind::RunsLonger) {
      // What is left is a tenth of what it has run.
      const double longer = 1.1 * static_cast<double>(now_ - each.since);
      record.known = view(record);
      record.known.ended.reset();
      record.known.report = {};
      record.said.reset();
      ServedJob job = record.known;
      const double factor =
          std::max(longer / static_cast<double>(std::max<std::int64_t>(job.job.duration_ns, 1)), 1.1);
      job.job.duration_ns = static_cast<std::int64_t>(factor * static_cast<double>(job.job.duration_ns));
      job.job.iterations = static_cast<std::int64_t>(factor * static_cast<double>(job.job.iterations));
      running.emplace_back(add(job), &each);
    } else if (place != places.end() && each.kind == DriftKind::StartedLater) {
      wait(today.state.jobs[place->second]);
    } else if (place != places.end() && each.phase == JobPhase::Running) {
      running.emplace_back(place->second, &each);
    }
  }
  if (!changes_jobs) return {};

  // Jobs that the scheduler runs have their GPUs; others keep theirs where these are free.
  FreePlaces places_left(setting_->nodes());
  const bool knows_nodes = info_of(setting_->placement()).knows_nodes;
  std::set<std::size_t> placed;
  for (const auto& [place, there] : running) {
    Job& job = today.workload.jobs[place];
    LiveJob& live = today.state.jobs[place];
    placed.insert(place);
    const std::int64_t gpus = usable_gpus(today.workload, job, there->gpus);
    const bool goes_on = live.outcome.state == JobState::Running && live.num_gpus.value == gpus;
    if (!goes_on) wait(live);
    std::vector<NodeShare> gang;
    if (gpus == there->gpus) {
      for (const auto& [node, count] : there->gang)
        gang.push_back({.node = NodeId(node), .gpus = GpuCount(static_cast<std::int32_t>(count))});
    }
    if (gang.empty() || !places_left.take(gang))
      gang = places_left.take_any(gpus, job.gpu_type ? today.workload.gpu_types[job.gpu_type.value] : "");
    if (gpus == 0 || gang.empty()) {
      wait(live);
      continue;
    }
    live.gang = std::move(gang);
    if (goes_on) continue;
    if (!job.curve) job.num_gpus = GpuCount(static_cast<std::int32_t>(gpus));
    live.outcome.state = JobState::Running;
    live.outcome.start = live.resumed = sim_time(std::max(there->since, origin_));
    live.num_gpus = GpuCount(static_cast<std::int32_t>(gpus));
    live.has_started = true;
  }
  for (std::size_t i = 0; i < today.state.jobs.size(); ++i) {
    LiveJob& live = today.state.jobs[i];
    if (live.outcome.state != JobState::Running || placed.contains(i) || gone.contains(i)) continue;
    if (knows_nodes && !places_left.take(live.gang)) wait(live);
    if (!knows_nodes && places_left.take_any(live.num_gpus.value, "").empty()) wait(live);
  }
  if (!knows_nodes) {
    for (LiveJob& live : today.state.jobs)
      live.gang.clear();
  }
  std::vector<Job> jobs;
  std::vector<LiveJob> states;
  for (std::size_t i = 0; i < today.state.jobs.size(); ++i) {
    if (gone.contains(i)) continue;
    jobs.push_back(today.workload.jobs[i]);
    states.push_back(std::move(today.state.jobs[i]));
  }
  today.workload.jobs = std::move(jobs);
  today.state.jobs = std::move(states);
  auto begun = begin_anew(setting_, std::move(today));
  if (!begun) {
    records_ = records_before;
    next_id_ = next_id_before;
  }
  return begun;
}

Result<DriftCounts> LiveJobs::reconcile(const LiveState& state) {
  std::unique_lock lock(mutex_);
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  std::vector<ServedJob> jobs;
  for (const auto& [id, record] : records_) {
    if (!record.is_leaving) jobs.push_back(view(record));
  }
  const Drift drift = find_drift(state, jobs, nodes(), !node_names_.empty(), now_);
  drift_.last = now_;
  drift_.found = drift.counts();
  if (drift.empty()) return drift_;
  if (auto applied = apply_drift(drift); !applied) return fail(std::move(applied.error()));
  for (const auto& [kind, count] : drift_.found)
    drift_.total[kind] += count;
  const DriftCounts counts = drift_;
  for (const JobDrift& job : drift.jobs) {
    if (job.kind != DriftKind::Seen)
      log_event(Severity::Info, "drift",
                {{"kind", std::string(drift_kind_names()[static_cast<std::size_t>(job.kind)])},
                 {"job", job.id},
                 {"external", job.external}});
  }
  for (const NodeDrift& node : drift.nodes)
    log_event(Severity::Info, "drift", {{"kind", "node_state"}, {"node", nodes()[node.number].name}});
  if (auto done = commit(kDriftInput, to_json(drift), std::move(lock)); !done)
    return fail(std::move(done.error()));
  return counts;
}

}  // namespace vtrain::serve
