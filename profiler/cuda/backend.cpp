// The backend of a build with CUDA.
#include "profiler/command.hpp"
#include "profiler/cuda/gpu.hpp"
#ifdef VTRAIN_NCCL
#include "profiler/cuda/nccl_collectives.hpp"
#endif

namespace vtrain::profiler {

Backend node_backend() {
  Backend backend;
  backend.open_device = open_gpu;
#ifdef VTRAIN_NCCL
  backend.open_collectives = open_nccl;
#endif
  return backend;
}

}  // namespace vtrain::profiler
