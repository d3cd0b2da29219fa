#include <cstdint>
#include <cstdlib>

#include "core/kernels/kernel_trace.hpp"

/// Checks that any bytes give an error with a message, or kernels in order of their start.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = vtrain::parse_kernel_trace({reinterpret_cast<const char*>(data), size}, "input");
  if (!table) {
    if (table.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& [name, sequence] : *table) {
    if (sequence.kernels.empty() || sequence.duration_ns() + sequence.inner_gap_ns() < 0) std::abort();
    for (const vtrain::Kernel& kernel : sequence.kernels) {
      if (kernel.duration_ns < 1 || kernel.duration_ns + kernel.gap_ns < 0) std::abort();
    }
  }
  return 0;
}
