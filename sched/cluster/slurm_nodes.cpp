/// The nodes of a Slurm cluster, from the output of its commands.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/slurm_lists.hpp"
#include "sched/cluster/cluster_tables.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kNodeName = "NodeName=";
constexpr std::string_view kBlanks = " \t\r\n";

/// Takes the next word from the front of `rest`; empty at the end.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

/// The first line that is not blank; empty where there is none.
std::string_view first_line(std::string_view text) {
  LineReader lines(text, {});
  return lines.next().value_or(false) ? lines.line() : std::string_view();
}

/// Whether nodes in this state are not at hand now: `DOWN*`, `IDLE+DRAIN`, `drng`, `fail`, `maint`. A node
/// that saves power (`IDLE+POWERED_DOWN`, `idle~`) is: Slurm starts it for jobs.
bool is_out_of_service(std::string_view state) {
  constexpr std::array<std::string_view, 5> kBeginnings = {"down", "drain", "drng", "fail", "maint"};
  const std::string lower = lower_case(state);
  const std::vector<std::string_view> flags = split(lower, '+');
  return std::any_of(flags.begin(), flags.end(), [&](std::string_view flag) {
    return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [flag](std::string_view beginning) { return flag.starts_with(beginning); });
  });
}

/// The nodes of a Slurm cluster as they come up.
class SlurmNodes {
 public:
  /// A node that may have come up before, in another partition.
  Result<void> add(std::string_view name, const std::vector<SlurmGpus>& gpus, std::string_view state) {
    if (nodes_.knows(name)) return {};
    if (auto named = nodes_.name(name); !named) return named;
    if (!gpus.empty() && is_out_of_service(state)) ++out_of_service_;
    if (gpus.size() > 1) ++mixed_;
    if (gpus.empty()) return nodes_.add(1, 0, "");
    for (const SlurmGpus& part : gpus) {
      if (auto added = nodes_.add(1, part.count, part.type); !added) return added;
    }
    return {};
  }

  Result<ClusterSpec> finish() {
    auto cluster = nodes_.finish();
    if (!cluster) return cluster;
    if (mixed_ > 0)
      cluster->notes.push_back(
          fmt::format("nodes of several GPU types, counted as a node of each: {}", with_thousands(mixed_)));
    if (out_of_service_ > 0)
      cluster->notes.push_back(fmt::format("nodes that are down, drained or in maintenance, counted too: {}",
                                           with_thousands(out_of_service_)));
    return cluster;
  }

 private:
  NodeCounter nodes_;
  std::int64_t mixed_ = 0;
  std::int64_t out_of_service_ = 0;
};

/// What `scontrol` says of one node.
struct NodeText {
  std::int64_t line = 0;
  std::string_view name{};
  std::string_view gres{};
  std::string_view tres{};
  std::string_view state{};
};

Result<void> add_node(SlurmNodes& nodes, const NodeText& node, const std::string& file) {
  const auto place = [&](std::string_view field, Error error) {
    return fail(
        {.file = file, .line = node.line, .field = std::string(field), .message = std::move(error.message)});
  };
  auto gpus = parse_gres(node.gres);
  if (!gpus) return place("Gres", gpus.error());
  if (gpus->empty()) {
    gpus = parse_tres(node.tres);
    if (!gpus) return place("CfgTRES", gpus.error());
  }
  if (auto added = nodes.add(node.name, *gpus, node.state); !added) return place("Gres", added.error());
  return {};
}

/// The fields of a line of `sinfo`.
std::vector<std::string_view> sinfo_fields(std::string_view line) {
  if (line.find('|') != std::string_view::npos) return split(line, '|');
  std::vector<std::string_view> fields;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line))
    fields.push_back(word);
  return fields;
}

int find_field(const std::vector<std::string_view>& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  return found == header.end() ? -1 : static_cast<int>(found - header.begin());
}

}  // namespace

bool is_scontrol_output(std::string_view text) {
  return trim(first_line(text)).starts_with(kNodeName);
}

Result<ClusterSpec> parse_scontrol_nodes(std::string_view text, const std::string& file) {
  SlurmNodes nodes;
  NodeText node;
  LineReader lines(text, file);
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    std::string_view line = lines.line();
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const auto take = [word](std::string_view key, std::string_view& to) {
        if (to.empty() && word.starts_with(key)) to = word.substr(key.size());
      };
      if (word.starts_with(kNodeName)) {
        if (node.line > 0) {
          if (auto added = add_node(nodes, node, file); !added) return fail(std::move(added.error()));
        }
        node = {.line = lines.number(), .name = word.substr(kNodeName.size())};
      }
      take("Gres=", node.gres);
      take("CfgTRES=", node.tres);
      take("State=", node.state);
    }
  }
  if (auto added = add_node(nodes, node, file); !added) return fail(std::move(added.error()));
  auto cluster = nodes.finish();
  if (!cluster) return fail({.file = file, .message = cluster.error().message});
  return cluster;
}

bool is_sinfo_output(std::string_view text) {
  const auto header = sinfo_fields(first_line(text));
  return find_field(header, "NODELIST") >= 0 || find_field(header, "HOSTNAMES") >= 0;
}

Result<ClusterSpec> parse_sinfo_nodes(std::string_view text, const std::string& file) {
  constexpr std::size_t kMostHosts = 100'000;
  LineReader lines(text, file);
  if (const auto more = lines.next(); !more) return fail(more.error());
  const std::vector<std::string_view> header = sinfo_fields(lines.line());
  const int list = std::max(find_field(header, "NODELIST"), find_field(header, "HOSTNAMES"));
  const int gres = find_field(header, "GRES");
  const int state = find_field(header, "STATE");
  if (gres < 0) {
    return fail(
        {.file = file,
         .line = lines.number(),
         .field = "GRES",
         .message =
             "column missing, which says how many GPUs a node has; `sinfo -o \"%N %G %t\"` prints it"});
  }
  SlurmNodes nodes;
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    const auto place = [&](std::string_view field, std::string message) {
      return fail(
          {.file = file, .line = lines.number(), .field = std::string(field), .message = std::move(message)});
    };
    const auto fields = sinfo_fields(lines.line());
    if (fields.size() != header.size())
      return place("", fmt::format("expected {} columns, found {}", header.size(), fields.size()));
    const auto field = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
    const auto gpus = parse_gres(field(gres));
    if (!gpus) return place("GRES", gpus.error().message);
    const auto names = expand_host_list(field(list), kMostHosts);
    if (!names) return place("NODELIST", names.error().message);
    for (const std::string& name : *names) {
      auto added = nodes.add(name, *gpus, state < 0 ? std::string_view() : field(state));
      if (!added) return place("GRES", std::move(added.error().message));
    }
  }
  auto cluster = nodes.finish();
  if (!cluster) return fail({.file = file, .message = cluster.error().message});
  return cluster;
}

}  // namespace vtrain
