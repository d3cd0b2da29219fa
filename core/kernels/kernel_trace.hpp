/// Kernel traces of the public vTrain release: the GPU kernels that an operator launches, with their
/// durations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// One profiled GPU kernel.
struct Kernel {
  std::int64_t duration_ns = 0;  ///< busy time, nanoseconds
  std::int64_t gap_ns = 0;  ///< gap from its end to the start of the next recorded kernel; may be negative
};

/// The kernels of one operator, in the order of the trace.
struct KernelSequence {
  std::vector<Kernel> kernels;  ///< kernels in the order of their starts

  /// Sum of durations.
  std::int64_t duration_ns() const;
  /// Sum of the gaps between kernels, without the gap after the last.
  std::int64_t inner_gap_ns() const;
};

/// Kernels by operator, for instance `Fwd_transformer`. `NONE` holds kernels launched outside every operator.
using TracedKernels = std::map<std::string, KernelSequence, std::less<>>;

// clang-format off
/// Reads a trace file `trace_{hidden}_{tensor}_{micro batch}`: one event a line, ordered by start.
///
///     start ns, duration ns, TIMESTAMP, "forward start transformer"        (also backward, WU; `end` closes the operator)
///     start ns, duration ns, RUNTIME or DRIVER, call, ..., correlation id
///     start ns, duration ns, KERNEL, "name", ..., correlation id           (also MEMCPY and MEMSET, which do not count)
///
/// A kernel belongs to the operator in which it was launched, regardless of the time at which it ran. Every
/// comma separates, also within quotes, as in the release. Only the first four fields and the last are used.
///
/// Errors name the line: a row with too few fields or an unclosed quote; an event out of order; a kernel
/// without its launch; a file cut off inside an operator or before its last launch's kernel. The order of
/// events ensures `duration + gap >= 0` for every kernel.
// clang-format on
Result<TracedKernels> parse_kernel_trace(std::string_view text, const std::string& file);

}  // namespace vtrain
