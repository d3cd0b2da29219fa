/// Parser for the command lines of the stand-alone `vtrain-profile`, and the options of `record`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/estimate.hpp"
#include "profiler/grid.hpp"
#include "profiler/recording.hpp"

namespace vtrain::profiler {

/// The options of one command. Values follow as `--name value` or `--name=value`.
class ArgumentParser {
 public:
  /// `usage` is the text before the options in the help.
  explicit ArgumentParser(std::string usage) : usage_(std::move(usage)) {}

  /// `value_name` is empty for a flag, whose `take` gets an empty text. `take` may throw `InputError`.
  void add(std::string_view name, std::string_view value_name, std::string_view help,
           std::function<void(std::string_view)> take);

  /// Takes all arguments. `InputError` for an unknown one, with the nearest known one. False if help was
  /// requested; then the caller only prints it.
  bool parse(const std::vector<std::string>& arguments) const;
  std::string help() const;

 private:
  struct Option {
    std::string name;
    std::string value_name;
    std::string help;
    std::function<void(std::string_view)> take;
  };

  const Option& find(std::string_view name) const;

  std::string usage_;
  std::vector<Option> options_;
};

/// A whole number of at least `least`; else an `InputError` that names the option.
std::int64_t parse_whole(std::string_view option, std::string_view text, std::int64_t least);
/// A number above 0.
double parse_positive(std::string_view option, std::string_view text);
/// The parts between separators; none may be empty.
std::vector<std::string_view> split_list(std::string_view option, std::string_view text,
                                         char separator = ',');
std::vector<std::int64_t> parse_whole_list(std::string_view option, std::string_view text,
                                           std::int64_t least);

/// The options of `record`.
struct RecordArguments {
  std::filesystem::path folder;
  GridSpec grid = default_grid();
  SweepSpec sweep;
  Protocol protocol;
  bool operators = true;
  bool collectives = true;
  bool dry_run = false;
  bool list = false;
  double time_limit_s = 0;
  int device = 0;
};

/// A parser of these options; `program` is the name in the user's command.
ArgumentParser record_parser(const std::string& program, RecordArguments& arguments);

/// Checks that products of sizes cannot overflow, and that there is a folder unless it is a dry run;
/// `InputError` otherwise.
void check(const RecordArguments& arguments);

}  // namespace vtrain::profiler
