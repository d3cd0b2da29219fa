#include <cstdint>
#include <cstdlib>

#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "sched/cluster/cluster_tables.hpp"

/// Checks that any bytes give an error that can be shown, or a cluster within its limits whose groups differ.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = vtrain::JsonDocument::parse(std::string(text), "input");
  const auto cluster = !document                             ? vtrain::parse_cluster_table(text, "input", "")
                       : vtrain::is_gavel_cluster(*document) ? vtrain::parse_gavel_cluster(*document, "")
                       : vtrain::is_slurm_nodes_json(*document)
                           ? vtrain::parse_slurm_nodes_json(*document)
                           : vtrain::parse_cluster_table(text, "input", "");
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  if (!cluster) {
    require(!cluster.error().message.empty() && vtrain::is_printable(cluster.error().describe()));
    return 0;
  }
  require(!cluster->groups.empty() && cluster->total_nodes() > 0 &&
          vtrain::is_printable(cluster->describe()));
  for (const vtrain::NodeGroup& group : cluster->groups)
    require(group.num_nodes > 0 && group.gpus_per_node.value > 0);
  return 0;
}
