/// The nodes of a Slurm cluster, from the output of its commands.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/slurm_lists.hpp"
#include "sched/cluster/cluster_tables.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kNodeName = "NodeName=";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kMostHosts = 100'000;  ///< limit for one list
constexpr std::string_view kPrintedInFull =
    "; `sinfo -N -O nodelist:256,gres:256,statecompact` or `scontrol show node` print it in full";

/// Takes the next word from the front of `rest`; empty at the end.
std::string_view next_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

/// First line that is not blank; empty if there is none.
std::string_view first_line(std::string_view text) {
  LineReader lines(text, {});
  return lines.next().value_or(false) ? lines.line() : std::string_view();
}

/// Nodes of a Slurm cluster, collected as they are read.
class SlurmNodes {
 public:
  /// Adds a node that may have been read before, in another partition.
  Result<void> add(std::string_view name, const std::vector<SlurmGpus>& gpus, std::string_view state) {
    if (nodes_.knows(name)) return {};
    if (auto named = nodes_.name(name); !named) return named;
    if (!gpus.empty() && keeps_jobs_away(state)) ++out_of_service_;
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
      cluster->notes.push_back(fmt::format("nodes with several GPU types, counted once for each type: {}",
                                           with_thousands(mixed_)));
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

/// Fields of one node in the output of `scontrol`.
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

/// Fields of a line of `sinfo`.
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

/// Columns of `sinfo` that are padded to a width, at which longer values are cut without a sign.
class SinfoWidths {
 public:
  /// `header` are the fields of the first line.
  SinfoWidths(std::string_view line, const std::vector<std::string_view>& header)
      : columns_(header.size()), has_bars_(line.find('|') != std::string_view::npos) {
    // `-O` puts nothing between its columns, 20 wide by default; `-o` usually puts a blank.
    constexpr std::size_t kDefault = 20;
    bool is_long_form = header.size() > 1;
    for (std::size_t i = 0; i < header.size(); ++i) {
      columns_[i].begin = static_cast<std::size_t>(header[i].data() - line.data());
      is_long_form &= columns_[i].begin % kDefault == 0;
    }
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::size_t begin = columns_[i].begin;
      const bool is_last = i + 1 == header.size();
      const std::size_t end = has_bars_ ? std::min(line.find('|', begin), line.size())
                              : is_last ? line.size()
                                        : columns_[i + 1].begin;
      // Columns without a width are followed by one blank, too.
      const bool is_padded = end - begin >= header[i].size() + 2;
      const bool has_separator = !has_bars_ && !is_last && !is_long_form;
      if (is_padded) columns_[i].width = end - begin - (has_separator ? 1 : 0);
      if (is_last && !is_padded && is_long_form) columns_[i].width = kDefault;
      has_padding_ |= is_padded;
    }
  }

  /// True if some column is padded.
  bool has_padding() const { return has_padding_; }

  /// True if a value of a line may be the beginning of a longer one, because it fills its column.
  bool fills(std::string_view line, std::size_t column, std::string_view value) const {
    return is_known(line, column, value) && value.size() >= columns_[column].width;
  }
  /// True if a value is certainly whole: a blank is left in its column, or no column has a width.
  bool is_whole(std::string_view line, std::size_t column, std::string_view value) const {
    return !has_padding_ || (is_known(line, column, value) && value.size() < columns_[column].width);
  }

 private:
  struct Column {
    std::size_t begin = 0;
    std::size_t width = 0;  ///< 0: not known
  };

  /// True if the width is valid for a value, which then begins at the column's beginning.
  bool is_known(std::string_view line, std::size_t column, std::string_view value) const {
    const auto begin = static_cast<std::size_t>(value.data() - line.data());
    return columns_[column].width > 0 && (has_bars_ || begin == columns_[column].begin);
  }

  std::vector<Column> columns_;
  bool has_bars_ = false;
  bool has_padding_ = false;
};

/// True if a list of generic resources ends abruptly, or in GPUs without a number.
bool may_go_on(std::string_view gres) {
  const bool is_open = std::count(gres.begin(), gres.end(), '(') > std::count(gres.begin(), gres.end(), ')');
  if (is_open || gres.ends_with(':') || gres.ends_with(',')) return true;
  const std::string_view last = gres.substr(gres.rfind(',') + 1);
  const std::string_view number = last.substr(last.rfind(':') + 1);
  return last.starts_with("gpu") && !last.ends_with(')') &&
         number.find_first_not_of("0123456789") != std::string_view::npos;
}

/// Rows of `sinfo` that name a node.
struct SinfoNode {
  std::string_view gres{};
  std::string_view state{};
  std::vector<std::string_view> partitions{};
};

/// Adds a row that names a node. False if it must be another node, whose name was cut to an equal one. A node
/// has equal state and resources in all its partitions, and is in each once.
bool add_row(SinfoNode& node, std::string_view gres, std::string_view state, std::string_view partition) {
  const bool is_first = node.partitions.empty();
  const bool is_same =
      is_first || (node.gres == gres && node.state == state &&
                   (partition.empty() || std::find(node.partitions.begin(), node.partitions.end(),
                                                   partition) == node.partitions.end()));
  if (is_first) node = {.gres = gres, .state = state};
  node.partitions.push_back(partition);
  return is_same;
}

/// A text, or several joined by `joint`; empty for other values.
std::string joined_texts(const nlohmann::json& value, char joint) {
  if (value.is_string()) return value.get<std::string>();
  std::string text;
  if (!value.is_array()) return text;
  for (const nlohmann::json& each : value) {
    if (!each.is_string()) continue;
    if (!text.empty()) text += joint;
    text += each.get<std::string>();
  }
  return text;
}

/// Value under a path of keys, null if there is none.
const nlohmann::json& value_at(const nlohmann::json& object, std::initializer_list<const char*> path) {
  static const nlohmann::json nothing;
  const nlohmann::json* value = &object;
  for (const char* const key : path) {
    if (!value->is_object()) return nothing;
    const auto found = value->find(key);
    if (found == value->end()) return nothing;
    value = &*found;
  }
  return *value;
}

/// First of some values that exists, otherwise null.
const nlohmann::json& first_value(std::initializer_list<const nlohmann::json*> values) {
  for (const nlohmann::json* const value : values) {
    if (!value->is_null()) return *value;
  }
  return **values.begin();
}

/// Adds the nodes of one entry. `key` is the entry's, if entries have names.
Result<void> add_json_nodes(SlurmNodes& nodes, const JsonDocument& document, const nlohmann::json& entry,
                            const std::string& key) {
  const auto place = [&](std::string_view field, std::string message) {
    return fail(document.error_at(entry, field, std::move(message)));
  };
  if (!entry.is_object()) return place("", "expected a node, or nodes that are alike, as an object");
  const std::string list =
      joined_texts(first_value({&value_at(entry, {"nodes", "nodes"}), &value_at(entry, {"name"}),
                                &value_at(entry, {"nodes", "hostnames"}), &value_at(entry, {"hostname"})}),
                   ',');
  const auto names = expand_host_list(list.empty() ? key : list, kMostHosts);
  if (!names) return place("", names.error().message);
  if (names->empty()) return place("name", "missing: the name of the node");

  const bool is_grouped = value_at(entry, {"gres"}).is_object();
  const nlohmann::json& gres = is_grouped ? value_at(entry, {"gres", "total"}) : value_at(entry, {"gres"});
  const nlohmann::json& tres = value_at(entry, {"tres"});
  if (!entry.contains("gres") && !entry.contains("tres"))
    return place("gres", "missing: how many GPUs the node has");
  if (!gres.is_string() && !gres.is_null()) return place("gres", "expected a text as gpu:a100:8");
  const std::string gres_text = joined_texts(gres, ',');
  const std::string tres_text = joined_texts(tres, ',');
  auto gpus = parse_gres(gres_text);
  if (gpus && gpus->empty()) gpus = parse_tres(tres_text);
  if (!gpus) return place("gres", gpus.error().message);
  const std::string state =
      joined_texts(first_value({&value_at(entry, {"state"}), &value_at(entry, {"node", "state"})}), '+') +
      '+' + joined_texts(value_at(entry, {"state_flags"}), '+');
  for (const std::string& name : *names) {
    if (auto added = nodes.add(name, *gpus, state); !added) return place("gres", added.error().message);
  }
  return {};
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
  LineReader lines(text, file);
  if (const auto more = lines.next(); !more) return fail(more.error());
  const std::vector<std::string_view> header = sinfo_fields(lines.line());
  // Several daemons on one host share its name, so the list of nodes has priority.
  const int list = find_field(header, find_field(header, "NODELIST") < 0 ? "HOSTNAMES" : "NODELIST");
  const int gres = find_field(header, "GRES");
  const int state = find_field(header, "STATE");
  const int partition = find_field(header, "PARTITION");
  if (gres < 0) {
    return fail(
        {.file = file,
         .line = lines.number(),
         .field = "GRES",
         .message =
             "column missing, which says how many GPUs a node has; `sinfo -o \"%N %G %t\"` prints it"});
  }
  const SinfoWidths widths(lines.line(), header);
  SlurmNodes nodes;
  std::map<std::string, SinfoNode, std::less<>> rows_of;
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    const std::string_view line = lines.line();
    const auto place = [&](std::string_view field, std::string message) {
      return fail(
          {.file = file, .line = lines.number(), .field = std::string(field), .message = std::move(message)});
    };
    const auto cut = [&](int column, std::string_view found) {
      return place(header[static_cast<std::size_t>(column)],
                   expected_found("a value that is not cut at the width of its column", found) +
                       std::string(kPrintedInFull));
    };
    const auto fields = sinfo_fields(line);
    if (fields.size() != header.size()) {
      return place("", fmt::format("expected {} columns, found {}{}", header.size(), fields.size(),
                                   widths.has_padding() ? kPrintedInFull : ""));
    }
    const auto field = [&](int column) {
      return column < 0 ? std::string_view() : fields[static_cast<std::size_t>(column)];
    };
    const auto fills = [&](int column) {
      return widths.fills(line, static_cast<std::size_t>(column), field(column));
    };
    // Names of partitions that may be cut give no information.
    const bool has_partition = partition >= 0 && !fills(partition);
    const bool is_whole = widths.is_whole(line, static_cast<std::size_t>(gres), field(gres));
    if (fills(gres) || (!is_whole && may_go_on(field(gres)))) return cut(gres, field(gres));
    if (fills(list)) return cut(list, field(list));
    const auto gpus = parse_gres(field(gres));
    if (!gpus) return place("GRES", gpus.error().message);
    const auto names = expand_host_list(field(list), kMostHosts);
    if (!names) return place("NODELIST", names.error().message);
    for (const std::string& name : *names) {
      if (!add_row(rows_of[name], field(gres), field(state), has_partition ? field(partition) : ""))
        return cut(list, name);
      auto added = nodes.add(name, *gpus, field(state));
      if (!added) return place("GRES", std::move(added.error().message));
    }
  }
  auto cluster = nodes.finish();
  if (!cluster) return fail({.file = file, .message = cluster.error().message});
  return cluster;
}

bool is_slurm_nodes_json(const JsonDocument& document) {
  const nlohmann::json& root = document.root();
  return root.is_object() && !root.contains("groups") && (root.contains("sinfo") || root.contains("nodes"));
}

Result<ClusterSpec> parse_slurm_nodes_json(const JsonDocument& document) {
  const nlohmann::json& root = document.root();
  const char* const key = root.contains("sinfo") ? "sinfo" : "nodes";
  const nlohmann::json& entries = root[key];
  if (!entries.is_structured())
    return fail(document.error_at(
        root, key, "expected nodes, as sinfo --json and scontrol show node --json print them"));
  SlurmNodes nodes;
  for (const auto& item : entries.items()) {
    const std::string name = entries.is_object() ? item.key() : std::string();
    if (auto added = add_json_nodes(nodes, document, item.value(), name); !added)
      return fail(std::move(added.error()));
  }
  auto cluster = nodes.finish();
  if (!cluster) return fail(document.error_at(root, key, cluster.error().message));
  return cluster;
}

}  // namespace vtrain
