/// Collectives through NCCL: the GPUs of one process, or with MPI one GPU in each of many.
#pragma once

#include <memory>

#include "profiler/device.hpp"

namespace vtrain::profiler {

/// All GPUs of this node, or under `mpirun` (in a build with MPI) one for each process.
std::unique_ptr<CollectiveRunner> open_nccl();

}  // namespace vtrain::profiler
