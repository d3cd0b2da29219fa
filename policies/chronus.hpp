/// Chronus: leases for jobs with deadlines.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "policies/lease_book.hpp"
#include "policies/ordered_jobs.hpp"
#include "policies/registry.hpp"
#include "sched/policy.hpp"

namespace vtrain {

/// Who goes first among plans that serve all accepted jobs.
enum class LeasePreference : std::uint8_t {
  Adaptive,  ///< late while a job that could not be accepted may still meet its deadline, else early
  Early,     ///< accepted jobs run as soon as they can
  Late,      ///< accepted jobs leave the current lease to others as long as they can
};

struct ChronusOptions {
  SimDuration lease = std::chrono::minutes(20);
  SimDuration overhead{0};  ///< of one preemption, as far as estimates take it into account
  double inflation = 1;     ///< of estimates
  LeasePreference preference = LeasePreference::Adaptive;
  LeaseBookOptions book{};
};

/// `chronus` (Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs",
/// SoCC'21). Time is cut into leases. A job with a deadline is accepted if it and all accepted jobs can be
/// given as many leases before their deadlines, rounded down to whole leases, as their work is estimated to
/// take; which job holds the lease that begins is settled at its start. Jobs without a deadline, and those
/// that could not be accepted, take the GPUs that nobody leases, least remaining GPU time first, then jobs
/// that miss their deadline anyway, then accepted jobs whose leases come later. Nobody is preempted before
/// the lease ends. Gangs have the size that was asked for, and every GPU counts as equal.
class Chronus final : public Policy {
 public:
  explicit Chronus(const ChronusOptions& options) : options_(options), book_(options.book) {}

  void schedule(SchedulingPass& pass) override;
  std::vector<PolicyFigure> figures() const override;

 private:
  /// What a live job may hope for.
  enum class Standing : std::uint8_t { BestEffort, Unaccepted, Late, Accepted };

  SimTime start_of(std::int64_t lease) const;
  Standing& standing(JobId job) { return standings_[job.value]; }
  /// The job's place among those that wait for GPUs that nobody leases. It changes only with its standing
  /// and with the time for which it has run.
  ListedJob listed(const SchedulingPass& pass, JobId job) const;
  /// Leases that the job's work is estimated to take from the start of `first_` on.
  std::int64_t required_leases(const SchedulingPass& pass, JobId job) const;

  /// Takes out jobs that have ended or lost their GPUs since the last pass.
  void take_out(SchedulingPass& pass);
  void admit(SchedulingPass& pass, JobId job);
  void change_standing(const SchedulingPass& pass, JobId job, Standing to);
  /// Finds the unaccepted jobs that cannot meet their deadlines any more.
  void find_late(const SchedulingPass& pass);

  /// Settles who holds GPUs at the start of a lease.
  void begin_lease(SchedulingPass& pass);
  void choose_holders(SchedulingPass& pass);
  /// Those of the jobs without a lease that fit beside the holders, by number; the others are preempted.
  void choose_others(SchedulingPass& pass);
  /// Starts holders that wait. At the start of a lease running jobs without one make room if need be.
  void start_holders(SchedulingPass& pass, bool may_preempt);
  /// Starts waiting jobs on GPUs that are free.
  void start_others(SchedulingPass& pass);

  ChronusOptions options_;
  LeaseBook book_;
  std::vector<Standing> standings_;  ///< by `JobId`
  std::int64_t first_ = 0;           ///< the first lease that can be planned in this pass
  std::vector<JobId> holders_;       ///< of the current lease; all of them run unless nodes have no room
  std::vector<JobId> running_;       ///< without a lease
  OrderedJobs waiting_;              ///< without a lease
  std::vector<JobId> unaccepted_;    ///< live, perhaps, and perhaps in time
  std::int64_t num_unaccepted_ = 0;  ///< that ever were
  std::int64_t num_unplaced_ = 0;    ///< leases that began without room on the nodes for their gang
};

/// Reads the parameters of `chronus`.
Result<std::unique_ptr<Policy>> make_chronus(const PolicyArguments& arguments);

}  // namespace vtrain
