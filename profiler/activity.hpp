/// Interface between the profiler and the source of GPU activity: CUPTI on a GPU node, synthetic records in
/// tests. It uses the profiler's own record types, so that everything above it builds without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vtrain::profiler {

/// One kernel, memory set or copy that ran on the GPU. Memory sets and copies are called `[memset]` and
/// `[memcpy]`.
struct KernelRecord {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  /// Id of the call that launched it. All kernels of a graph share the id of the graph's launch.
  std::uint32_t correlation = 0;
  std::uint32_t stream = 0;
  std::string name;
};

/// A call within a range: CUPTI's external correlation.
struct RangeRecord {
  std::uint32_t correlation = 0;
  std::uint64_t range = 0;
};

/// Records in no particular order.
struct Activity {
  std::vector<KernelRecord> kernels;
  std::vector<RangeRecord> ranges;
  std::uint64_t dropped = 0;  ///< records lost because no buffer was free
};

/// Records the GPU's activity between `start` and `stop`. Not safe for several threads.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  virtual void start() = 0;
  /// Waits for the records of all finished launches.
  virtual void stop() = 0;
  /// The records since the last call.
  virtual Activity collect() = 0;
};

}  // namespace vtrain::profiler
