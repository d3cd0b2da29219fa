#include "sched/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "sched/cluster/cluster_tables.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kShape =
    "NODESxGPUS[:TYPE] joined by '+' (as in 16x8:a100), or the name of a file with a cluster";

Error cluster_error(std::string message) {
  return {.kind = ErrorKind::InvalidInput, .field = "cluster", .message = std::move(message)};
}

Result<NodeGroup> parse_group(std::string_view text) {
  const auto [shape, gpu_type] = split_once(text, ':');
  const auto [nodes, gpus] = split_once(shape, shape.find('x') == std::string_view::npos ? 'X' : 'x');
  if (!gpus) return fail(cluster_error(expected_found(kShape, text)));
  const auto num_nodes = parse_integer(nodes, 1, kMaxClusterGpus);
  if (!num_nodes)
    return fail(
        cluster_error("number of nodes in '" + std::string(text) + "': " + num_nodes.error().message));
  const auto num_gpus = parse_integer(*gpus, 1, kMaxClusterGpus);
  if (!num_gpus)
    return fail(cluster_error("GPUs per node in '" + std::string(text) + "': " + num_gpus.error().message));
  NodeGroup group{static_cast<std::int32_t>(*num_nodes), GpuCount(static_cast<std::int32_t>(*num_gpus)), {}};
  if (gpu_type) {
    group.gpu_type = *gpu_type;
    if (!is_gpu_type_name(group.gpu_type))
      return fail(
          cluster_error(expected_found("a GPU type of letters, digits, '-', '_' and '.'", group.gpu_type)));
  }
  return group;
}

Result<ClusterSpec> parse_short_form(std::string_view text) {
  ClusterSpec cluster;
  for (const std::string_view part : split(text, '+')) {
    auto group = parse_group(part);
    if (!group) return fail(group.error());
    cluster.groups.push_back(*std::move(group));
  }
  return cluster;
}

Result<ClusterSpec> read_groups(const JsonDocument& document) {
  JsonFields top(document, document.root());
  top.allow_only(std::array<std::string_view, 1>{"groups"});
  if (top.error()) return fail(*top.error());
  const nlohmann::json& root = document.root();
  const auto groups = root.find("groups");
  if (groups == root.end() || !groups->is_array() || groups->empty())
    return fail(document.error_at(root, "groups", "expected a list of at least one group of nodes"));
  ClusterSpec cluster;
  for (const nlohmann::json& item : *groups) {
    JsonFields fields(document, item);
    fields.allow_only(std::array<std::string_view, 5>{"num_nodes", "gpus_per_node", "gpu_type",
                                                      "gpus_per_island", "nodes_per_rack"});
    NodeGroup group;
    group.num_nodes = static_cast<std::int32_t>(fields.integer("num_nodes", 1, kMaxClusterGpus));
    group.gpus_per_node =
        GpuCount(static_cast<std::int32_t>(fields.integer("gpus_per_node", 1, kMaxClusterGpus)));
    group.gpu_type = fields.string_or("gpu_type", "");
    if (!group.gpu_type.empty() && !is_gpu_type_name(group.gpu_type))
      fields.complain("gpu_type", expected_found("letters, digits, '-', '_' and '.'", group.gpu_type));
    group.gpus_per_island =
        GpuCount(static_cast<std::int32_t>(fields.integer_or("gpus_per_island", 1, kMaxClusterGpus, 0)));
    group.nodes_per_rack =
        static_cast<std::int32_t>(fields.integer_or("nodes_per_rack", 1, kMaxClusterGpus, 0));
    if (group.gpus_per_island.value > 0 && group.gpus_per_node.value % group.gpus_per_island.value != 0)
      fields.complain("gpus_per_island",
                      expected_found(fmt::format("a divisor of gpus_per_node, {}", group.gpus_per_node.value),
                                     std::to_string(group.gpus_per_island.value)));
    if (fields.error()) return fail(*fields.error());
    cluster.groups.push_back(std::move(group));
  }
  return cluster;
}

/// A file, and its requested part.
struct ClusterFile {
  std::string path;
  std::string part{};
};

/// Splits a `text` that is not the short form: `FILE`, or `FILE@PART` if no file has the whole name.
std::optional<ClusterFile> find_cluster_file(const std::string& text) {
  std::error_code ignored;
  // Any existing path but a folder, also a pipe: reading it decides.
  const auto is_there = [&ignored](const std::string& path) {
    return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
  };
  if (text == "-" || is_there(text)) return ClusterFile{text};
  const std::size_t sign = text.rfind('@');
  if (sign != std::string::npos && is_there(text.substr(0, sign)))
    return ClusterFile{text.substr(0, sign), text.substr(sign + 1)};
  constexpr std::array<std::string_view, 5> kSuffixes = {".json", ".csv", ".gz", ".zst", ".txt"};
  const bool looks_like_file = text.find('/') != std::string::npos ||
                               std::any_of(kSuffixes.begin(), kSuffixes.end(),
                                           [&](std::string_view suffix) { return text.ends_with(suffix); });
  return looks_like_file ? std::optional(ClusterFile{text}) : std::nullopt;
}

Result<ClusterSpec> read_cluster_file(const ClusterFile& file) {
  auto text = read_file(file.path, InputKind::Cluster);
  if (!text) return fail(text.error());
  const std::string_view begin = trim(std::string_view(*text).substr(0, 4096));
  const bool json = file.path.ends_with(".json") || begin.starts_with('{') || begin.starts_with('[');
  if (!json) return parse_cluster_table(*text, file.path, file.part);
  const auto document = JsonDocument::parse(*std::move(text), file.path);
  if (!document) return fail(document.error());
  if (is_gavel_cluster(*document)) return parse_gavel_cluster(*document, file.part);
  if (auto no_part = expect_no_part(file.part, file.path); !no_part) return fail(std::move(no_part.error()));
  return is_slurm_nodes_json(*document) ? parse_slurm_nodes_json(*document) : read_groups(*document);
}

/// Sum that is exact even if `total_gpus` would overflow.
std::int64_t count_gpus(const ClusterSpec& cluster) {
  return std::accumulate(cluster.groups.begin(), cluster.groups.end(), std::int64_t{0},
                         [](std::int64_t sum, const NodeGroup& group) {
                           return std::min(sum + std::int64_t{group.num_nodes} * group.gpus_per_node.value,
                                           2 * kMaxClusterGpus);
                         });
}

}  // namespace

bool is_gpu_type_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool same_nodes(const NodeGroup& a, const NodeGroup& b) {
  const auto island = [](const NodeGroup& group) {
    return group.gpus_per_island.value == 0 ? group.gpus_per_node : group.gpus_per_island;
  };
  return equal_in_any_case(a.gpu_type, b.gpu_type) && a.gpus_per_node == b.gpus_per_node &&
         island(a) == island(b);
}

Result<ClusterSpec> ClusterSpec::parse(const std::string& text) {
  auto cluster = parse_short_form(trim(text));
  if (!cluster) {
    if (const auto file = find_cluster_file(text)) {
      cluster = read_cluster_file(*file);
      if (cluster) cluster->file = file->path;
    }
  }
  if (!cluster) return cluster;
  if (count_gpus(*cluster) > kMaxClusterGpus)
    return fail(
        cluster_error(expected_found(fmt::format("at most {} GPUs", with_thousands(kMaxClusterGpus)), text)));
  return cluster;
}

GpuCount ClusterSpec::total_gpus() const {
  return GpuCount(static_cast<std::int32_t>(count_gpus(*this)));
}

std::int32_t ClusterSpec::total_nodes() const {
  return std::accumulate(groups.begin(), groups.end(), 0,
                         [](std::int32_t sum, const NodeGroup& group) { return sum + group.num_nodes; });
}

std::vector<GpuCount> ClusterSpec::gpus_by_node() const {
  std::vector<GpuCount> gpus;
  for (const NodeGroup& group : groups)
    gpus.insert(gpus.end(), static_cast<std::size_t>(group.num_nodes), group.gpus_per_node);
  return gpus;
}

std::string ClusterSpec::describe() const {
  std::string text;
  for (const NodeGroup& group : groups) {
    const std::string type = upper_case(group.gpu_type);
    text += fmt::format("{}{} x {}{}{}", text.empty() ? "" : " + ", with_thousands(group.num_nodes),
                        with_thousands(group.gpus_per_node.value), type.empty() ? "" : " ", type);
  }
  return text +
         fmt::format(", {} GPU{}", with_thousands(count_gpus(*this)), count_gpus(*this) == 1 ? "" : "s");
}

}  // namespace vtrain
