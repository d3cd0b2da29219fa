/// Wrong usage of the command line, said as every other error is.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace vtrain {

/// Whether the parse of `program` ended for help, or the version, of a command that there is.
bool asks_for_help(const CLI::App& program, const CLI::ParseError& error);

/// What to print of a command line that `program` did not take: which option, argument or command is unknown,
/// with the nearest known one, or else what CLI11 says; then which command has the help.
std::string describe_usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Whether no file that a command is to write (`--out`, `--report`, `--timeline`, `--graph`, `--predictions`)
/// is one that it is to read, by a positional argument, `--trace`, `--from`, `--cluster`, `--throughputs`,
/// `--calibrate`, `--profile` or `--devices`, or to write for another option. Nothing is said of what lies in
/// folders, nor of commands that write one.
Result<void> check_arguments_stay(const CLI::App& program);

/// An error in what an option was given: `--name: expected ..., found ...`, or `--name: key: ...`. One in a
/// file or of another option says where it is by itself.
Error in_option(std::string option, Error error);

/// The same of a result.
template <class T>
Result<T> in_option(std::string option, Result<T> result) {
  if (result) return result;
  return fail(in_option(std::move(option), std::move(result.error())));
}

}  // namespace vtrain
