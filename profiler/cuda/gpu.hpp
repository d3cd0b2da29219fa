/// One GPU of this node as a `Device`.
#pragma once

#include <memory>

#include "profiler/device.hpp"

namespace vtrain::profiler {

/// Opens a GPU by its number on this node. `std::runtime_error` in one line if there is no such GPU.
std::unique_ptr<Device> open_gpu(int device);

}  // namespace vtrain::profiler
