/// The parts of a backend with CUDA: a GPU, the collectives of several, and facts about both.
#pragma once

#include <memory>

#include "profiler/device.hpp"
#include "profiler/kernel_table.hpp"

namespace vtrain::profiler {

/// Opens a GPU by its number on this node. `std::runtime_error` in one line if there is no such GPU.
std::unique_ptr<Device> open_gpu(int device);

/// Collectives through NCCL: among all GPUs of this node, or under `mpirun` (in a build with MPI) with one
/// GPU per process. Only in a build with NCCL.
std::unique_ptr<CollectiveRunner> open_nccl();

/// The facts of a GPU by its number on this node.
DeviceFacts device_facts(int device);

/// Versions of the driver and of the libraries that this program was linked with.
SoftwareFacts software_facts();

}  // namespace vtrain::profiler
