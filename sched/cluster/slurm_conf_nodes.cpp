/// The nodes of a Slurm cluster, from the `NodeName` lines of its slurm.conf.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/slurm_conf_lines.hpp"
#include "core/text/slurm_lists.hpp"
#include "sched/cluster/cluster_tables.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMostConfNodes = 100'000;

/// Adds the nodes of a line. `default_gres` is the one of `NodeName=DEFAULT` lines before it.
Result<void> add_conf_nodes(NodeCounter& nodes, const SlurmConfLine& line, std::string& default_gres,
                            const std::string& file) {
  const auto place = [&](std::string_view field, Error error) {
    return fail(
        {.file = file, .line = line.line, .field = std::string(field), .message = std::move(error.message)});
  };
  const std::string* const given = line.find("Gres");
  const std::string gres = given != nullptr ? *given : default_gres;
  const std::string& list = line.entries.front().value;
  if (equal_in_any_case(list, "DEFAULT")) {
    default_gres = gres;
    return {};
  }
  const auto gpus = parse_gres(gres);
  if (!gpus) return place("Gres", gpus.error());
  const auto names = expand_host_list(list, kMostConfNodes);
  if (!names) return place("NodeName", names.error());
  for (const std::string& name : *names) {
    if (auto named = nodes.name(name); !named) return place("NodeName", std::move(named.error()));
    if (gpus->empty()) {
      if (auto added = nodes.add(1, 0, ""); !added) return place("Gres", std::move(added.error()));
    }
    for (const SlurmGpus& part : *gpus) {
      if (auto added = nodes.add(1, part.count, part.type); !added)
        return place("Gres", std::move(added.error()));
    }
  }
  return {};
}

}  // namespace

bool is_slurm_conf(std::string_view text) {
  LineReader lines(text, {});
  constexpr int kMostLines = 1000;
  for (int i = 0; i < kMostLines; ++i) {
    if (!lines.next().value_or(false)) return false;
    const std::string line = lower_case(trim(lines.line()).substr(0, 20));
    for (const std::string_view key :
         {"clustername=", "slurmctldhost=", "controlmachine=", "partitionname="}) {
      if (line.starts_with(key)) return true;
    }
  }
  return false;
}

Result<ClusterSpec> parse_slurm_conf_nodes(std::string_view text, const std::string& file) {
  const auto lines = read_slurm_conf_lines(text, file);
  if (!lines) return fail(lines.error());
  NodeCounter nodes;
  std::string default_gres;
  for (const SlurmConfLine& line : *lines) {
    if (!equal_in_any_case(line.entries.front().key, "NodeName")) continue;
    if (auto added = add_conf_nodes(nodes, line, default_gres, file); !added)
      return fail(std::move(added.error()));
  }
  auto cluster = nodes.finish();
  if (!cluster) cluster.error().file = file;
  return cluster;
}

}  // namespace vtrain
