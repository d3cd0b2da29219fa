/// The kernel traces of the public vTrain release: which GPU kernels an operator launches, and how long each
/// takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"

namespace vtrain {

/// One profiled GPU kernel.
struct Kernel {
  std::int64_t duration_ns = 0;
  std::int64_t gap_ns = 0;  ///< from its end to the start of the kernel recorded after it; may be negative
};

/// The kernels of one operator, in the order of the trace.
struct KernelSequence {
  std::vector<Kernel> kernels;

  /// Sum of durations.
  std::int64_t duration_ns() const;
  /// Durations and gaps from the start of the first to the end of the last kernel: the gap after the last
  /// does not count.
  std::int64_t span_ns() const;
};

/// Kernels by operator, for instance `Fwd_transformer`. `NONE` holds kernels launched outside every operator.
using KernelTable = std::map<std::string, KernelSequence, std::less<>>;

/// Reads a trace file `trace_{hidden}_{tensor}_{micro batch}`. Errors name the line: a row with too few
/// fields, an event out of order, a kernel whose launch is not in the file, a file cut off inside an
/// operator.
Result<KernelTable> parse_kernel_trace(std::string_view text, const std::string& file);

}  // namespace vtrain
