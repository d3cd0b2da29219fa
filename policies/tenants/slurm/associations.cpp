#include "policies/tenants/slurm/associations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/text/slurm_conf_lines.hpp"
#include "policies/tenants/slurm/limit_columns.hpp"
#include "policies/tenants/slurm/tree_builder.hpp"

namespace vtrain::slurm {
namespace {

constexpr std::int64_t kMostShare = 2'147'483'646;
constexpr std::string_view kShareOfParent = "2147483647";
constexpr double kMostUsage = 1e300;

/// Reads a raw share. The error carries only the message.
Result<void> read_share(std::string_view text, Association& association) {
  if (equal_in_any_case(text, "parent") || text == kShareOfParent) {
    association.share_of_parent = true;
    return {};
  }
  const auto share = parse_integer(text, 0, kMostShare);
  if (!share) return fail({.message = expected_found("a share from 0, or parent", text)});
  association.share = *share;
  return {};
}

void read_names(std::string_view text, std::vector<std::string>& to) {
  for (const std::string_view word : split(text, ',')) {
    // `+name` adds to the QOS of the parent, which is written out elsewhere.
    if (!word.empty()) to.push_back(lower_case(word.starts_with('+') ? word.substr(1) : word));
  }
}

Result<Association> read_association(const TableText& row, TresNames& names) {
  Association association{.account = lower_case(row["Account"]),
                          .user = std::string(row["User"]),
                          .partition = std::string(row["Partition"]),
                          .default_qos = lower_case(row["Def QOS"]),
                          .line = row.line()};
  if (association.account.empty()) return fail(row.error_at("Account", "missing: the name of the account"));
  if (const std::string_view share = row["Share"]; !share.empty()) {
    if (auto read = read_share(share, association); !read)
      return fail(row.error_at("Share", read.error().message));
  }
  const auto priority = parse_limit(row["Priority"]);
  if (!priority) return fail(row.error_at("Priority", priority.error().message));
  association.priority = priority->value_or(0);
  read_names(row["QOS"], association.qos);
  LimitColumns columns(row, names);
  Limits& limits = association.limits;
  columns.shared_limits(limits);
  columns.count("MaxJobs", limits.max_jobs);
  columns.count("MaxSubmit", limits.max_submit);
  if (columns.error()) return fail(*columns.error());
  return association;
}

/// `Kind - 'name':Key=Value:…` of a dump.
struct DumpLine {
  std::string_view kind{};
  std::string name{};
  std::vector<std::pair<std::string, std::string>> options{};
};

/// The text of a quoted or plain value at the front of `rest`, which it is removed from.
std::string take_value(std::string_view& rest) {
  std::string value;
  if (rest.starts_with('\'')) {
    const std::size_t end = std::min(rest.find('\'', 1), rest.size());
    value = rest.substr(1, end - 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  } else {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    value = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  return value;
}

/// Splits a line of a dump; none for a line of another form.
std::optional<DumpLine> split_dump_line(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos || trim(line).starts_with('#')) return std::nullopt;
  DumpLine result{.kind = trim(line.substr(0, dash))};
  std::string_view rest = trim(line.substr(dash + 3));
  result.name = take_value(rest);
  while (rest.starts_with(':')) {
    rest.remove_prefix(1);
    const std::size_t equal = std::min(rest.find('='), rest.size());
    std::string key = lower_case(trim(rest.substr(0, equal)));
    rest.remove_prefix(std::min(equal + 1, rest.size()));
    result.options.emplace_back(std::move(key), take_value(rest));
  }
  return result;
}

/// Reads the lines of a dump.
class DumpReader {
 public:
  DumpReader(const std::string& file, TresNames& names) : file_(file), names_(names), builder_(file) {}

  Result<AssociationTree> read(std::string_view text) {
    LineReader lines(text, file_);
    for (;;) {
      const auto more = lines.next();
      if (!more) return fail(more.error());
      if (!*more) break;
      line_ = lines.number();
      const auto parts = split_dump_line(lines.line());
      if (!parts) continue;
      if (auto read = read_line(*parts); !read) return fail(std::move(read.error()));
    }
    return builder_.finish(true);
  }

 private:
  Error error(std::string_view field, std::string message) const {
    return {.file = file_, .line = line_, .field = std::string(field), .message = std::move(message)};
  }

  Result<void> read_line(const DumpLine& line) {
    if (line.kind == "Parent") {
      parent_ = lower_case(line.name);
      return {};
    }
    Association association{.line = line_};
    std::string parent = parent_;
    if (line.kind == "Cluster") {
      association.account = "root";
      parent.clear();
    } else if (line.kind == "Account") {
      association.account = lower_case(line.name);
    } else if (line.kind == "User") {
      association.account = parent_;
      association.user = line.name;
    } else {
      return {};
    }
    for (const auto& [key, value] : line.options) {
      if (auto read = read_option(association, key, value); !read) return read;
    }
    return builder_.add(std::move(association), std::move(parent));
  }

  Result<void> read_option(Association& association, const std::string& key, const std::string& value) {
    Limits& limits = association.limits;
    const std::pair<std::string_view, TresList*> lists[] = {
        {"grptres", &limits.group_tres},
        {"grptresmins", &limits.group_tres_minutes},
        {"grptresrunmins", &limits.group_tres_run_minutes},
        {"maxtresperjob", &limits.max_tres},
        {"maxtrespernode", &limits.max_tres_per_node},
        {"maxtresminsperjob", &limits.max_tres_minutes}};
    const std::pair<std::string_view, std::optional<std::int64_t>*> numbers[] = {
        {"grpjobs", &limits.group_jobs},         {"grpsubmitjobs", &limits.group_submit},
        {"grpwall", &limits.group_wall_minutes}, {"maxjobs", &limits.max_jobs},
        {"maxsubmitjobs", &limits.max_submit},   {"maxwalldurationperjob", &limits.max_wall_minutes}};
    for (const auto& [name, list] : lists) {
      if (name != key) continue;
      auto read = parse_tres_list(value, names_);
      if (!read) return fail(error(key, read.error().message));
      *list = *std::move(read);
      return {};
    }
    for (const auto& [name, number] : numbers) {
      if (name != key) continue;
      const auto read = parse_limit(value);
      if (!read) return fail(error(key, read.error().message));
      *number = *read;
      return {};
    }
    if (key == "fairshare") {
      if (auto read = read_share(value, association); !read) return fail(error(key, read.error().message));
    } else if (key == "priority") {
      const auto read = parse_limit(value);
      if (!read) return fail(error(key, read.error().message));
      association.priority = read->value_or(0);
    } else if (key == "qos") {
      read_names(value, association.qos);
    } else if (key == "defaultqos") {
      association.default_qos = lower_case(value);
    } else if (key == "partition") {
      association.partition = value;
    } else if (key == "defaultaccount") {
      association.is_default = equal_in_any_case(value, association.account);
    }
    return {};
  }

  const std::string& file_;
  TresNames& names_;
  TreeBuilder builder_;
  std::string parent_ = "root";
  std::int64_t line_ = 0;
};

bool is_dump(std::string_view text) {
  return text.find("\nParent - ") != std::string_view::npos || text.starts_with("Parent - ");
}

}  // namespace

Result<AssociationTree> parse_associations(std::string_view text, const std::string& file, TresNames& names,
                                           const AccountParents& parents) {
  auto table = TableText::open(text, file);
  if (!table) return fail(std::move(table.error()));
  if (!table->has("Account") || !table->has("User"))
    return fail({.file = file, .line = 1, .message = "expected a header with the columns Account and User"});
  const bool names_parents = table->has("ParentName");
  TreeBuilder builder(file);
  for (;;) {
    const auto more = table->next();
    if (!more) return fail(more.error());
    if (!*more) break;
    auto association = read_association(*table, names);
    if (!association) return fail(std::move(association.error()));
    std::string parent = association->account;
    if (association->user.empty()) {
      const auto known = parents.find(association->account);
      parent = association->account == "root" ? ""
               : names_parents                ? lower_case((*table)["ParentName"])
               : known != parents.end()       ? known->second
                                              : "root";
    }
    if (auto added = builder.add(*std::move(association), std::move(parent)); !added)
      return fail(std::move(added.error()));
  }
  return builder.finish(names_parents || !parents.empty());
}

Result<AssociationTree> parse_association_dump(std::string_view text, const std::string& file,
                                               TresNames& names) {
  return DumpReader(file, names).read(text);
}

Result<AccountParents> parse_parents(std::string_view text, const std::string& file) {
  AccountParents parents;
  if (is_dump(text)) {
    TresNames names;
    const auto tree = parse_association_dump(text, file, names);
    if (!tree) return fail(tree.error());
    for (const Association& each : tree->list()) {
      if (each.user.empty() && each.parent) parents[each.account] = (*tree)[*each.parent].account;
    }
    return parents;
  }
  std::vector<std::string> open;  // accounts by their depth in sshare's rows
  LineReader lines(text, file);
  bool is_table = false;
  std::optional<TableText> table;
  for (bool first = true;; first = false) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return parents;
    const std::string_view line = lines.line();
    if (first && line.find('|') != std::string_view::npos) is_table = true;
    if (is_table) break;
    // sacctmgr -i add account NAME cluster=C parent=NAME
    const std::size_t at = line.find(" add account ");
    if (line.find("sacctmgr") == std::string_view::npos || at == std::string_view::npos) continue;
    const std::string_view rest = trim(line.substr(at + std::string_view(" add account ").size()));
    for (const SlurmConfEntry& pair : slurm_pairs(rest)) {
      if (equal_in_any_case(pair.key, "parent"))
        parents[lower_case(rest.substr(0, rest.find(' ')))] = lower_case(pair.value);
    }
  }
  auto rows = TableText::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  for (;;) {
    const auto more = rows->next();
    if (!more) return fail(more.error());
    if (!*more) return parents;
    if (!(*rows)["User"].empty()) continue;
    const std::string account = lower_case((*rows)["Account"]);
    if (rows->has("ParentName")) {
      if (!(*rows)["ParentName"].empty()) parents[account] = lower_case((*rows)["ParentName"]);
      continue;
    }
    const std::string_view field = rows->untrimmed("Account");
    const std::size_t depth = std::min(field.find_first_not_of(' '), field.size());
    if (depth > open.size())
      return fail(rows->error_at("Account", expected_found("an account below the one before", field)));
    open.resize(depth);
    if (depth > 0) parents[account] = open.back();
    open.push_back(account);
  }
}

Result<void> read_usage(std::string_view text, const std::string& file, AssociationTree& tree) {
  const auto set = [&](std::string_view account, std::string_view user, std::string_view partition,
                       std::string_view usage, std::int64_t line, std::string_view field) -> Result<void> {
    const auto place = [&](std::string message) {
      return fail({.file = file, .line = line, .field = std::string(field), .message = std::move(message)});
    };
    const auto position =
        user.empty() ? tree.find_account(account) : tree.find_user(account, user, partition);
    if (!position)
      return place(
          fmt::format("expected an association of the tree, found account '{}', user '{}'", account, user));
    const auto number = parse_number(usage, 0, kMostUsage);
    if (!number) return place(number.error().message);
    tree[*position].usage = *number;
    return {};
  };
  if (text.find("SharesRaw/") == std::string_view::npos) {
    auto table = TableText::open(text, file);
    if (!table) return fail(std::move(table.error()));
    for (;;) {
      const auto more = table->next();
      if (!more) return fail(more.error());
      if (!*more) return {};
      if (auto read = set(lower_case((*table)["Account"]), (*table)["User"], (*table)["Partition"],
                          (*table)["RawUsage"], table->line(), "RawUsage");
          !read)
        return read;
    }
  }
  LineReader lines(text, file);
  // A record is a line with `-o`, else several.
  std::string account;
  std::string user;
  std::string partition;
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return {};
    std::optional<std::string> usage;
    for (const SlurmConfEntry& pair : slurm_pairs(lines.line())) {
      if (pair.key == "Account") {
        account = lower_case(pair.value);
        user.clear();
        partition.clear();
      }
      if (pair.key == "UserName") user = pair.value.substr(0, pair.value.find('('));
      if (pair.key == "Partition") partition = pair.value;
      if (pair.key == "UsageRaw/Norm/Efctv") usage = pair.value.substr(0, pair.value.find('/'));
    }
    if (!usage) continue;
    if (auto read = set(account, user, partition, *usage, lines.number(), "UsageRaw"); !read) return read;
  }
}

}  // namespace vtrain::slurm
