/// Files that commands write. None is replaced unless the user asks for it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace vtrain {

/// Adds `--force` to every command below `program` that writes single files. Folders of runs and
/// results of sweeps have rules of their own (docs/results.md, docs/sweep.md).
void add_force_options(CLI::App& program);

/// Checks that output options of the parsed command name no existing file, unless `--force` is given. Pipes,
/// devices and the file of standard output are allowed.
Result<void> check_outputs_are_new(const CLI::App& program);

/// The first of `jobs.csv`, `jobs-2.csv`, ... that does not exist here, for suggested commands.
std::string unused_file_name(std::string_view stem, std::string_view ending);

}  // namespace vtrain
