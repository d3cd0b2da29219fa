/// A job as the scheduler of Slurm sees it, made of a trace's job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "policies/tenants/slurm/node_pool.hpp"
#include "policies/tenants/slurm/reservation_list.hpp"
#include "policies/tenants/slurm/running_limits.hpp"
#include "policies/tenants/slurm/slurm_files.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::slurm {

/// Stage of a job.
enum class JobStage : std::uint8_t {
  Ineligible,  ///< waits for other jobs, or for a time
  Queued,      ///< may start
  Running,     ///< holds nodes
  Leaving,     ///< has ended; its nodes are not free yet
  Stuck,       ///< can never start, and blocks nobody
  Done,        ///< has left
};

/// What a job asks for, and where it is.
struct JobRecord {
  NodeRequest request{};                       ///< nodes
  LimitedJob limited{};                        ///< what limits see
  std::vector<std::uint32_t> partitions{};     ///< partitions that it may use
  std::uint32_t runs_in = 0;                   ///< partition in which it runs
  std::optional<std::uint32_t> reservation{};  ///< reservation that it must use
  SimDuration limit{};                         ///< its time limit
  SimTime submit{};                            ///< submission, or the last requeue
  SimTime eligible{};                          ///< when it could start first
  std::int64_t nice = 0;                       ///< subtracted from its priority
  double billing = 0;                          ///< billing units that it holds while it runs
  JobStage stage = JobStage::Ineligible;       ///< stage
  bool is_refused = false;                     ///< sbatch would refuse it
  SimTime nodes_awaited{};                     ///< when jobs that were stopped for it have left
};

/// Names that a job gives; empty where it gives none.
struct JobNames {
  std::string_view partition{};                   ///< partitions, separated by commas
  std::string_view account{};                     ///< account
  std::string_view user{};                        ///< user
  std::string_view tenant{};                      ///< tenant: its account and user where it gives none
  std::string_view qos{};                         ///< QOS
  const JobRequirements* requirements = nullptr;  ///< its other requirements; null: none
  std::uint32_t user_number = 0;                  ///< differs between users, and tenants in their place
};

/// Translates jobs. All that it is made of outlives it.
class JobTranslator {
 public:
  JobTranslator(const SlurmSetup& setup, const std::vector<Reservation>& reservations)
      : setup_(setup), reservations_(reservations) {}

  /// The record of a job that is submitted now. Errors, which carry only field and message: an unknown
  /// account, user, partition, QOS or reservation.
  Result<JobRecord> translate(const Job& job, const JobNames& names) const;

 private:
  Result<void> find_partitions(std::string_view queue, JobRecord& record) const;
  Result<void> find_association(const JobNames& names, JobRecord& record) const;
  Result<void> find_qos(std::string_view name, JobRecord& record) const;
  void find_nodes(const JobRequirements* requirements, const Job& job, JobRecord& record) const;
  void find_time_limit(const Job& job, JobRecord& record) const;
  /// Decides whether the job can ever start.
  void check_partition(std::string_view account, JobRecord& record) const;
  double billing_of(const JobRecord& record) const;

  const SlurmSetup& setup_;
  const std::vector<Reservation>& reservations_;
};

}  // namespace vtrain::slurm
