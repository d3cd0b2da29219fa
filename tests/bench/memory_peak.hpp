/// Peak memory of a part of a benchmark, counted in the program's `operator new`.
#pragma once

#include <cstddef>

namespace vtrain {

/// Starts counting: `peak_bytes` is 0 until memory is allocated.
void reset_peak();
/// The most bytes allocated at once since `reset_peak`, above those allocated at that time.
std::size_t peak_bytes();

}  // namespace vtrain
