/// What the user asks of a recording.
#pragma once

#include <filesystem>
#include <string>

#include "profiler/arguments.hpp"
#include "profiler/estimate.hpp"
#include "profiler/grid.hpp"
#include "profiler/recording.hpp"

namespace vtrain::profiler {

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

/// The options of `record`; `program` is how the user called it.
ArgumentParser record_parser(const std::string& program, RecordArguments& arguments);

/// Sizes whose products stay far from overflow, and a folder unless it is a dry run; `InputError` otherwise.
void check(const RecordArguments& arguments);

}  // namespace vtrain::profiler
