/// `vtrain-gpus`: facts of this node's GPUs as one JSON document. The hardware half of a profile.
#include <cstdio>
#include <exception>

#include "profiler/cuda/backend.hpp"
#include "profiler/cuda/cuda_call.hpp"
#include "profiler/json_value.hpp"

namespace {

constexpr int kExitSkipped = 77;

void print_gpu(int device, bool last) {
  const vtrain::profiler::DeviceFacts facts = vtrain::profiler::device_facts(device);
  std::printf(
      "  {\"device\": %d, \"name\": %s, \"compute_capability\": \"%s\", \"multiprocessors\": %lld,\n"
      "   \"clock_hz\": %lld, \"memory_bytes\": %lld, \"memory_bytes_per_second\": %lld, \"l2_bytes\": "
      "%lld}%s\n",
      device, vtrain::profiler::json_quoted(facts.name).c_str(), facts.compute_capability.c_str(),
      static_cast<long long>(facts.multiprocessors), static_cast<long long>(facts.clock_hz),
      static_cast<long long>(facts.memory_bytes), static_cast<long long>(facts.memory_bytes_per_second),
      static_cast<long long>(facts.l2_bytes), last ? "" : ",");
}

}  // namespace

int main() try {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    std::fprintf(stderr, "no GPU on this machine: %s\n", cudaGetErrorString(status));
    return kExitSkipped;
  }
  std::puts("[");
  for (int device = 0; device < count; ++device)
    print_gpu(device, device + 1 == count);
  std::puts("]");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
