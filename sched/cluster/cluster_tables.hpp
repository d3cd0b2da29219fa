/// Clusters from tables of nodes: as published beside traces, as other simulators describe them, or as Slurm
/// prints them. What a table holds is told from its content:
///
/// | table | what it says |
/// |---|---|
/// | openb, `sn,...,gpu,model` | a node a row |
/// | PAI, `machine,gpu_type,cap_cpu,cap_mem,cap_gpu`, also without this header | a node a row |
/// | spot-GPU, `gpu_model,gpu_capacity_num,cpu_num,node_name` | a node a row |
/// | Philly, `machineId,number of GPUs,single GPU mem` | a node a row; the memory stands for the GPU type |
/// | Helios, `date,VC...,total` | GPU quotas of virtual clusters on a day, in nodes of 8 GPUs |
/// | Lucid and QSSF, `,num` or `vc,node num` | nodes of 8 GPUs of each virtual cluster |
/// | Tiresias, Muri, ElasticFlow, `num_switch,num_node_p_switch,num_gpu_p_node,...` | one group of nodes |
/// | Gavel, `{"name": ["36:36:36"]}` | numbers of V100, P100 and K80, each a node of its own |
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

/// Nodes on their way into groups of equal ones, which come out in the order in which their kind was first
/// seen. Nodes without GPU are counted and left out. Errors carry only the message.
class NodeCounter {
 public:
  /// A name of one node, which must not come twice. At most a million nodes have names.
  Result<void> name(std::string_view node);
  /// Whether a name was given before.
  bool knows(std::string_view node) const { return names_.contains(node); }
  /// `num_nodes` equal nodes; `gpu_type` may be empty.
  Result<void> add(std::int64_t num_nodes, std::int64_t gpus_per_node, std::string_view gpu_type);

  /// The cluster, with a note on the nodes left out. An error if no node has a GPU.
  Result<ClusterSpec> finish();

 private:
  ClusterSpec cluster_;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> groups_;  ///< by GPUs and type
  std::set<std::string, std::less<>> names_;
  std::int64_t num_gpus_ = 0;
  std::int64_t num_nodes_ = 0;
  std::int64_t without_gpu_ = 0;
};

/// Reads a table that is no JSON. Virtual clusters are joined into one cluster, which lists them. `part`
/// picks one virtual cluster (by its name), the day of a table of quotas (as 2020-05-01; the last one when
/// empty), or both (`2020-05-01/vcEwI`); other tables have no parts. Nodes without GPU are left out, which
/// the notes say. Rows are errors when they are malformed, or of a node that came before.
Result<ClusterSpec> parse_cluster_table(std::string_view text, const std::string& file,
                                        std::string_view part);

/// An error where a part is asked for of a file that has none.
Result<void> expect_no_part(std::string_view part, const std::string& file);

/// Whether a document has the shape of Gavel's clusters: an object of lists of texts.
bool is_gavel_cluster(const JsonDocument& document);
/// Reads the cluster called `part`, which may be empty where there is only one.
Result<ClusterSpec> parse_gavel_cluster(const JsonDocument& document, std::string_view part);

/// Whether the text is the output of `scontrol show node`, in blocks or (`-o`) one node a line.
bool is_scontrol_output(std::string_view text);
/// Reads it: of each node `NodeName`, and its GPUs from `Gres` or, where that names none, from `CfgTRES`.
Result<ClusterSpec> parse_scontrol_nodes(std::string_view text, const std::string& file);

/// Whether the first line is a header of `sinfo` with nodes: `NODELIST` or `HOSTNAMES`.
bool is_sinfo_output(std::string_view text);
/// Reads it; the columns are separated by blanks or by `|`. It must have `GRES` (`sinfo -o "%N %G %t"`). A
/// node that is in several partitions counts once. A name or a list of resources that may be cut at the width
/// of its column is an error: it fills the column, breaks off, or is a name that two nodes have.
Result<ClusterSpec> parse_sinfo_nodes(std::string_view text, const std::string& file);

/// Whether a document has nodes as `sinfo --json` and `scontrol show node --json` print them.
bool is_slurm_nodes_json(const JsonDocument& document);
/// Reads it, of all versions of Slurm: single nodes, by their names or in a list, with `gres`, `tres` and
/// `state`, or groups of nodes that are alike (`sinfo`), with `nodes.nodes`, `gres.total` and `node.state`.
Result<ClusterSpec> parse_slurm_nodes_json(const JsonDocument& document);

}  // namespace vtrain
