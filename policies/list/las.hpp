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

/// Instant at which a running job leaves its queue.
enum class DemotionTimer {
  Exact,  ///< when its service reaches the threshold
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

/// Reads the parameter `queues`: thresholds that increase.
Result<std::vector<SimDuration>> read_thresholds(const PolicyArguments& arguments);
/// Reads the parameters `queues` and `timer`; `service` is left to the caller.
Result<LasOptions> read_las_options(const PolicyArguments& arguments);

/// A list policy with queues of falling priority. A job joins the tail of the first queue and, when its
/// attained service reaches the queue's threshold, moves to the tail of the next; jobs that reach theirs at
/// the same instant move in order of arrival. Lower queues get what higher ones leave. After each pass the
/// running jobs of a queue go before its waiting ones.
///
/// With `DemotionTimer::Peer` a job moves by one queue a pass at most, and the pass at which its move is
/// noticed may be late: the timer is set to now + (threshold - time on GPUs) / GPUs, rounded down to whole
/// seconds, which mixes seconds and GPU-seconds and is right only for a job that has not run before.
class LasQueues : public ListPolicy {
 public:
  explicit LasQueues(LasOptions options) : options_(std::move(options)) {}

 protected:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override;
  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override;
  /// The peer's queues depend on when it looked.
  bool may_skip_order(const SchedulingPass&) override { return options_.timer == DemotionTimer::Exact; }
  void after_walk(SchedulingPass& pass, std::span<ListedJob> running,
                  std::span<const ListedJob> started) override;
  void after_start(SchedulingPass& pass, std::span<const ListedJob> started) override;

  /// Time on GPUs after which a gang of this size leaves a queue; `SimDuration::max()` in the last queue.
  SimDuration time_to_leave(std::int64_t queue, GpuCount num_gpus) const;

 private:
  /// A running job leaves its queue; or would have left it, had it not been stopped.
  struct Demotion {
    SimTime at;
    JobId job;
    GpuCount num_gpus{0};
    std::int64_t queue = 0;
    friend bool operator>(const Demotion& a, const Demotion& b) { return a.at > b.at; }
  };
  /// One that has come about, on the way to the list.
  struct Demoted {
    SimTime at;
    ListedJob* job;
  };

  /// Instant at which a running job left a queue or will leave it; `SimTime::max()` if that is beyond the
  /// clock.
  SimTime demotion_time(const SchedulingPass& pass, JobId job, GpuCount num_gpus, std::int64_t queue) const;
  /// Adds the demotion of a running job to `demotions_`.
  void schedule_demotion(const SchedulingPass& pass, JobId job, GpuCount num_gpus, std::int64_t queue);
  /// Removes the demotions that are due, and adds the next ones of these jobs.
  void pop_due_demotions(const SchedulingPass& pass);
  /// Asks for a pass at the next demotion.
  void request_next_pass(SchedulingPass& pass);
  /// Instant at which the peer checks whether a running job leaves its queue; `SimTime::max()` in the last.
  SimTime peer_timer(const SchedulingPass& pass, const ListedJob& job) const;

  LasOptions options_;
  /// Of all running jobs that are not in the last queue, the next one first. Not for the peer.
  std::priority_queue<Demotion, std::vector<Demotion>, std::greater<>> demotions_;
  bool some_due_ = false;         ///< since the list was last brought up to date
  std::vector<Demoted> demoted_;  ///< while it is
  std::int64_t first_stamp_ = 0;  ///< ahead of all jobs
};

}  // namespace vtrain
