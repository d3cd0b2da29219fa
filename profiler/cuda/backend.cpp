#include "profiler/cuda/backend.hpp"

#include "profiler/command.hpp"

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
