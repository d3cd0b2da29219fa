/// Least attained service as ElasticFlow's simulator runs it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "policies/slotted_arrivals.hpp"
#include "sched/policy.hpp"

namespace vtrain {

/// `las:preset=elasticflow`: the `dlas-gpu` policy of ElasticFlow's artifact (pkusys/ElasticFlow,
/// Apache-2.0), to the second, with what is odd about it:
///  * decisions are at least a slot apart; a job whose work is done keeps its GPUs until the next decision;
///  * seconds on GPUs and GPU-seconds are cut to whole numbers at every decision, and a job leaves at most
///    one queue a decision;
///  * starting costs seconds that grow with the gang (a table by cluster and gang size), but they are lost
///    only if another decision comes before the job's end; every `slot`-th decision restarts all jobs at a
///    cost;
///  * a decision is due (threshold - attained) / GPUs after this one for each running job, though thresholds
///    are GPU-seconds and `attained` is seconds.
class ElasticFlowLas final : public Policy {
 public:
  /// `queues`: GPU-seconds at which a job leaves the first and the second queue.
  ElasticFlowLas(WholeSeconds slot, std::array<std::int64_t, 2> queues)
      : slot_(slot), thresholds_(queues), arrivals_(slot) {}

  void schedule(SchedulingPass& pass) override;
  ProgressRule progress_rule() const override { return ProgressRule::Policy; }

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
    WholeSeconds checked = 0;  ///< when `attained` was brought up to date
    double overhead = 0;       ///< s, still to be paid
    WholeSeconds end = 0;      ///< foreseen
  };

  void decide(SchedulingPass& pass, WholeSeconds now);
  void take_ends(SchedulingPass& pass);
  void take_arrivals(const SchedulingPass& pass);
  void update_service(WholeSeconds now);
  void walk_queues(SchedulingPass& pass, bool restart);
  void foresee(WholeSeconds now, std::int64_t cluster_gpus, bool restart);

  WholeSeconds slot_;
  std::array<std::int64_t, kNumQueues - 1> thresholds_;
  SlottedArrivals arrivals_;
  std::vector<LiveJob> jobs_;                                  ///< by `JobId`; only live ones mean something
  std::vector<std::uint32_t> live_;                            ///< most GPUs first once decided, then stable
  std::array<std::vector<std::uint32_t>, kNumQueues> queues_;  ///< running jobs first
  std::optional<WholeSeconds> last_decision_;
  std::int64_t num_decisions_ = 0;
  std::optional<WholeSeconds> next_end_;  ///< decision at which `ending_` give their GPUs back
  std::vector<std::uint32_t> ending_;
  std::optional<WholeSeconds> next_demotion_;
};

struct LasOptions;
class PolicyArguments;

/// Makes the policy from what `las` has read. Errors: other than two queue thresholds of whole GPU-seconds.
Result<std::unique_ptr<Policy>> make_elasticflow_las(const PolicyArguments& arguments,
                                                     const LasOptions& options);

}  // namespace vtrain
