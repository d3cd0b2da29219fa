/// A running cluster at one instant, as its scheduler's commands tell it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/calendar.hpp"
#include "tools/live/kubernetes_objects.hpp"

namespace vtrain {

/// Place of a job in an array of jobs.
struct DumpedArray {
  std::string job_id{};                        ///< id of the array
  std::string tasks{};                         ///< numbers of its tasks, as `2-9%2`
  std::optional<std::int64_t> most_running{};  ///< most of them that run at once; none: all
};

/// Place of a job in a heterogeneous job, whose parts start together.
struct DumpedPart {
  std::string job_id{};     ///< id of the first part
  std::int64_t offset = 0;  ///< number of the part, from 0
};

/// A job that waits, runs or has just ended. Instants are seconds since 1970.
struct DumpedJob {
  std::string id{};                              ///< unique in the cluster
  std::string name{};                            ///< name that its user gave
  std::string user{};                            ///< user
  std::string account{};                         ///< account
  std::string qos{};                             ///< quality of service
  std::vector<std::string> partitions{};         ///< partitions that it may use
  std::string state{};                           ///< `PENDING`, `RUNNING`, or how it ended
  std::string reason{};                          ///< why it waits, in one word; empty: unknown
  std::string reason_text{};                     ///< the scheduler's longer text, if it has one
  std::int64_t nodes_wanted = 1;                 ///< nodes that it asks for or holds
  std::int64_t cpus = 0;                         ///< CPUs on all nodes
  std::int64_t gpus = 0;                         ///< GPUs on all nodes
  bool tells_gpus = true;                        ///< false: no file has a column of its GPUs
  std::string gpu_type{};                        ///< type that it asks for; empty: any
  std::vector<std::string> nodes{};              ///< nodes that it holds or held
  std::optional<std::int64_t> time_limit_s{};    ///< longest run; none: unlimited or unknown
  std::optional<std::int64_t> submit{};          ///< submission
  std::optional<std::int64_t> eligible{};        ///< from when it may run
  std::optional<std::int64_t> evaluated{};       ///< when the scheduler looked at it last
  std::optional<std::int64_t> elapsed_s{};       ///< time for which it has run, where no start is known
  std::optional<std::int64_t> start{};           ///< start of a job that runs or has run
  std::optional<std::int64_t> start_estimate{};  ///< the scheduler's estimate for one that waits
  std::optional<std::int64_t> end{};             ///< end of one that has ended
  std::optional<std::int64_t> priority{};        ///< priority; 0: held
  std::int64_t nice = 0;                         ///< subtracted from its priority, as its user asked
  std::string dependency{};                      ///< jobs that it waits for, as the scheduler writes them
  std::string reservation{};                     ///< reservation that it must use
  std::string comment{};                         ///< free text of its user
  std::string model{};                           ///< model of a training run that its user names
  std::string kind{};  ///< kind of the Kubernetes object: `Workload`, `Job`, …; empty: a job of Slurm
  std::optional<DumpedArray> array{};
  std::optional<DumpedPart> part{};

  bool is_pending() const { return state == "PENDING"; }
  bool is_running() const { return state == "RUNNING"; }
};

/// A node with its GPUs, all of one type.
struct DumpedNode {
  std::string name{};
  std::string state{};           ///< such as `MIXED` or `IDLE+DRAIN`
  bool takes_jobs = true;        ///< false: down, drained, in maintenance
  std::int64_t cpus = 0;         ///< CPUs
  std::int64_t cpus_in_use = 0;  ///< CPUs that jobs hold
  std::int64_t memory_mb = 0;    ///< memory
  std::string gpu_type{};        ///< empty: unknown, or no GPUs
  std::int64_t gpus = 0;         ///< GPUs
  std::int64_t gpus_in_use = 0;  ///< GPUs that jobs hold
  std::string reason{};          ///< why it takes no jobs
};

/// A partition, or queue, with its limits.
struct DumpedPartition {
  std::string name{};
  std::string state{};                        ///< `UP`, or why it starts no jobs
  std::vector<std::string> nodes{};           ///< its nodes
  std::optional<std::int64_t> most_time_s{};  ///< longest time limit; none: unlimited
  std::optional<std::int64_t> most_nodes{};   ///< most nodes of a job; none: unlimited
  std::int64_t priority_tier = 1;             ///< jobs of higher tiers come first
  std::int64_t priority_factor = 1;           ///< part of the partition in priorities
};

/// Nodes that are kept for some users for some time.
struct DumpedReservation {
  std::string name{};
  std::int64_t start = 0;               ///< first second, since 1970
  std::int64_t end = 0;                 ///< end
  std::vector<std::string> nodes{};     ///< its nodes
  std::vector<std::string> flags{};     ///< such as `MAINT`
  std::vector<std::string> users{};     ///< users that it is for
  std::vector<std::string> accounts{};  ///< accounts that it is for
};

/// The state of a cluster.
struct LiveState {
  std::vector<DumpedJob> jobs{};
  std::vector<DumpedNode> nodes{};
  std::vector<DumpedPartition> partitions{};
  std::vector<DumpedReservation> reservations{};
  std::map<std::string, std::int64_t> priorities{};  ///< by id of a job, as sprio has them
  /// Files by the parameters of the policy `slurm` that name them.
  std::map<std::string, std::string, std::less<>> policy_files{};
  std::map<std::string, std::string, std::less<>> policy_texts{};  ///< their texts, by name of the file
  std::optional<std::int64_t> printed{};  ///< latest time at which a file says that it was written
  TimeZone zone = kUtc;                   ///< zone of times without one
  KubernetesObjects kubernetes{};         ///< objects from which jobs and nodes were made
  /// Omissions and oddities, with their numbers.
  std::map<std::string, std::int64_t, std::less<>> remarks{};

  /// Notes a time at which a file was written.
  void note_time(std::int64_t seconds) {
    if (!printed || *printed < seconds) printed = seconds;
  }
  /// Counts a remark.
  void remark(std::string_view text, std::int64_t count = 1) { remarks[std::string(text)] += count; }
};

}  // namespace vtrain
