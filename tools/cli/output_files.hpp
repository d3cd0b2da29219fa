/// Files that commands write: none is replaced unless the user says so.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace vtrain {

/// Adds `--force` to every command below `program` that writes single files. Folders of runs have rules of
/// their own (docs/results.md).
void add_force_options(CLI::App& program);

/// An error if an option of the command that was parsed names a file that exists, without `--force`. What is
/// no regular file (a pipe, a device), and what standard output goes to, is written as it comes.
Result<void> check_outputs_are_new(const CLI::App& program);

/// The first of `jobs.csv`, `jobs-2.csv`, ... that does not exist here, for commands that are suggested.
std::string unused_file_name(std::string_view stem, std::string_view ending);

}  // namespace vtrain
