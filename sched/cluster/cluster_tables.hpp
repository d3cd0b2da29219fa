/// Clusters from tables of nodes: published with traces, in the formats of other simulators, or as Slurm
/// prints them. The content of a file decides its format:
///
/// | table | content |
/// |---|---|
/// | openb, `sn,...,gpu,model` | a node per row |
/// | PAI, `machine,gpu_type,cap_cpu,cap_mem,cap_gpu`, also without this header | a node per row |
/// | spot-GPU, `gpu_model,gpu_capacity_num,cpu_num,node_name` | a node per row |
/// | Philly, `machineId,number of GPUs,single GPU mem` | a node per row; the memory is used as the GPU type |
/// | Helios, `date,VC...,total` | GPU quotas of virtual clusters on a day, in nodes of 8 GPUs |
/// | Lucid and QSSF, `,num` or `vc,node num` | nodes of 8 GPUs of each virtual cluster |
/// | Tiresias, Muri, ElasticFlow, `num_switch,num_node_p_switch,num_gpu_p_node,...` | one group of nodes |
/// | Gavel, `{"name": ["36:36:36"]}` | numbers of V100, P100 and K80, each a node of its own |
/// | `slurm.conf` | the nodes of its `NodeName` lines |
/// | `scontrol show node`, `sinfo -o "%N %G %t"`, also with `--json` | the nodes of a Slurm cluster |
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {

class JsonDocument;

/// Collects nodes into groups of equal ones, in the order in which each kind was first seen. Nodes without
/// GPU are counted and left out. Errors carry only the message.
class NodeCounter {
 public:
  /// Adds the name of one node, which must not come twice. At most a million nodes may have names.
  Result<void> name(std::string_view node);
  /// True if a name was added before.
  bool knows(std::string_view node) const { return names_.contains(node); }
  /// Adds `num_nodes` equal nodes; `gpu_type` may be empty.
  Result<void> add(std::int64_t num_nodes, std::int64_t gpus_per_node, std::string_view gpu_type);

  /// Returns the cluster, with a note on the nodes left out. An error if no node has a GPU.
  Result<ClusterSpec> finish();

 private:
  ClusterSpec cluster_;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> groups_;  ///< group by GPUs per node and type
  std::set<std::string, std::less<>> names_;
  std::int64_t num_gpus_ = 0;
  std::int64_t num_nodes_ = 0;
  std::int64_t without_gpu_ = 0;
};

/// Reads a table that is not JSON. Virtual clusters are joined into one cluster, which lists them. `part`
/// selects a virtual cluster by name, the day of a table of quotas (as 2020-05-01; empty: the last one), or
/// both (`2020-05-01/vcEwI`). Other tables have no parts. Nodes without GPU are left out, with a note.
/// Errors: malformed rows, a repeated node.
Result<ClusterSpec> parse_cluster_table(std::string_view text, const std::string& file,
                                        std::string_view part);

/// Returns an error if a part is requested of a file without parts.
Result<void> expect_no_part(std::string_view part, const std::string& file);

/// True if a document has the shape of Gavel's clusters: an object of lists of texts.
bool is_gavel_cluster(const JsonDocument& document);
/// Reads the cluster named `part`, which may be empty if there is only one.
Result<ClusterSpec> parse_gavel_cluster(const JsonDocument& document, std::string_view part);

/// True if the text is a slurm.conf: among its first lines is one that names the cluster, its controller or a
/// partition.
bool is_slurm_conf(std::string_view text);
/// Reads its `NodeName` lines: GPUs from `Gres`.
Result<ClusterSpec> parse_slurm_conf_nodes(std::string_view text, const std::string& file);

/// True if the text is the output of `scontrol show node`, in blocks or (`-o`) one node per line.
bool is_scontrol_output(std::string_view text);
/// Reads that output: each node's `NodeName`, and its GPUs from `Gres` or, if that names none, from
/// `CfgTRES`.
Result<ClusterSpec> parse_scontrol_nodes(std::string_view text, const std::string& file);

/// True if the first line is a header of `sinfo` with nodes: `NODELIST` or `HOSTNAMES`.
bool is_sinfo_output(std::string_view text);
/// Reads that output, with columns separated by blanks or by `|`. `GRES` is required (`sinfo -o "%N %G %t"`).
/// A node in several partitions counts once. A name or list of resources that may be cut at the width of its
/// column is an error: it fills the column, ends abruptly, or is a name that two nodes have.
Result<ClusterSpec> parse_sinfo_nodes(std::string_view text, const std::string& file);

/// True if a document has nodes as `sinfo --json` and `scontrol show node --json` print them.
bool is_slurm_nodes_json(const JsonDocument& document);
/// Reads such a document, of all versions of Slurm. It has single nodes, by name or in a list, with `gres`,
/// `tres` and `state`, or groups of equal nodes (`sinfo`), with `nodes.nodes`, `gres.total` and `node.state`.
Result<ClusterSpec> parse_slurm_nodes_json(const JsonDocument& document);

}  // namespace vtrain
