/// The parts of slurm.conf that decide when jobs start, as values. Meanings and defaults are those of
/// slurm.conf(5) of Slurm 22.05.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/trackable_resources.hpp"

namespace vtrain::slurm {

/// A node of `NodeName`.
struct NodeConf {
  std::string name{};     ///< name, unique
  std::int64_t cpus = 1;  ///< `CPUs`, or `Sockets` × `CoresPerSocket` × `ThreadsPerCore`
  double memory_mb = 1;   ///< `RealMemory`
  std::int64_t gpus = 0;  ///< GPUs of `Gres`, of all types
  std::vector<std::pair<std::string, std::int64_t>> gpus_by_type{};  ///< types that `Gres` names
};

/// What happens to a job that is preempted (`PreemptMode`).
enum class PreemptMode : std::uint8_t {
  Off,      ///< `OFF`: it is not preempted
  Cancel,   ///< `CANCEL`: it ends
  Requeue,  ///< `REQUEUE`: it waits again, and begins anew
};

/// A partition of `PartitionName`.
struct PartitionConf {
  std::string name{};                               ///< name, unique
  std::vector<std::uint32_t> nodes{};               ///< positions in `Configuration::nodes`, ascending
  bool is_default = false;                          ///< `Default=YES`
  bool is_up = true;                                ///< `State=UP`
  std::int64_t priority_job_factor = 1;             ///< `PriorityJobFactor`
  std::int64_t priority_tier = 1;                   ///< `PriorityTier`
  std::optional<std::int64_t> max_minutes{};        ///< `MaxTime`; none: unlimited
  std::optional<std::int64_t> default_minutes{};    ///< `DefaultTime`; none: as `MaxTime`
  std::int64_t min_nodes = 0;                       ///< `MinNodes`
  std::optional<std::int64_t> max_nodes{};          ///< `MaxNodes`
  std::optional<std::int64_t> max_cpus_per_node{};  ///< `MaxCPUsPerNode`
  std::optional<PreemptMode> preempt_mode{};        ///< `PreemptMode`; none: that of the cluster
  std::vector<std::string> allow_accounts{};        ///< `AllowAccounts`; empty: all
  std::vector<std::string> deny_accounts{};         ///< `DenyAccounts`
  std::vector<std::string> allow_qos{};             ///< `AllowQos`; empty: all
  std::vector<std::string> deny_qos{};              ///< `DenyQos`
  std::string qos{};           ///< `QOS`, whose limits hold for all its jobs; empty: none
  TresList billing_weights{};  ///< `TRESBillingWeights`; empty: CPUs
};

/// Way of fair share.
enum class FairShareKind : std::uint8_t {
  FairTree,        ///< the default since Slurm 19.05
  Classic,         ///< `NO_FAIR_TREE`
  DepthOblivious,  ///< `DEPTH_OBLIVIOUS`
};

/// Options of priority/multifactor.
struct PriorityConf {
  bool multifactor = false;            ///< `PriorityType=priority/multifactor`; false: in order of submission
  double weight_age = 0;               ///< `PriorityWeightAge`
  double weight_assoc = 0;             ///< `PriorityWeightAssoc`
  double weight_fair_share = 0;        ///< `PriorityWeightFairshare`
  double weight_job_size = 0;          ///< `PriorityWeightJobSize`
  double weight_partition = 0;         ///< `PriorityWeightPartition`
  double weight_qos = 0;               ///< `PriorityWeightQOS`
  TresList weight_tres{};              ///< `PriorityWeightTRES`, a weight for each whole resource
  std::int64_t max_age_s = 7 * 86400;  ///< `PriorityMaxAge`
  std::int64_t half_life_s = 7 * 86400;                ///< `PriorityDecayHalfLife`; 0: no decay
  std::int64_t calc_period_s = 300;                    ///< `PriorityCalcPeriod`
  double dampening = 1;                                ///< `FairShareDampeningFactor`
  bool favor_small = false;                            ///< `PriorityFavorSmall`
  FairShareKind fair_share = FairShareKind::FairTree;  ///< by `PriorityFlags`
  bool accrue_always = false;                          ///< `ACCRUE_ALWAYS`
  bool small_relative_to_time = false;                 ///< `SMALL_RELATIVE_TO_TIME`
  bool max_tres = false;           ///< `MAX_TRES`: billing is the largest weighted resource of a node
  bool calculate_running = false;  ///< `CALCULATE_RUNNING`
  bool incr_only = false;          ///< `INCR_ONLY`
  bool no_normal_assoc = false;    ///< `NO_NORMAL_ASSOC`
  bool no_normal_part = false;     ///< `NO_NORMAL_PART`
  bool no_normal_qos = false;      ///< `NO_NORMAL_QOS`
  bool no_normal_tres = false;     ///< `NO_NORMAL_TRES`
};

/// Options of the main scheduler and of backfill (`SchedulerType`, `SchedulerParameters`).
struct SchedulerConf {
  bool backfill = true;                        ///< `sched/backfill`; false: `sched/builtin`
  std::int64_t default_queue_depth = 100;      ///< jobs that a pass after an event looks at
  std::int64_t sched_interval_s = 60;          ///< `sched_interval`: time between passes over all jobs
  std::int64_t bf_interval_s = 30;             ///< `bf_interval`
  std::int64_t bf_resolution_s = 60;           ///< `bf_resolution`
  std::int64_t bf_window_minutes = 1440;       ///< `bf_window`
  std::int64_t bf_max_job_test = 500;          ///< `bf_max_job_test`
  std::int64_t bf_node_space_size = 500;       ///< `bf_node_space_size`: by default as `bf_max_job_test`
  std::int64_t bf_max_job_start = 0;           ///< `bf_max_job_start`; 0: no limit
  std::int64_t bf_max_job_user = 0;            ///< `bf_max_job_user`; 0: no limit
  std::int64_t bf_max_job_part = 0;            ///< `bf_max_job_part`; 0: no limit
  std::int64_t bf_max_job_assoc = 0;           ///< `bf_max_job_assoc`; 0: no limit
  std::int64_t bf_job_part_count_reserve = 0;  ///< reservations of each partition; 0: for all jobs
  std::int64_t bf_min_age_reserve_s = 0;       ///< `bf_min_age_reserve`
  std::int64_t bf_window_linear_s = 0;         ///< `bf_window_linear`; 0: the windows double
  bool bf_continue = false;                    ///< `bf_continue`
};

/// Preemption (`PreemptType`).
enum class PreemptType : std::uint8_t {
  None,           ///< `preempt/none`
  Qos,            ///< `preempt/qos`
  PartitionPrio,  ///< `preempt/partition_prio`
};

/// What slurm.conf says.
struct Configuration {
  std::string file{};                       ///< name for errors
  std::vector<NodeConf> nodes{};            ///< in the order of the file
  std::vector<PartitionConf> partitions{};  ///< in the order of the file
  PriorityConf priority{};
  SchedulerConf scheduler{};
  PreemptType preempt_type = PreemptType::None;
  PreemptMode preempt_mode = PreemptMode::Off;    ///< of partitions and QoS that name none
  std::int64_t kill_wait_s = 30;                  ///< `KillWait`
  bool enforces_associations = false;             ///< `AccountingStorageEnforce` has `associations`
  bool enforces_limits = false;                   ///< it has `limits`
  bool enforces_qos = false;                      ///< it has `qos`
  bool refuses_beyond_limits = false;             ///< `EnforcePartLimits` is `ALL` or `ANY`
  bool requeues = true;                           ///< `JobRequeue`
  std::map<std::string, std::int64_t> ignored{};  ///< keys without effect here, with their numbers

  /// Position of a partition; none if the name is unknown.
  std::optional<std::uint32_t> find_partition(std::string_view name) const;
  /// Position of the default partition; none without one.
  std::optional<std::uint32_t> default_partition() const;
  /// CPUs of all nodes.
  std::int64_t total_cpus() const;
};

/// Reads slurm.conf. Keys that change when jobs start and that nothing here follows are errors, unless
/// `ignore` has their names (or `all`). Keys without effect are counted in `ignored`. Other errors: a value
/// out of range, a node or partition that comes twice, an unknown node of a partition, a negative weight.
Result<Configuration> parse_configuration(std::string_view text, const std::string& file, TresNames& names,
                                          std::span<const std::string_view> ignore = {});

/// Reads a time limit of Slurm in whole minutes (rounded up): `90`, `12:30:00`, `1-0`, `1-12:30`. None for
/// `UNLIMITED`, `INFINITE` and `-1`. The error carries only the message.
Result<std::optional<std::int64_t>> parse_slurm_minutes(std::string_view text);
/// Reads the same form in seconds.
Result<std::optional<std::int64_t>> parse_slurm_seconds(std::string_view text);

}  // namespace vtrain::slurm
