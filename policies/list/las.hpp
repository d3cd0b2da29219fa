/// Discretised least attained service: the policy `las`, whose queues `gittins` shares.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "core/base/result.hpp"
#include "policies/base/policy_info.hpp"
#include "policies/list/list_policy.hpp"

namespace vtrain {

/// Service that a job is charged for.
enum class ServiceKind {
  Time,     ///< seconds on GPUs
  GpuTime,  ///< seconds on GPUs x GPUs
};

/// Rule for the instant at which a running job leaves its queue.
enum class DemotionTimer {
  Exact,  ///< exactly when its service reaches the threshold
  Peer,   ///< as in the Tiresias simulator, see `LasQueues`
};

/// The parameters of policies with queues.
struct LasOptions {
  ServiceKind service = ServiceKind::GpuTime;
  DemotionTimer timer = DemotionTimer::Exact;
  /// Attained service at which a job leaves queue 0, 1, ...: increasing, in ns or GPU-ns. The last queue has
  /// no threshold.
  std::vector<SimDuration> thresholds;
};

/// Reads the parameter `queues`: increasing thresholds.
Result<std::vector<SimDuration>> read_thresholds(const PolicyArguments& arguments);
/// Reads the parameters `queues` and `timer`; `service` is left to the caller.
Result<LasOptions> read_las_options(const PolicyArguments& arguments);

/// A list policy with queues of falling priority. A job joins the tail of the first queue. When its attained
/// service reaches the queue's threshold, it moves to the tail of the next. Jobs that reach theirs at one
/// instant move in order of arrival. Lower queues get the GPUs that higher ones leave. After each pass the
/// running jobs of a queue go before its waiting ones.
///
/// With `DemotionTimer::Peer` a job moves by at most one queue per pass, and that pass may be late. The timer
/// is set to now + (threshold - time on GPUs) / GPUs, rounded down to whole seconds. This mixes seconds and
/// GPU-seconds and is right only for a job that has not run before.
class LasQueues : public ListPolicy {
 public:
  explicit LasQueues(LasOptions options) : options_(std::move(options)) {}

 protected:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override;
  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override;
  /// The peer's queues depend on the times of its passes.
  bool may_skip_order(const SchedulingPass&) override { return options_.timer == DemotionTimer::Exact; }
  void after_walk(SchedulingPass& pass, std::span<ListedJob> running,
                  std::span<const ListedJob> started) override;
  void after_start(SchedulingPass& pass, std::span<const ListedJob> started) override;

  /// Time on GPUs after which a gang of this size leaves a queue; `SimDuration::max()` in the last queue.
  SimDuration time_to_leave(std::int64_t queue, GpuCount num_gpus) const;

 private:
  /// A running job leaves its queue, or would have left it if it had not been stopped.
  struct Demotion {
    SimTime at;
    JobId job;
    GpuCount num_gpus{0};
    std::int64_t queue = 0;
    friend bool operator>(const Demotion& a, const Demotion& b) { return a.at > b.at; }
  };
  /// A demotion that has happened, on the way to the list.
  struct Demoted {
    SimTime at;
    ListedJob* job;
  };

  /// Instant at which a running job left a queue or will leave it; `SimTime::max()` if that exceeds the range
  /// of the clock.
  SimTime demotion_time(const SchedulingPass& pass, JobId job, GpuCount num_gpus, std::int64_t queue) const;
  /// Adds the demotion of a running job to `demotions_`.
  void schedule_demotion(const SchedulingPass& pass, JobId job, GpuCount num_gpus, std::int64_t queue);
  /// Removes the demotions that are due, and adds the next ones of these jobs.
  void pop_due_demotions(const SchedulingPass& pass);
  /// Requests a pass at the next demotion.
  void request_next_pass(SchedulingPass& pass);
  /// Instant at which the peer checks whether a running job leaves its queue; `SimTime::max()` in the last.
  SimTime peer_timer(const SchedulingPass& pass, const ListedJob& job) const;

  LasOptions options_;
  /// Demotions of all running jobs that are not in the last queue, the next one first. Not for the peer.
  std::priority_queue<Demotion, std::vector<Demotion>, std::greater<>> demotions_;
  bool some_due_ = false;         ///< true if jobs were demoted since the list was last updated
  std::vector<Demoted> demoted_;  ///< demoted jobs while the list is updated
  std::int64_t first_stamp_ = 0;  ///< stamp before those of all jobs
};

}  // namespace vtrain
