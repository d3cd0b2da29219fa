/// Facts of a GPU and of the software on its node.
#include "profiler/cuda/backend.hpp"
#include "profiler/cuda/cuda_call.hpp"
#include "profiler/cuda/health.hpp"

#ifdef VTRAIN_CUDNN
#include <cudnn.h>
#endif
#ifdef VTRAIN_NCCL
#include <nccl.h>
#endif

namespace vtrain::profiler {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  VTRAIN_CUDA_CALL(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace

DeviceFacts device_facts(int device) {
  cudaDeviceProp properties{};
  VTRAIN_CUDA_CALL(cudaGetDeviceProperties(&properties, device));
  DeviceFacts facts;
  facts.name = properties.name;
  facts.compute_capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  facts.multiprocessors = properties.multiProcessorCount;
  facts.clock_hz = std::int64_t{attribute(cudaDevAttrClockRate, device)} * 1000;
  facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  // Memory moves data on both edges of its clock (kHz) over a bus of so many bits.
  facts.memory_bytes_per_second = std::int64_t{attribute(cudaDevAttrMemoryClockRate, device)} * 1000 * 2 *
                                  attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
  facts.l2_bytes = properties.l2CacheSize;
  return facts;
}

SoftwareFacts software_facts() {
  SoftwareFacts facts;
  facts.driver = driver_version();
  int version = 0;
  VTRAIN_CUDA_CALL(cudaDriverGetVersion(&version));
  facts.cuda_driver = version;
  VTRAIN_CUDA_CALL(cudaRuntimeGetVersion(&version));
  facts.cuda_runtime = version;
  facts.cublaslt = static_cast<std::int64_t>(cublasLtGetVersion());
#ifdef VTRAIN_CUDNN
  facts.cudnn = static_cast<std::int64_t>(cudnnGetVersion());
#endif
#ifdef VTRAIN_NCCL
  if (ncclGetVersion(&version) == ncclSuccess) facts.nccl = version;
#endif
  std::uint32_t cupti = 0;
  VTRAIN_CUDA_CALL(cuptiGetVersion(&cupti));
  facts.cupti = cupti;
  return facts;
}

}  // namespace vtrain::profiler
