/// The `record` command, shared by `vtrain profile record` and the stand-alone `vtrain-profile`.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "profiler/device.hpp"

namespace vtrain::profiler {

/// Functions of the program that runs the command.
struct Backend {
  /// Opens a GPU by its number on this node; throws if there is none. Empty in a build without CUDA.
  std::function<std::unique_ptr<Device>(int)> open_device;
  /// Opens the collectives. Empty in a build without NCCL.
  std::function<std::unique_ptr<CollectiveRunner>()> open_collectives;
  std::function<bool()> is_interrupted;
  bool progress_on_terminal = false;
};

/// Records as the arguments request, or describes the plan of a dry run. Results go to `out`, progress to
/// `err`. `program` is the name in the user's command, for the help and the table. Throws `InputError` for
/// wrong arguments or a wrong table, and `std::runtime_error` on failure or without a GPU.
void record(const std::string& program, const std::vector<std::string>& arguments, const Backend& backend,
            std::ostream& out, std::ostream& err);

/// Runs the command for a `main`: errors go to `err`, one line each. Returns the exit code: 0, or 1 on
/// failure or without a GPU, or 2 for wrong arguments or a wrong table.
int run_record(const std::string& program, const std::vector<std::string>& arguments, const Backend& backend,
               std::ostream& out, std::ostream& err);

/// The backend of this build: the node's GPUs with CUDA, and an empty backend without it.
Backend node_backend();

}  // namespace vtrain::profiler
