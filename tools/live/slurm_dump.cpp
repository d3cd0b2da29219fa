#include "tools/live/slurm_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"
#include "core/io/line_reader.hpp"
#include "tools/live/slurm_tables.hpp"
#include "traces/formats/sacct_rows.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::string_view kExpected =
    "`scontrol show job|node|partition|reservation -o`, `squeue` or `sinfo` with a header or `--json`, "
    "`sacct --json` or `-P`, `sprio -l`, slurm.conf, `sacctmgr show assoc|qos -P`, `sshare -alP`, or "
    "`kubectl get … -o json`";

struct Beginning {
  std::string_view text;
  LiveKind kind;
};
constexpr Beginning kBeginnings[] = {{"JobId=", LiveKind::Jobs},
                                     {"NodeName=", LiveKind::Nodes},
                                     {"PartitionName=", LiveKind::Partitions},
                                     {"ReservationName=", LiveKind::Reservations}};

std::optional<LiveKind> kind_of_line(std::string_view line) {
  for (const Beginning& each : kBeginnings) {
    if (line.starts_with(each.text)) return each.kind;
  }
  return std::nullopt;
}

/// True for the name of a pair: letters, then digits and the signs that `scontrol` uses in names.
bool is_key(std::string_view word) {
  return !word.empty() && std::isupper(static_cast<unsigned char>(word[0])) != 0 &&
         std::ranges::all_of(
             word, [](unsigned char c) { return std::isalnum(c) != 0 || c == '/' || c == ':' || c == '_'; });
}

/// Adds the pairs of a line. A word without a name goes on with the value before it: `Reason=bad fan`.
void add_pairs(std::string_view line, std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const std::string_view word : split(line, ' ')) {
    if (word.empty()) continue;
    const std::size_t equal = word.find('=');
    if (equal != std::string_view::npos && is_key(word.substr(0, equal)))
      pairs.emplace_back(word.substr(0, equal), word.substr(equal + 1));
    else if (!pairs.empty())
      pairs.back().second += fmt::format(" {}", word);
  }
}

/// Output of `scontrol show`, one object a line or in paragraphs.
Result<LiveRecords> read_pairs(const std::string& text, const std::string& file, LiveKind kind) {
  LiveRecords records{.kind = kind};
  std::vector<std::pair<std::string, std::string>> pairs;
  std::int64_t first_line = 0;
  const auto finish = [&] {
    if (pairs.empty()) return;
    LiveRecord& record = records.records.emplace_back(file, first_line);
    for (auto& [name, value] : pairs)
      record.add(name, std::move(value));
    pairs.clear();
  };
  LineReader lines(text, file);
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    const auto begun = kind_of_line(lines.line());
    if (begun) {
      finish();
      first_line = lines.number();
      if (*begun != kind)
        return fail(
            {.file = file, .line = first_line, .message = "expected objects of one kind, found another"});
    } else if (pairs.empty() || std::isspace(static_cast<unsigned char>(lines.line()[0])) == 0) {
      return fail({.file = file,
                   .line = lines.number(),
                   .message = expected_found("a line of `scontrol show`", lines.line())});
    }
    add_pairs(lines.line(), pairs);
  }
  finish();
  return records;
}

/// Tables of `squeue -o '%all'`.
Result<LiveRecords> read_queue_table(LineReader lines, const std::vector<std::string_view>& names) {
  LiveRecords records{.kind = LiveKind::Jobs};
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return records;
    const std::vector<std::string_view> fields = split(lines.line(), '|');
    if (fields.size() != names.size()) {
      return fail({.file = lines.file(),
                   .line = lines.number(),
                   .message = fmt::format("expected {} columns as in the header, found {}", names.size(),
                                          fields.size())});
    }
    LiveRecord& record = records.records.emplace_back(lines.file(), lines.number());
    for (std::size_t i = 0; i < names.size(); ++i) {
      // Two columns have this name: `%i`, which may be 9_0 or 39+1, and the number `%A`.
      const bool is_shown = names[i] == "JOBID" && fields[i].find_first_of("_+") != std::string_view::npos;
      record.add(is_shown ? "JOBID shown" : names[i], std::string(fields[i]));
    }
  }
}

/// Tables of `sacct -P`, whose free text may hold separators.
Result<LiveRecords> read_sacct_table(const LineReader& lines, const std::vector<std::string_view>& names) {
  LiveRecords records{.kind = LiveKind::Jobs};
  SacctRows rows(lines, names, std::vector<bool>(names.size(), false));
  for (;;) {
    const auto more = rows.next();
    if (!more) return fail(more.error());
    if (!*more) return records;
    LiveRecord& record = records.records.emplace_back(lines.file(), rows.line());
    for (std::size_t i = 0; i < names.size(); ++i)
      record.add(names[i], std::string(rows.fields()[i]));
  }
}

/// Text of a value of JSON. Newer versions write numbers as `{"set": true, "infinite": false, "number": 5}`.
std::optional<std::string> json_text(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (value.is_object() && value.contains("number") && value.contains("set")) {
    if (value.value("infinite", false)) return "UNLIMITED";
    return value["set"] == false ? "" : json_text(value["number"]);
  }
  if (!value.is_array()) return std::nullopt;
  std::string joined;
  for (const json& each : value) {
    std::string part;
    if (each.is_string()) {
      part = each.get<std::string>();
    } else if (each.is_object() && each.contains("type") && each.contains("count")) {
      // A trackable resource.
      const auto count = json_text(each["count"]);
      const auto name = each.contains("name") ? json_text(each["name"]) : std::nullopt;
      const auto type = json_text(each["type"]);
      if (!count || count->empty() || !type) continue;
      part = fmt::format("{}{}{}={}", *type, name && !name->empty() ? "/" : "", name.value_or(""), *count);
    } else {
      return std::nullopt;
    }
    joined += (joined.empty() ? "" : ",") + part;
  }
  return joined;
}

void add_values(const json& object, const std::string& path, int depth, LiveRecord& record) {
  constexpr int kMostDepth = 5;
  for (const auto& [key, value] : object.items()) {
    const std::string name = path.empty() ? key : fmt::format("{}/{}", path, key);
    if (auto text = json_text(value))
      record.add(name, *std::move(text));
    else if (value.is_object() && depth < kMostDepth)
      add_values(value, name, depth + 1, record);
  }
}

}  // namespace

Result<LiveRecords> read_slurm_json(const JsonDocument& document) {
  const json& root = document.root();
  constexpr std::pair<std::string_view, LiveKind> kLists[] = {{"jobs", LiveKind::Jobs},
                                                              {"nodes", LiveKind::Nodes},
                                                              {"partitions", LiveKind::Partitions},
                                                              {"reservations", LiveKind::Reservations}};
  for (const auto& [key, kind] : kLists) {
    const auto found = root.is_object() ? root.find(key) : root.end();
    if (!root.is_object() || found == root.end() || !found->is_array()) continue;
    LiveRecords records{.kind = kind};
    for (const json& each : *found) {
      const std::int64_t line = document.error_at(each, "", "").line;
      if (!each.is_object()) return fail(document.error_at(each, "", "expected an object"));
      add_values(each, "", 0, records.records.emplace_back(document.file(), line));
    }
    return records;
  }
  return fail(
      document.error_at(root, "", expected_found(kExpected, "JSON without jobs, nodes or partitions")));
}

Result<LiveRecords> read_slurm_dump(std::string text, const std::string& file) {
  const std::string_view beginning = trim(text);
  if (beginning.starts_with('{')) {
    const auto document = JsonDocument::parse(std::move(text), file);
    if (!document) return fail(document.error());
    return read_slurm_json(*document);
  }
  LineReader lines(text, file);
  const auto more = lines.next();
  if (!more) return fail(more.error());
  if (!*more) return fail({.file = file, .message = expected_found(kExpected, "an empty file")});
  if (const auto kind = kind_of_line(lines.line())) return read_pairs(text, file, *kind);
  const std::vector<std::string_view> names = split(lines.line(), '|');
  auto table = std::ranges::count(names, "JOBID") == 2 ? Result<std::optional<LiveRecords>>(std::nullopt)
                                                       : read_slurm_table(text, file);
  if (!table) return fail(std::move(table.error()));
  if (*table) return **std::move(table);
  if (are_sacct_columns(names)) return read_sacct_table(lines, names);
  if (names.size() > 2 && std::ranges::find(names, "JOBID") != names.end())
    return read_queue_table(lines, names);
  return fail({.file = file, .line = lines.number(), .message = expected_found(kExpected, lines.line())});
}

}  // namespace vtrain
