/// `vtrain-gpus`: what the GPUs of this node are, as one JSON document. The hardware half of a profile.
#include <cstdio>
#include <exception>

#include "profiler/cuda_call.hpp"

namespace {

constexpr int kExitSkipped = 77;

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  VTRAIN_CUDA_CALL(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

void print_gpu(int device, bool last) {
  cudaDeviceProp properties{};
  VTRAIN_CUDA_CALL(cudaGetDeviceProperties(&properties, device));
  // Memory moves data on both edges of its clock (kHz) over a bus of so many bits.
  const double clock_hz = attribute(cudaDevAttrMemoryClockRate, device) * 1e3;
  const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
  fmt::print(
      "  {{\"device\": {}, \"name\": \"{}\", \"compute_capability\": \"{}.{}\", \"multiprocessors\": {},\n"
      "   \"clock_hz\": {:.0f}, \"memory_bytes\": {}, \"memory_bytes_per_second\": {:.0f}, \"l2_bytes\": {}}}{}\n",
      device, properties.name, properties.major, properties.minor, properties.multiProcessorCount,
      attribute(cudaDevAttrClockRate, device) * 1e3, properties.totalGlobalMem, 2 * clock_hz * bus_bytes,
      properties.l2CacheSize, last ? "" : ",");
}

}  // namespace

int main() try {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    fmt::print(stderr, "no GPU on this machine: {}\n", cudaGetErrorString(status));
    return kExitSkipped;
  }
  fmt::print("[\n");
  for (int device = 0; device < count; ++device) print_gpu(device, device + 1 == count);
  fmt::print("]\n");
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "error: {}\n", error.what());
  return 1;
}
