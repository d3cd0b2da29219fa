/// Discretised least attained service: the queues that `las` and `gittins` share.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "policies/list_policy.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// What a job is charged for.
enum class ServiceKind {
  Time,     ///< seconds on GPUs
  GpuTime,  ///< seconds on GPUs x GPUs
};

/// When a running job leaves its queue.
enum class DemotionTimer {
  Exact,  ///< at the instant at which its service reaches the threshold
  Peer,   ///< as in the Tiresias simulator, see `LasQueues`
};

struct LasOptions {
  ServiceKind service = ServiceKind::GpuTime;
  DemotionTimer timer = DemotionTimer::Exact;
  /// Attained service at which a job leaves queue 0, 1, ...: increasing, in ns or GPU-ns. The last queue has
  /// no threshold.
  std::vector<SimDuration> thresholds;
};

/// Reads the parameters `queues` and `timer`; `service` is left to the caller.
Result<LasOptions> las_options(const PolicyArguments& arguments);

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
  void after_walk(SchedulingPass& pass, std::span<ListedJob> running,
                  std::span<const ListedJob> started) override;

 private:
  /// Time on GPUs after which a gang of this size leaves a queue; `SimDuration::max()` in the last queue.
  SimDuration time_to_leave(std::int64_t queue, GpuCount num_gpus) const;
  /// When a running job leaves its queue, or the peer looks whether it does; `SimTime::max()` in the last.
  SimTime timer(const SchedulingPass& pass, const ListedJob& job) const;

  LasOptions options_;
  std::vector<ListedJob*> demoted_;         ///< by this pass
  SimTime next_demotion_ = SimTime::min();  ///< the earliest timer; `min()`: not known
  JobId next_demoted_;                      ///< whose it is; none: there is none
  std::int64_t first_stamp_ = 0;            ///< ahead of all jobs
};

}  // namespace vtrain
