/// Wrong usage of the command line, said as every other error is.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace vtrain {

/// What to print of a command line that `program` did not take: which option, argument or command is unknown,
/// with the nearest known one, or else what CLI11 says; then which command has the help.
std::string describe_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace vtrain
