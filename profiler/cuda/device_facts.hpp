/// What a GPU and the software on its node are.
#pragma once

#include "profiler/kernel_table.hpp"

namespace vtrain::profiler {

/// Of a GPU by its number on this node.
DeviceFacts device_facts(int device);

/// Versions of the driver and of the libraries that this program was linked with.
SoftwareFacts software_facts();

}  // namespace vtrain::profiler
