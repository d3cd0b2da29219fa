/// Interfaces between the profiler's logic and a GPU node. The CUDA build implements them; tests have their
/// own implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "profiler/activity.hpp"
#include "profiler/bus_bandwidth.hpp"
#include "profiler/kernel_table.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// An operator that this device or these libraries cannot run. The recording continues without it.
class NotMeasurable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An operator with its memory and its libraries' plans.
class PreparedOperator {
 public:
  virtual ~PreparedOperator() = default;
  /// Launches the operator's kernels on the device's stream and returns.
  virtual void launch() = 0;
};

/// State of the GPU at one moment.
struct HealthSample {
  double sm_clock_hz = 0;
  double memory_clock_hz = 0;
  double temperature_c = 0;
  double power_w = 0;
  bool throttled = false;  ///< the driver limits the clocks because of heat or power
};

/// One GPU with one stream.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;
  virtual SoftwareFacts software() const = 0;
  virtual std::size_t free_memory() const = 0;
  /// Samples the state; none if NVML is absent.
  virtual std::optional<HealthSample> sample_health() = 0;

  /// Prepares an operator; `NotMeasurable` if it cannot run here.
  virtual std::unique_ptr<PreparedOperator> prepare(const Operator& op) = 0;
  /// Begins the range of that number: launches until `end_range` belong to it.
  virtual void begin_range(std::uint64_t range) = 0;
  virtual void end_range() = 0;
  /// Overwrites L2, in the stream's order.
  virtual void overwrite_l2() = 0;
  /// Keeps the stream busy for about this long, so that later launches queue up.
  virtual void hold(double nanoseconds) = 0;
  virtual void synchronize() = 0;
  virtual ActivitySource& activity() = 0;
};

/// The GPUs of one process, or of all processes that MPI started. All processes call the same functions in
/// the same order.
class CollectiveRunner {
 public:
  virtual ~CollectiveRunner() = default;
  virtual std::int64_t num_gpus() const = 0;
  /// Number of nodes of the first `num_gpus` GPUs.
  virtual std::int64_t num_nodes(std::int64_t num_gpus) const = 0;
  /// True if this process writes the table.
  virtual bool is_leader() const = 0;
  /// The leader's value, in every process.
  virtual bool agree(bool value) = 0;
  /// Times of the slowest of the first `num_gpus` GPUs, nanoseconds, one for each repetition; equal in every
  /// process. `NotMeasurable` in every process if it cannot run, for instance without enough memory.
  virtual std::vector<double> measure(Collective collective, std::int64_t num_gpus, std::int64_t bytes) = 0;
};

}  // namespace vtrain::profiler
