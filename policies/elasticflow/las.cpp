// `elasticflow-las`: least attained service as in ElasticFlow's simulator, the `dlas-gpu` policy of its
// artifact (pkusys/ElasticFlow, Apache-2.0), to the second, with its oddities:
//  * decisions are at least a slot apart; a job whose work is done keeps its GPUs until the next decision;
//  * seconds on GPUs and GPU-seconds are cut to whole numbers at every decision, and a job leaves at most one
//    queue a decision;
//  * starting costs seconds that grow with the gang (a table by cluster and gang size), but they are lost
//    only if another decision comes before the job's end; every `slot`-th decision restarts all jobs at a
//    cost;
//  * a decision is due (threshold - attained) / GPUs after this one for each running job, though thresholds
//    are GPU-seconds and `attained` is seconds.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policies/base/policies.hpp"
#include "policies/elasticflow/slotted_policy.hpp"
#include "policies/list/las.hpp"
#include "sched/disruption/interruption_cost.hpp"

namespace vtrain {
namespace {

class ElasticFlowLas final : public Policy {
 public:
  /// `queues`: GPU-seconds at which a job leaves the first and the second queue.
  ElasticFlowLas(WholeSeconds slot, std::array<std::int64_t, 2> queues)
      : slot_(slot), thresholds_(queues), arrivals_(slot) {}

  void schedule(SchedulingPass& pass) override;
  ProgressRule progress_rule() const override { return ProgressRule::Policy; }
  std::optional<SimTime> considers_at(const SchedulingPass&, JobId job) const override {
    return arrivals_.has(job) ? next_pass_ : std::nullopt;
  }
  WaitCause holds_back(const SchedulingPass&, JobId) const override {
    return next_pass_ ? WaitCause{.reason = WaitReason::NextDecision, .at = next_pass_} : WaitCause{};
  }

 private:
  static constexpr std::size_t kNumQueues = 3;

  /// A job that has come and not ended.
  struct LiveJob {
    JobId job;
    std::int64_t num_gpus = 0;
    std::int64_t duration = 0;  ///< s
    std::int64_t attained = 0;  ///< s, whole
    std::size_t queue = 0;
    bool running = false;
    WholeSeconds checked = 0;  ///< time at which `attained` was last updated
    double overhead = 0;       ///< s, not yet charged
    WholeSeconds end = 0;      ///< planned end
  };

  void decide(SchedulingPass& pass, WholeSeconds now);
  void take_ends(SchedulingPass& pass);
  void take_arrivals(const SchedulingPass& pass);
  void update_service(WholeSeconds now);
  /// Hands out the GPUs to one queue after another.
  void walk_queues(SchedulingPass& pass, WholeSeconds now, bool restart);
  void start(SchedulingPass& pass, std::uint32_t id, WholeSeconds now);
  void stop(std::uint32_t id);
  /// Position of a job among the running ones, if it is or were one: most GPUs first, then by arrival.
  std::vector<std::uint32_t>::iterator place_of(std::uint32_t id);
  void foresee(WholeSeconds now, std::int64_t cluster_gpus, bool restart);

  WholeSeconds slot_;
  std::array<std::int64_t, kNumQueues - 1> thresholds_;
  SlottedArrivals arrivals_;
  std::vector<LiveJob> jobs_;           ///< by `JobId`; only entries of live jobs are valid
  std::vector<std::uint32_t> running_;  ///< most GPUs first, then by arrival
  std::array<std::vector<std::uint32_t>, kNumQueues> queues_;  ///< running jobs first
  std::optional<WholeSeconds> last_decision_;
  std::optional<SimTime> next_pass_;  ///< time at which it has asked to decide again
  std::int64_t num_decisions_ = 0;
  std::optional<WholeSeconds> next_end_;  ///< decision at which `ending_` release their GPUs
  std::vector<std::uint32_t> ending_;
  std::optional<WholeSeconds> next_demotion_;
};

void ElasticFlowLas::schedule(SchedulingPass& pass) {
  jobs_.resize(pass.jobs().size());
  arrivals_.collect(pass, last_decision_, false);
  const WholeSeconds now = whole_seconds_passed(pass.now());
  const auto is_due = [now](std::optional<WholeSeconds> time) { return time && *time <= now; };
  if (is_due(arrivals_.due()) || is_due(next_end_) || is_due(next_demotion_)) decide(pass, now);

  std::optional<WholeSeconds> next = arrivals_.due();
  for (const auto time : {next_end_, next_demotion_}) {
    if (time && (!next || *time < *next)) next = time;
  }
  next_pass_ = next ? std::optional(to_sim_time(*next)) : std::nullopt;
  if (next_pass_) pass.wake_at(*next_pass_);
}

void ElasticFlowLas::decide(SchedulingPass& pass, WholeSeconds now) {
  if (next_end_ && *next_end_ <= now) take_ends(pass);
  if (arrivals_.due() && *arrivals_.due() <= now) take_arrivals(pass);
  update_service(now);
  const bool restart = num_decisions_ > 0 && num_decisions_ % slot_ == 0;
  ++num_decisions_;
  walk_queues(pass, now, restart);
  foresee(now, pass.total_gpus().value, restart);
  last_decision_ = now;
}

void ElasticFlowLas::take_ends(SchedulingPass& pass) {
  for (const std::uint32_t id : ending_) {
    const LiveJob& job = jobs_[id];
    pass.complete(job.job, to_sim_time(job.end), to_sim_time(job.end));
    std::erase(queues_[job.queue], id);
    stop(id);
  }
}

void ElasticFlowLas::take_arrivals(const SchedulingPass& pass) {
  for (const JobId id : arrivals_.take()) {
    const Job& job = pass.job(id);
    const SimDuration duration = pass.curve(id) == nullptr ? time_on_gpus(job) : job.duration;
    jobs_[id.value] = {.job = id,
                       .num_gpus = job.num_gpus.value,
                       .duration = std::chrono::ceil<std::chrono::seconds>(duration).count()};
    queues_[0].push_back(id.value);
  }
}

void ElasticFlowLas::update_service(WholeSeconds now) {
  for (const std::uint32_t id : running_) {
    LiveJob& job = jobs_[id];
    const double gained = std::max(static_cast<double>(now - job.checked) - job.overhead, 0.0);
    job.attained = static_cast<std::int64_t>(static_cast<double>(job.attained) + gained);
    job.overhead = 0;
    if (job.queue + 1 < kNumQueues && job.attained * job.num_gpus >= thresholds_[job.queue]) {
      std::erase(queues_[job.queue], id);
      queues_[++job.queue].push_back(id);
    }
    job.checked = now;
  }
}

std::vector<std::uint32_t>::iterator ElasticFlowLas::place_of(std::uint32_t id) {
  return std::ranges::lower_bound(
      running_, std::pair(-jobs_[id].num_gpus, id), {},
      [this](std::uint32_t other) { return std::pair(-jobs_[other].num_gpus, other); });
}

void ElasticFlowLas::start(SchedulingPass& pass, std::uint32_t id, WholeSeconds now) {
  LiveJob& job = jobs_[id];
  if (!pass.try_start(job.job)) return;
  job.running = true;
  job.checked = now;
  running_.insert(place_of(id), id);
}

void ElasticFlowLas::stop(std::uint32_t id) {
  jobs_[id].running = false;
  running_.erase(place_of(id));
}

void ElasticFlowLas::walk_queues(SchedulingPass& pass, WholeSeconds now, bool restart) {
  std::array<std::size_t, kNumQueues> num_running{};
  for (const std::uint32_t id : running_)
    ++num_running[jobs_[id].queue];
  std::int64_t free = pass.total_gpus().value;
  std::vector<std::uint32_t> started;
  std::array<std::size_t, kNumQueues> num_seen{};
  for (std::size_t i = 0; i < kNumQueues; ++i) {
    // After the last running job, nothing happens once all GPUs are given.
    for (; num_seen[i] < queues_[i].size() && (free > 0 || num_running[i] > 0); ++num_seen[i]) {
      const std::uint32_t id = queues_[i][num_seen[i]];
      LiveJob& job = jobs_[id];
      if (job.running) --num_running[i];
      if (free >= job.num_gpus) {
        free -= job.num_gpus;
        if (job.running) continue;
        job.overhead = elasticflow_start_overhead(job.num_gpus, pass.total_gpus().value, restart);
        started.push_back(id);
      } else if (job.running) {
        stop(id);
        pass.preempt(job.job);
      }
    }
  }
  for (const std::uint32_t id : started)
    start(pass, id, now);
  for (std::size_t i = 0; i < kNumQueues; ++i) {
    const auto seen = queues_[i].begin() + static_cast<std::ptrdiff_t>(num_seen[i]);
    std::stable_partition(queues_[i].begin(), seen, [this](std::uint32_t id) { return jobs_[id].running; });
  }
}

void ElasticFlowLas::foresee(WholeSeconds now, std::int64_t cluster_gpus, bool restart) {
  next_end_.reset();
  next_demotion_.reset();
  ending_.clear();
  for (const std::uint32_t id : running_) {
    LiveJob& job = jobs_[id];
    double left = static_cast<double>(job.duration - job.attained);
    if (restart) left += job.overhead = elasticflow_start_overhead(job.num_gpus, cluster_gpus, true);
    const auto end = static_cast<WholeSeconds>(static_cast<double>(now) + left);
    const WholeSeconds noticed = std::max(now + slot_, end);
    if (!next_end_ || noticed < *next_end_) {
      next_end_ = noticed;
      ending_.clear();
    }
    if (noticed == *next_end_) {
      ending_.push_back(id);
      job.end = end;
    }
    if (job.queue + 1 < kNumQueues) {
      const std::int64_t to_go = thresholds_[job.queue] - job.attained;
      // Rounded up, also for a negative number.
      const WholeSeconds due =
          now + (to_go >= 0 ? (to_go + job.num_gpus - 1) / job.num_gpus : to_go / job.num_gpus);
      if (!next_demotion_ || due < *next_demotion_) next_demotion_ = due;
    }
  }
  if (next_demotion_) next_demotion_ = std::max(*next_demotion_, now + slot_);
}

}  // namespace

MadePolicy make_elasticflow_las(const PolicyArguments& arguments) {
  const auto thresholds = read_thresholds(arguments);
  if (!thresholds) return fail(thresholds.error());
  std::array<std::int64_t, 2> queues{};
  const bool whole = std::ranges::all_of(*thresholds, [](SimDuration threshold) {
    return threshold % std::chrono::seconds(1) == SimDuration(0);
  });
  if (thresholds->size() != queues.size() || !whole)
    return fail(arguments.bad_value("queues", "two thresholds of whole GPU-seconds"));
  std::ranges::transform(*thresholds, queues.begin(), [](SimDuration threshold) {
    return std::chrono::floor<std::chrono::seconds>(threshold).count();
  });
  const auto slot = parse_slot(arguments);
  if (!slot) return fail(slot.error());
  return std::make_unique<ElasticFlowLas>(*slot, queues);
}

}  // namespace vtrain
