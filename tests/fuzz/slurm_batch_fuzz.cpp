#include "tests/fuzz/check_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vtrain::check_trace(data, size, "slurm-batch");
}
