/// slurmctld as a whole: the queue, its schedulers, usage and passes of the priority plugin, over time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/reservation_list.hpp"
#include "policies/tenants/slurm/slurm_files.hpp"
#include "policies/tenants/slurm/usage_decay.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain::slurm {

/// Parts of a controller.
struct ControllerOptions {
  SlurmSetup setup{};  ///< configuration, accounts and QOS
  TresNames names{};   ///< names of resources in `setup`
  std::vector<Reservation> reservations{};
  std::vector<std::uint32_t> out_of_service{};  ///< positions of nodes that take no jobs
  std::vector<UsedTime> history{};              ///< jobs that ran before second 0
  SimDuration period{};                         ///< time between two looks of a scheduler
  SimDuration pass_at{};                        ///< first pass of the priority plugin
  SimDuration clock{};  ///< what its clock is ahead of a whole half-minute at second 0
};

/// Decides which jobs start and stop, as `Policy` does for its first replay. Needs `SchedulingPass` only in
/// its calls.
class Controller {
 public:
  explicit Controller(ControllerOptions options);
  Controller(Controller&&) noexcept;
  Controller& operator=(Controller&&) noexcept;
  ~Controller();

  /// See `Policy::check`.
  Result<std::vector<std::string>> check(const Workload& workload) const;
  /// See `Policy::may_requeue`.
  bool may_requeue() const;
  /// Takes in jobs that run and wait when the first pass begins.
  void begin(const SchedulingPass& view);
  /// See `Policy::schedule`.
  void schedule(SchedulingPass& pass);
  /// See `Policy::considers_at`: when a job may start first.
  std::optional<SimTime> considers_at(const SchedulingPass& pass, JobId job) const;
  /// See `Policy::forbids`.
  std::optional<WaitReason> forbids(JobId job) const;
  /// See `Policy::holds_back`: the job that comes first in its partition.
  WaitCause holds_back(JobId job) const;
  /// See `Policy::append_heads`.
  void append_heads(std::vector<JobId>& heads) const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace vtrain::slurm
