#include "sched/cluster/cluster_tables.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/calendar.hpp"

namespace vtrain {
namespace {

/// GPUs per node in tables that count only nodes or quotas: those of Helios and Philly have 8.
constexpr std::int64_t kGpusPerNode = 8;

/// Columns of a table of nodes. An empty name: the table has no such column.
struct NodeColumns {
  std::string_view name{};           ///< name of one node, which must be unique
  std::string_view num_nodes{};      ///< nodes of a row; without it a row is one node
  std::string_view num_groups{};     ///< factor of the number of nodes
  std::string_view gpus_per_node{};  ///< GPUs of a node; without it `kGpusPerNode`
  std::string_view gpu_type{};
  /// True if the table has only two columns: the name of a virtual cluster, and `num_nodes`.
  bool of_virtual_clusters = false;
  std::string_view note{};  ///< information that the table lacks
};

constexpr std::string_view kJoined =
    "virtual clusters are joined into one cluster that every tenant may use: no policy enforces their quotas "
    "(FILE@NAME takes one)";

constexpr std::array kNodeTables = std::to_array<NodeColumns>({
    {.name = "sn", .gpus_per_node = "gpu", .gpu_type = "model"},
    {.name = "machine", .gpus_per_node = "cap_gpu", .gpu_type = "gpu_type"},
    {.name = "node_name", .gpus_per_node = "gpu_capacity_num", .gpu_type = "gpu_model"},
    {.name = "machineId",
     .gpus_per_node = "number of GPUs",
     .gpu_type = "single GPU mem",
     .note = "GPU memory is used as GPU type"},
    {.num_nodes = "num_node_p_switch", .num_groups = "num_switch", .gpus_per_node = "num_gpu_p_node"},
    {.num_nodes = "node num", .of_virtual_clusters = true},
    {.num_nodes = "num", .of_virtual_clusters = true},
});

/// Columns of PAI's table of machines, which is published without a header.
constexpr std::array<std::string_view, 5> kPaiColumns = {"machine", "gpu_type", "cap_cpu", "cap_mem",
                                                         "cap_gpu"};

/// Adds the place to an error that carries only the message.
Error at(Error error, const CsvReader& rows, const std::string& file) {
  error.file = file;
  error.line = rows.line();
  return error;
}

/// Columns of a table whose header has them all; otherwise none.
const NodeColumns* find_node_table(const CsvReader& rows) {
  const auto has = [&](std::string_view name) { return name.empty() || rows.find_column(name) >= 0; };
  const auto found = std::find_if(kNodeTables.begin(), kNodeTables.end(), [&](const NodeColumns& table) {
    return has(table.name) && has(table.num_nodes) && has(table.num_groups) && has(table.gpus_per_node) &&
           has(table.gpu_type) && (!table.of_virtual_clusters || rows.columns().size() == 2);
  });
  return found == kNodeTables.end() ? nullptr : &*found;
}

/// The requested part of a table, as written after `@`.
struct TablePart {
  std::optional<std::chrono::year_month_day> day{};
  std::string_view virtual_cluster{};  ///< empty: all
};

/// Reads `2020-05-01`, `vcEwI` or `2020-05-01/vcEwI`.
TablePart parse_part(std::string_view text) {
  const auto [date, virtual_cluster] = split_once(text, '/');
  if (const auto day = parse_date(date)) return {*day, virtual_cluster.value_or("")};
  return {std::nullopt, text};
}

/// The cluster of 8-GPU nodes of all virtual clusters, or of the requested one.
Result<ClusterSpec> join_virtual_clusters(std::vector<VirtualCluster> all, std::string_view wanted,
                                          const std::string& file) {
  std::int64_t num_gpus = 0;
  std::vector<std::string_view> names;
  for (const VirtualCluster& each : all) {
    if (wanted.empty() || each.name == wanted) num_gpus += each.num_gpus;
    names.push_back(each.name);
  }
  if (!wanted.empty() && std::find(names.begin(), names.end(), wanted) == names.end()) {
    const std::string_view nearest = nearest_name(wanted, names);
    return fail(
        {.kind = ErrorKind::NotFound,
         .file = file,
         .message = expected_found(fmt::format("behind '@' one of the {} virtual clusters{}", names.size(),
                                               nearest.empty() ? "" : fmt::format(", maybe {}", nearest)),
                                   wanted)});
  }
  NodeCounter nodes;
  if (auto added = nodes.add(num_gpus / kGpusPerNode, kGpusPerNode, ""); !added) {
    return fail({.file = file, .message = added.error().message});
  }
  auto cluster = nodes.finish();
  if (!cluster) return fail({.file = file, .message = cluster.error().message});
  if (wanted.empty()) {
    cluster->notes.emplace_back(kJoined);
    cluster->virtual_clusters = std::move(all);
  } else {
    cluster->notes.push_back(fmt::format("the virtual cluster {} alone, of {}", wanted, names.size()));
  }
  return cluster;
}

/// Reads a table of virtual clusters with their numbers of nodes.
Result<ClusterSpec> read_virtual_clusters(CsvReader& rows, int num_nodes, const std::string& file,
                                          std::string_view part) {
  constexpr std::size_t kMostClusters = 100'000;
  const int name = 1 - num_nodes;
  std::vector<VirtualCluster> all;
  std::set<std::string, std::less<>> names;
  for (;;) {
    auto more = rows.next();
    if (!more) return fail(std::move(more.error()));
    if (!*more) break;
    const auto count = rows.integer(num_nodes, 0, kMaxClusterGpus);
    if (!count) return fail(count.error());
    if (!is_plain_text(rows.field(name)) || !names.emplace(rows.field(name)).second ||
        names.size() > kMostClusters) {
      return fail(
          rows.error_at(name, expected_found("a virtual cluster of its own in each row, at most 100,000",
                                             printable(rows.field(name)))));
    }
    all.push_back({std::string(rows.field(name)), *count * kGpusPerNode});
  }
  return join_virtual_clusters(std::move(all), part, file);
}

Result<ClusterSpec> read_nodes(CsvReader& rows, const NodeColumns& table, const std::string& file) {
  const auto position = [&](std::string_view name) { return name.empty() ? -1 : rows.find_column(name); };
  const auto count = [&](int column, std::int64_t absent) -> Result<std::int64_t> {
    return column < 0 ? absent : rows.integer(column, 0, kMaxClusterGpus);
  };
  const int name = position(table.name);
  const int num_nodes = position(table.num_nodes);
  const int num_groups = position(table.num_groups);
  const int gpus_per_node = position(table.gpus_per_node);
  const int gpu_type = position(table.gpu_type);
  NodeCounter nodes;
  for (;;) {
    auto more = rows.next();
    if (!more) return fail(std::move(more.error()));
    if (!*more) break;
    const auto nodes_of_group = count(num_nodes, 1);
    const auto groups = count(num_groups, 1);
    const auto gpus = count(gpus_per_node, kGpusPerNode);
    for (const auto* value : {&nodes_of_group, &groups, &gpus}) {
      if (!*value) return fail(value->error());
    }
    if (name >= 0) {
      if (auto named = nodes.name(rows.field(name)); !named) return fail(at(named.error(), rows, file));
    }
    const std::string_view type = gpu_type < 0 ? std::string_view() : trim(rows.field(gpu_type));
    if (auto added = nodes.add(*nodes_of_group * *groups, *gpus, type); !added) {
      return fail(at(added.error(), rows, file));
    }
  }
  auto cluster = nodes.finish();
  if (!cluster) return fail({.file = file, .message = cluster.error().message});
  if (!table.note.empty()) cluster->notes.emplace_back(table.note);
  return cluster;
}

/// Quotas of the present row: all columns except the date and the total. They must add up to the total and be
/// whole nodes.
Result<std::vector<VirtualCluster>> quotas_of_row(const CsvReader& rows, int date, int total) {
  std::vector<VirtualCluster> all;
  std::int64_t sum = 0;
  for (int column = 0; column < static_cast<int>(rows.columns().size()); ++column) {
    if (column == date || column == total) continue;
    const auto quota = rows.integer(column, 0, kMaxClusterGpus);
    if (!quota) return fail(quota.error());
    if (*quota % kGpusPerNode != 0)
      return fail(rows.error_at(column, expected_found("whole nodes of 8 GPUs", rows.field(column))));
    all.push_back({std::string(rows.columns()[static_cast<std::size_t>(column)]), *quota});
    sum += *quota;
  }
  const auto said = rows.integer(total, 0, kMaxClusterGpus);
  if (!said) return fail(said.error());
  if (*said != sum)
    return fail(rows.error_at(
        total, expected_found(fmt::format("the sum of the quotas, {}", sum), rows.field(total))));
  return all;
}

/// Row of a day, or the last row, of a table of quotas.
Result<ClusterSpec> read_quotas(CsvReader& rows, const std::string& file, std::string_view part) {
  const int date = rows.find_column("date");
  const int total = rows.find_column("total");
  const TablePart wanted = parse_part(part);
  std::optional<std::chrono::year_month_day> chosen;
  std::vector<VirtualCluster> quotas;
  std::int64_t num_days = 0;
  for (;;) {
    auto more = rows.next();
    if (!more) return fail(std::move(more.error()));
    if (!*more) break;
    ++num_days;
    auto of_day = parse_date(rows.field(date));
    if (!of_day) return fail(rows.error_at(date, std::move(of_day.error().message)));
    if (wanted.day ? *of_day != *wanted.day : chosen && *of_day < *chosen) continue;
    chosen = *of_day;
    auto of_row = quotas_of_row(rows, date, total);
    if (!of_row) return fail(std::move(of_row.error()));
    quotas = *std::move(of_row);
  }
  if (!chosen) {
    return fail({.kind = ErrorKind::NotFound,
                 .file = file,
                 .message = wanted.day
                                ? expected_found(fmt::format("one of the table's {} days", num_days), part)
                                : "expected at least one day, found none"});
  }
  auto cluster = join_virtual_clusters(std::move(quotas), wanted.virtual_cluster, file);
  if (!cluster) return cluster;
  cluster->notes.insert(
      cluster->notes.begin(),
      fmt::format("GPU quotas of {}-{:02}-{:02}, of {} days in the table (FILE@YYYY-MM-DD for another)",
                  static_cast<int>(chosen->year()), static_cast<unsigned>(chosen->month()),
                  static_cast<unsigned>(chosen->day()), num_days));
  return cluster;
}

/// True if the first line can be a row of PAI's table of machines.
bool is_pai_row(const CsvReader& first_line) {
  const auto& fields = first_line.columns();
  return fields.size() == kPaiColumns.size() && parse_number(fields[2], 0, 1e9) &&
         parse_number(fields[3], 0, 1e9) && parse_integer(fields[4], 0, kMaxClusterGpus);
}

Result<ClusterSpec> read_csv(std::string_view text, const std::string& file, std::string_view part) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  if (rows->find_column("date") >= 0 && rows->find_column("total") >= 0)
    return read_quotas(*rows, file, part);
  if (is_pai_row(*rows)) {
    *rows = CsvReader::open_without_header(text, file, kPaiColumns);
  }
  const NodeColumns* const table = find_node_table(*rows);
  if (table != nullptr && table->of_virtual_clusters)
    return read_virtual_clusters(*rows, rows->find_column(table->num_nodes), file, part);
  if (auto no_part = expect_no_part(part, file); !no_part) return fail(std::move(no_part.error()));
  if (table != nullptr) return read_nodes(*rows, *table, file);
  const std::string_view first_line = text.substr(0, text.find('\n'));
  return fail({.file = file,
               .line = 1,
               .message = expected_found(
                   "a cluster: JSON with \"groups\" of nodes, a table of nodes of a published "
                   "trace or simulator, or what `sinfo -o \"%N %G %t\"` or `scontrol show node` print",
                   first_line)});
}

}  // namespace

Result<void> NodeCounter::name(std::string_view node) {
  constexpr std::size_t kMostNames = 1'000'000;
  if (names_.size() == kMostNames) {
    return fail(
        {.message = fmt::format("expected at most {} nodes, found more", with_thousands(kMostNames))});
  }
  if (!names_.emplace(node).second) {
    return fail({.message = expected_found("a node of its own in each row", node)});
  }
  return {};
}

Result<void> NodeCounter::add(std::int64_t num_nodes, std::int64_t gpus_per_node, std::string_view gpu_type) {
  num_nodes_ += num_nodes;
  // Neither factor exceeds the limit, so that the product stays within 64 bits.
  if (num_nodes > kMaxClusterGpus || gpus_per_node > kMaxClusterGpus || num_nodes_ > kMaxClusterGpus ||
      num_nodes * gpus_per_node > kMaxClusterGpus - num_gpus_) {
    return fail({.message = fmt::format("expected at most {} nodes and GPUs in all, found more",
                                        with_thousands(kMaxClusterGpus))});
  }
  if (num_nodes == 0) return {};
  if (gpus_per_node == 0) {
    without_gpu_ += num_nodes;
    return {};
  }
  if (!gpu_type.empty() && !is_gpu_type_name(gpu_type)) {
    return fail({.message = expected_found("a GPU type of letters, digits, '-', '_' and '.'", gpu_type)});
  }
  num_gpus_ += num_nodes * gpus_per_node;
  const auto [group, is_new] =
      groups_.try_emplace({gpus_per_node, std::string(gpu_type)}, cluster_.groups.size());
  if (is_new) {
    cluster_.groups.push_back({.num_nodes = 0,
                               .gpus_per_node = GpuCount(static_cast<std::int32_t>(gpus_per_node)),
                               .gpu_type = std::string(gpu_type)});
  }
  cluster_.groups[group->second].num_nodes += static_cast<std::int32_t>(num_nodes);
  return {};
}

Result<ClusterSpec> NodeCounter::finish() {
  if (cluster_.groups.empty()) return fail({.message = "expected at least one node with GPUs, found none"});
  if (without_gpu_ > 0)
    cluster_.notes.push_back(fmt::format("nodes without GPU, left out: {}", with_thousands(without_gpu_)));
  return std::move(cluster_);
}

Result<void> expect_no_part(std::string_view part, const std::string& file) {
  if (part.empty()) return {};
  return fail({.file = file, .message = expected_found("no part behind '@', for this table has none", part)});
}

bool is_gavel_cluster(const JsonDocument& document) {
  const nlohmann::json& root = document.root();
  const auto is_list_of_texts = [](const nlohmann::json& value) {
    return value.is_array() && !value.empty() &&
           std::all_of(value.begin(), value.end(),
                       [](const nlohmann::json& each) { return each.is_string(); });
  };
  return root.is_object() && !root.empty() && std::all_of(root.begin(), root.end(), is_list_of_texts);
}

Result<ClusterSpec> parse_gavel_cluster(const JsonDocument& document, std::string_view name) {
  constexpr std::array<std::string_view, 3> kTypes = {"v100", "p100", "k80"};
  const nlohmann::json& root = document.root();
  const auto found = name.empty() ? root.begin() : root.find(name);
  if (found == root.end() || (name.empty() && root.size() != 1)) {
    std::vector<std::string_view> names;
    for (const auto& item : root.items())
      names.push_back(item.key());
    return fail({.file = document.file(),
                 .message = expected_found(
                     fmt::format("the name of a cluster behind '@', one of {}", printable(list_names(names))),
                     name)});
  }
  const nlohmann::json& list = *found;
  const std::string counts =
      list.is_array() && list.size() == 1 && list[0].is_string() ? list[0].get<std::string>() : "";
  const std::vector<std::string_view> parts = split(counts, ':');
  NodeCounter nodes;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    const auto count = parse_integer(i < parts.size() ? parts[i] : "", 0, kMaxClusterGpus);
    if (!count || parts.size() != kTypes.size()) {
      return fail(document.error_at(
          list, "",
          expected_found("one text with the numbers of V100, P100 and K80, as [\"36:36:36\"]",
                         list.dump(-1, ' ', true).substr(0, 80))));
    }
    if (auto added = nodes.add(*count, 1, kTypes[i]); !added) {
      return fail(document.error_at(list, "", added.error().message));
    }
  }
  auto cluster = nodes.finish();
  if (!cluster) return fail(document.error_at(list, "", cluster.error().message));
  cluster->notes.emplace_back("the file counts GPUs: each is a node of its own");
  return cluster;
}

Result<ClusterSpec> parse_cluster_table(std::string_view text, const std::string& file,
                                        std::string_view part) {
  if (is_slurm_conf(text)) {
    if (auto no_part = expect_no_part(part, file); !no_part) return fail(std::move(no_part.error()));
    return parse_slurm_conf_nodes(text, file);
  }
  const bool scontrol = is_scontrol_output(text);
  if (!scontrol && !is_sinfo_output(text)) return read_csv(text, file, part);
  if (auto no_part = expect_no_part(part, file); !no_part) return fail(std::move(no_part.error()));
  return scontrol ? parse_scontrol_nodes(text, file) : parse_sinfo_nodes(text, file);
}

}  // namespace vtrain
