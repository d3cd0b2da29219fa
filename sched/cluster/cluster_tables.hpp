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
/// | `scontrol show node`, `sinfo -o "%N %G %t"` | the nodes of a Slurm cluster (`sched/cluster/slurm_nodes.hpp`) |
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {

class JsonDocument;

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

}  // namespace vtrain
