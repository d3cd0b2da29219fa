/// Contents of tensors before they are measured. Everything runs on the default stream and has finished on
/// return.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// Fills `bytes` with numbers between -1 and 1 in a format.
void fill_random(Format format, void* data, std::size_t bytes);
/// Fills an array with numbers between 0 and 1.
void fill_floats(float* data, std::int64_t count);
/// Fills an array with 8-byte tokens from 0 to `vocabulary` - 1.
void fill_tokens(void* data, std::int64_t count, std::int64_t vocabulary);

}  // namespace vtrain::profiler
