/// How much memory a part of a benchmark allocates at most, counted in the program's `operator new`.
#pragma once

#include <cstddef>

namespace vtrain {

/// Counts from here on: `peak_bytes` is 0 until something is allocated.
void reset_peak();
/// The most bytes that were allocated at once since then, beyond those at that time.
std::size_t peak_bytes();

}  // namespace vtrain
