/// `vtrain-profile`: `vtrain profile record` as a separate program, for GPU nodes that have CUDA and a
/// compiler but not the libraries of `vtrain`.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "profiler/command.hpp"

namespace {

std::atomic<bool> is_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void interrupt(int) {
  is_interrupted = true;
}

constexpr int kExitBadInput = 2;

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] != "record") {
    const bool asks = !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
    (asks ? std::cout : std::cerr)
        << "Measures GPU kernels for vtrain.\n\n"
           "  vtrain-profile record --out DIR    measure what the table in DIR lacks\n"
           "  vtrain-profile record --help       all options\n";
    return asks ? 0 : kExitBadInput;
  }
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  vtrain::profiler::Backend backend = vtrain::profiler::node_backend();
  backend.is_interrupted = [] { return is_interrupted.load(); };
  backend.progress_on_terminal = isatty(STDERR_FILENO) != 0;
  return vtrain::profiler::run_record("vtrain-profile record", {arguments.begin() + 1, arguments.end()},
                                      backend, std::cout, std::cerr);
}
