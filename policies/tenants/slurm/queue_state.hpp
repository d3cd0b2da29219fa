/// A queue at one instant, from the files that Slurm's commands write into a folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/priority.hpp"

namespace vtrain::slurm {

/// A job of the queue.
struct QueuedJob {
  std::string id{};                        ///< `JobId`, or `ArrayJobId_ArrayTaskId`
  std::string user{};                      ///< name of its user
  std::string account{};                   ///< account
  std::string qos{};                       ///< QOS
  std::vector<std::string> partitions{};   ///< one or several
  PriorityRequest request{};               ///< without age, fair share and partition
  std::int64_t submit = 0;                 ///< seconds since 1970, local time taken as UTC
  std::optional<std::int64_t> eligible{};  ///< from when it may run; none: unknown
  std::optional<std::int64_t> accrue{};    ///< from when its age counts; none: unknown
  bool is_held = false;                    ///< held by its user or an operator
  bool is_running = false;                 ///< runs; otherwise it waits
  std::int64_t line = 0;                   ///< line of the file
};

/// Reads waiting and running jobs from `scontrol show job -o`. Errors: a job without one of its fields, a
/// field that is no number, time or list.
Result<std::vector<QueuedJob>> parse_queue(std::string_view text, const std::string& file, TresNames& names);

/// The priority of a job in one of its partitions.
struct JobPriority {
  std::string job{};          ///< id
  std::string partition{};    ///< partition of this row
  std::string user{};         ///< user
  std::string account{};      ///< account
  std::string qos{};          ///< QOS
  PriorityFactors factors{};  ///< factors
  std::int64_t nice = 0;      ///< subtracted
  std::int64_t priority = 0;  ///< weighted sum
};

/// Priorities of a queue.
struct QueuePriorities {
  std::int64_t calculated_at = 0;   ///< seconds since 1970
  std::vector<JobPriority> rows{};  ///< in the order of the queue; a row for each partition of a job
  PriorityConf conf{};              ///< weights
  TresNames names{};                ///< names of resources
  std::map<std::string, std::int64_t> ignored{};  ///< keys of slurm.conf without effect
};

/// Reads a folder with `slurm.conf`, `qos.txt` (`sacctmgr -P show qos`), `jobs.txt` (`scontrol show job -o`),
/// the tree in `associations-dump.cfg` (`sacctmgr dump`) or `assoc.txt` (`sacctmgr -P show assoc`), usage in
/// `controller-associations.txt` (`scontrol show assoc_mgr flags=assoc`) or `sshare.txt` (`sshare -alP`), and
/// the instant in `instant.json`: `{"calculated_at": ["2026-11-25T09:16:18"], "dumped_at": 1795598179}`.
/// `ignore` has keys of slurm.conf to go on without. Errors: a job of an unknown account, partition or QOS,
/// and those of the files.
Result<QueuePriorities> read_queue_priorities(const std::string& folder,
                                              std::span<const std::string_view> ignore);

}  // namespace vtrain::slurm
