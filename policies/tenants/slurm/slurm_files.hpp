/// Files of a Slurm cluster that decide about priorities and limits, and their content.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/input.hpp"
#include "policies/base/policies.hpp"
#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"

namespace vtrain::slurm {

/// Names of files; empty where there is none.
struct SlurmFiles {
  std::string conf{};          ///< slurm.conf
  std::string associations{};  ///< `sacctmgr dump`, or `sacctmgr -P show assoc`
  std::string parents{};       ///< see `parse_parents`; not needed with a dump
  std::string qos{};           ///< `sacctmgr -P show qos`
  std::string usage{};         ///< see `read_usage`
  std::string history{};       ///< jobs that ran before the trace
  std::string passes{};        ///< passes of the priority plugin
  std::string reservations{};  ///< `scontrol show reservation -o`

  /// The files of a folder that are there, by their usual names. Error: it has no slurm.conf.
  static Result<SlurmFiles> of_folder(const std::string& folder);
};

/// Texts of files that were read already, by their names.
using KnownTexts = std::map<std::string, std::string, std::less<>>;

/// The known text of a file, or else that which it has. Errors: those of `read_file`.
Result<std::string> read_known_file(const KnownTexts& known, const std::string& file, InputKind kind);

/// What these files say.
struct SlurmSetup {
  Configuration configuration{};
  AssociationTree associations{};
  std::vector<Qos> qos{};
};

/// Reads configuration, associations with usage, and QOS. Errors: those of the files; no file of
/// associations, or one without the parents of accounts, where fair share counts.
Result<SlurmSetup> read_setup(const SlurmFiles& files, TresNames& names,
                              std::span<const std::string_view> ignore, const KnownTexts& known = {});

/// Returns an error for limits that change when jobs start and that nothing here follows: `GrpTRESMins`,
/// `GrpTRESRunMins`, `GrpWall`. The files are named in it.
Result<void> check_followed(const SlurmSetup& setup, const std::string& associations, const std::string& qos);

}  // namespace vtrain::slurm

namespace vtrain {

/// Makes `slurm`, taking the known texts in place of the files with these names.
MadePolicy make_slurm_live(const PolicyArguments& arguments, const slurm::KnownTexts& known);

}  // namespace vtrain
