#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "tools/serve/live_jobs.hpp"

namespace vtrain::serve {
namespace {

/// Adds what a job has done since it got its gang, as if it were preempted at `now`.
void end_segment(LiveJob& job, SimTime now) {
  const SimDuration held = now - job.resumed;
  job.outcome.attained += held;
  job.accounting.overhead.lost += held - job.accounting.overhead.plan.work(held);
  if (held.count() > 0) job.accounting.start = SegmentAccounting::Start::AfterPreemption;
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
  return store_.replay(kept_, [this](std::int64_t sequence, const Input& input) -> Result<void> {
    if (auto applied = apply(input); !applied) {
      Error error = std::move(applied.error());
      error.message = fmt::format("input {} of the state: {}", sequence, error.message);
      return fail(std::move(error));
    }
    return {};
  });
}

Result<void> LiveJobs::apply_setup(std::shared_ptr<const JobSetting> setting, UnixTime time) {
  if (!setting_) {
    origin_ = now_ = time;
    setting_ = std::move(setting);
    return begin_anew({.cluster = setting_->cluster(), .workload = setting_->no_jobs(), .has_curves = true});
  }
  if (auto moved = move_to(time); !moved) return moved;
  ClusterToday today = simulation_.admission->today();
  const bool is_same_cluster = setting->setup().cluster == setting_->setup().cluster;
  if (!is_same_cluster || setting->setup().policy != setting_->setup().policy) today.state.memory.reset();
  if (!is_same_cluster) {
    // Nodes have other numbers now: jobs begin again where they were.
    today.state.out_of_service.clear();
    out_of_service_.clear();
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
  const auto before = std::exchange(setting_, std::move(setting));  // the simulation up to now refers to it
  return begin_anew(std::move(today));
}

Result<void> LiveJobs::begin_anew(ClusterToday today) {
  for (auto& [id, record] : records_) {
    if (!record.simulated) continue;
    record.known = view(record);
    record.simulated = {};
  }
  for (std::size_t i = 0; i < today.workload.jobs.size(); ++i) {
    const auto id = parse_integer(today.workload.jobs[i].name, 1, std::numeric_limits<std::int64_t>::max());
    const auto record = id ? records_.find(*id) : records_.end();
    if (record == records_.end())
      return fail(
          {.kind = ErrorKind::Io, .message = "the simulation has a job that the service does not know"});
    record->second.simulated = JobId(static_cast<std::uint32_t>(i));
  }
  auto begun = setting_->begin(std::move(today));
  if (!begun) return fail(std::move(begun.error()));
  simulation_ = *std::move(begun);
  return {};
}

}  // namespace vtrain::serve
