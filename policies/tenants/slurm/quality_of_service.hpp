/// Qualities of service (QOS) with their limits, as sacctmgr(1) of Slurm 22.05 prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/trackable_resources.hpp"

namespace vtrain::slurm {

/// Limits of an association or a QOS. Those of a group hold for all its running jobs together.
struct Limits {
  TresList group_tres{};                             ///< `GrpTRES`: resources of running jobs
  TresList group_tres_minutes{};                     ///< `GrpTRESMins`: resources × minutes used so far
  TresList group_tres_run_minutes{};                 ///< `GrpTRESRunMins`: resources × remaining time limits
  std::optional<std::int64_t> group_jobs{};          ///< `GrpJobs`: running jobs
  std::optional<std::int64_t> group_submit{};        ///< `GrpSubmit`: jobs that run or wait
  std::optional<std::int64_t> group_wall_minutes{};  ///< `GrpWall`: minutes of jobs so far
  std::optional<std::int64_t> max_jobs{};            ///< `MaxJobs`: running jobs of each user
  std::optional<std::int64_t> max_submit{};          ///< `MaxSubmit`: jobs of each user that run or wait
  TresList max_tres{};                               ///< `MaxTRES`: resources of one job
  TresList max_tres_per_node{};                      ///< `MaxTRESPerNode`: resources of one job on each node
  TresList max_tres_minutes{};                       ///< `MaxTRESMins`: resources × time limit of one job
  std::optional<std::int64_t> max_wall_minutes{};    ///< `MaxWall`: time limit of one job

  /// True if there is no limit.
  bool empty() const;
};

/// A quality of service.
struct Qos {
  std::string name{};                         ///< name, unique, in lower case
  std::int64_t priority = 0;                  ///< `Priority`
  std::vector<std::string> preempts{};        ///< `Preempt`: QOS whose jobs it may take nodes from
  std::optional<PreemptMode> preempt_mode{};  ///< `PreemptMode`; none: that of the cluster
  double usage_factor = 1;                    ///< `UsageFactor`: of the usage of its jobs
  Limits limits{};                            ///< limits; `max_jobs` and `max_submit` are of each user
  TresList max_tres_per_user{};               ///< `MaxTRESPU`: resources of a user's running jobs
  TresList max_tres_per_account{};            ///< `MaxTRESPA`
  std::optional<std::int64_t> max_jobs_per_account{};    ///< `MaxJobsPA`
  std::optional<std::int64_t> max_submit_per_account{};  ///< `MaxSubmitPA`
  TresList min_tres{};                                   ///< `MinTRES`: least resources of one job
  bool denies_on_limit = false;          ///< flag `DenyOnLimit`: a job beyond a limit is refused
  bool no_reserve = false;               ///< flag `NoReserve`: backfill keeps no nodes for its jobs
  bool partition_max_nodes = false;      ///< flag `PartitionMaxNodes`: beyond that of the partition
  bool partition_min_nodes = false;      ///< flag `PartitionMinNodes`
  bool partition_time_limit = false;     ///< flag `PartitionTimeLimit`
  bool overrides_partition_qos = false;  ///< flag `OverPartQOS`
};

/// Reads `sacctmgr -P show qos`. Errors: a QOS that comes twice or preempts an unknown one, a bad number.
Result<std::vector<Qos>> parse_qos(std::string_view text, const std::string& file, TresNames& names);

/// Reads the limit in a column as a whole number; none where it is empty or negative. The error carries only
/// the message.
Result<std::optional<std::int64_t>> parse_limit(std::string_view text);

}  // namespace vtrain::slurm
