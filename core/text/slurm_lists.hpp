/// Lists that Slurm's commands print: resources (gres.conf(5), slurm.conf(5) on TRES) and hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// GPUs of one type; the type is empty if Slurm does not give it.
struct SlurmGpus {
  std::string_view type{};  ///< a view of the list
  std::int64_t count = 0;   ///< above 0

  friend bool operator==(const SlurmGpus&, const SlurmGpus&) = default;
};

/// The GPUs in a list of generic resources, as `gpu:a100:8(S:0-1),gres/gpu:v100=2,shard:16`, each type once,
/// in the order of the list. A missing number means one. The error carries only the message.
Result<std::vector<SlurmGpus>> parse_gres(std::string_view text);
/// GPUs that a job requests in generic resources.
struct SlurmGresRequest {
  std::vector<SlurmGpus> per_job{};   ///< GPUs of the whole job
  std::vector<SlurmGpus> per_node{};  ///< GPUs of each node
  bool has_others = false;            ///< has GPUs for each task or socket
};

/// The GPUs in a list with a scope for each part: `PER_JOB:gpu:8 PER_NODE:gpu:4 PER_TASK:gpu:1`. Parts
/// without a scope count for the whole job. The error carries only the message.
Result<SlurmGresRequest> parse_gres_request(std::string_view text);
/// True if a list of generic or trackable resources has parts of GPUs: `gres/shard=2`, `mps:50`.
bool names_gpu_shares(std::string_view text);

/// The GPUs in a list of trackable resources, as `cpu=128,gres/gpu=8,gres/gpu:a100=8`. The plain entry counts
/// GPUs of all types; its excess over the typed entries is listed last, without a type. The error carries
/// only the message.
Result<std::vector<SlurmGpus>> parse_tres(std::string_view text);

/// True if nodes in this state take no jobs now: `DOWN*`, `IDLE+DRAIN`, `drng`, `fail`, `maint`, `idle*` (it
/// does not answer), `idle$` (in maintenance). A node that saves power (`IDLE+POWERED_DOWN`, `idle~`) takes
/// jobs: Slurm starts it for them.
bool keeps_jobs_away(std::string_view state);

/// The names in a list of hosts, as `login,gpu[001-004,8],rack[1-2]n[1-3]`. At most `most` names. The error
/// carries only the message.
Result<std::vector<std::string>> expand_host_list(std::string_view text, std::size_t most);

}  // namespace vtrain
