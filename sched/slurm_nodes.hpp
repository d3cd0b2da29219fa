/// The nodes of a Slurm cluster, from what its commands print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "sched/cluster.hpp"

namespace vtrain {

/// Whether the text is the output of `scontrol show node`, in blocks or (`-o`) one node a line.
bool is_scontrol_output(std::string_view text);
/// Reads it: of each node `NodeName`, and its GPUs from `Gres` or, where that names none, from `CfgTRES`.
Result<ClusterSpec> parse_scontrol_nodes(std::string_view text, const std::string& file);

/// Whether the first line is a header of `sinfo` with nodes: `NODELIST` or `HOSTNAMES`.
bool is_sinfo_output(std::string_view text);
/// Reads it; the columns are separated by blanks or by `|`. It must have `GRES` (`sinfo -o "%N %G %t"`). A
/// node that is in several partitions counts once.
Result<ClusterSpec> parse_sinfo_nodes(std::string_view text, const std::string& file);

/// GPUs of one type, which is empty where Slurm does not say it.
struct SlurmGpus {
  std::string type{};
  std::int64_t count = 0;

  friend bool operator==(const SlurmGpus&, const SlurmGpus&) = default;
};
/// The GPUs in a list of generic resources, as `gpu:a100:8(S:0-1),shard:16`. The error carries only the
/// message.
Result<std::vector<SlurmGpus>> parse_gres(std::string_view text);
/// The GPUs in a list of trackable resources, as `cpu=128,gres/gpu=8,gres/gpu:a100=8`: the typed ones where
/// there are any.
Result<std::vector<SlurmGpus>> parse_tres(std::string_view text);

/// The names in a list of hosts, as `login,gpu[001-004,8],rack[1-2]n[1-3]`. At most `most` names.
Result<std::vector<std::string>> expand_host_list(std::string_view text, std::size_t most);

}  // namespace vtrain
