/// The nodes of a Slurm cluster, from what its commands print.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"

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

}  // namespace vtrain
