#include "policies/tenants/slurm/slurm_files.hpp"

#include <filesystem>
#include <initializer_list>
#include <utility>

#include "policies/tenants/slurm/tree_builder.hpp"

namespace vtrain::slurm {
namespace {

/// The first of some files of a folder that exists; empty without one.
std::string first_file(const std::filesystem::path& folder, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / name, ignored)) return (folder / name).string();
  }
  return {};
}

bool is_dump_text(std::string_view text) {
  return text.find("\nCluster - ") != std::string_view::npos || text.starts_with("Cluster - ");
}

Result<AssociationTree> read_tree(const SlurmFiles& files, TresNames& names, const KnownTexts& known) {
  const auto text = read_known_file(known, files.associations, InputKind::Tenants);
  if (!text) return fail(text.error());
  if (is_dump_text(*text)) return parse_association_dump(*text, files.associations, names);
  AccountParents parents;
  if (!files.parents.empty()) {
    const auto lines = read_known_file(known, files.parents, InputKind::Tenants);
    if (!lines) return fail(lines.error());
    auto read = parse_parents(*lines, files.parents);
    if (!read) return fail(std::move(read.error()));
    parents = *std::move(read);
  }
  return parse_associations(*text, files.associations, names, parents);
}

}  // namespace

Result<std::string> read_known_file(const KnownTexts& known, const std::string& file, InputKind kind) {
  const auto found = known.find(file);
  return found == known.end() ? read_file(file, kind) : Result<std::string>(found->second);
}

Result<SlurmFiles> SlurmFiles::of_folder(const std::string& folder) {
  const std::filesystem::path path(folder);
  SlurmFiles files{.conf = first_file(path, {"slurm.conf"}),
                   .associations = first_file(path, {"associations-dump.cfg", "assoc.txt"}),
                   .parents = first_file(path, {"sshare.txt", "setup.sh"}),
                   .qos = first_file(path, {"qos.txt"}),
                   .usage = first_file(path, {"controller-associations.txt", "sshare.txt"}),
                   .history = first_file(path, {"history.csv"}),
                   .passes = first_file(path, {"passes.csv"}),
                   .reservations = first_file(path, {"reservations.txt", "at-zero.sh"})};
  if (files.conf.empty()) {
    return fail({.kind = ErrorKind::NotFound,
                 .file = folder,
                 .message = "expected a folder with slurm.conf, found none in it"});
  }
  return files;
}

Result<SlurmSetup> read_setup(const SlurmFiles& files, TresNames& names,
                              std::span<const std::string_view> ignore, const KnownTexts& known) {
  SlurmSetup setup;
  const auto text = read_known_file(known, files.conf, InputKind::Cluster);
  if (!text) return fail(text.error());
  auto configuration = parse_configuration(*text, files.conf, names, ignore);
  if (!configuration) return fail(std::move(configuration.error()));
  setup.configuration = *std::move(configuration);
  if (!files.qos.empty()) {
    const auto list = read_known_file(known, files.qos, InputKind::Tenants);
    if (!list) return fail(list.error());
    auto qos = parse_qos(*list, files.qos, names);
    if (!qos) return fail(std::move(qos.error()));
    setup.qos = *std::move(qos);
  }
  const PriorityConf& priority = setup.configuration.priority;
  const bool shares_count = priority.multifactor && priority.weight_fair_share > 0;
  if (files.associations.empty()) {
    if (!shares_count && !setup.configuration.enforces_associations) {
      TreeBuilder builder(files.associations);
      if (auto added = builder.add({.account = "root"}, ""); !added) return fail(std::move(added.error()));
      auto root = builder.finish(true);
      if (!root) return fail(std::move(root.error()));
      setup.associations = *std::move(root);
      return setup;
    }
    return fail({.field = "assoc",
                 .message = "missing: the file of associations, on which slurm.conf makes jobs depend"});
  }
  auto tree = read_tree(files, names, known);
  if (!tree) return fail(std::move(tree.error()));
  setup.associations = *std::move(tree);
  if (shares_count && !setup.associations.parents_known() && setup.associations.has_inner_accounts()) {
    return fail({.file = files.associations,
                 .field = "ParentName",
                 .message = "missing: which account is above which (parents=FILE has it: a dump of sacctmgr, "
                            "or sshare -alP)"});
  }
  if (!files.usage.empty()) {
    const auto usage = read_known_file(known, files.usage, InputKind::Tenants);
    if (!usage) return fail(usage.error());
    if (auto read = read_usage(*usage, files.usage, setup.associations); !read)
      return fail(std::move(read.error()));
  }
  return setup;
}

Result<void> check_followed(const SlurmSetup& setup, const std::string& associations,
                            const std::string& qos) {
  if (!setup.configuration.enforces_limits) return {};
  const auto check = [](const Limits& limits, const std::string& file, std::int64_t line) -> Result<void> {
    const std::string_view name = !limits.group_tres_minutes.empty()       ? "GrpTRESMins"
                                  : !limits.group_tres_run_minutes.empty() ? "GrpTRESRunMins"
                                  : limits.group_wall_minutes              ? "GrpWall"
                                                                           : "";
    if (name.empty()) return {};
    return fail({.file = file,
                 .line = line,
                 .field = std::string(name),
                 .message = "changes when jobs start and is not followed; leave the limit out"});
  };
  for (const Association& each : setup.associations.list()) {
    if (auto checked = check(each.limits, associations, each.line); !checked) return checked;
  }
  for (const Qos& each : setup.qos) {
    if (auto checked = check(each.limits, qos, 0); !checked) return checked;
  }
  return {};
}

}  // namespace vtrain::slurm
