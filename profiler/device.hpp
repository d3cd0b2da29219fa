/// The seams between the profiler's logic and a GPU node. The CUDA build implements them; tests bring their
/// own.
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

/// An operator that this device or these libraries cannot run. The recording goes on without it.
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

/// How the GPU fares at one moment.
struct HealthSample {
  double sm_clock_hz = 0;
  double memory_clock_hz = 0;
  double temperature_c = 0;
  double power_w = 0;
  bool throttled = false;  ///< the driver holds the clocks down because of heat or power
};

/// One GPU with one stream.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;
  virtual SoftwareFacts software() const = 0;
  virtual std::size_t free_memory() const = 0;
  /// Nothing where NVML is absent.
  virtual std::optional<HealthSample> sample_health() = 0;

  /// `NotMeasurable` if it cannot run here.
  virtual std::unique_ptr<PreparedOperator> prepare(const Operator& op) = 0;
  /// Launches made between the two belong to the range of that number.
  virtual void begin_range(std::uint64_t range) = 0;
  virtual void end_range() = 0;
  /// Overwrites L2, on the stream.
  virtual void overwrite_l2() = 0;
  /// Keeps the stream busy for about so long, so that the launches that follow wait in line.
  virtual void hold(double nanoseconds) = 0;
  virtual void synchronize() = 0;
  virtual ActivitySource& activity() = 0;
};

/// The GPUs of one process, or of all processes that MPI started. All of these call the same functions in the
/// same order.
class CollectiveRunner {
 public:
  virtual ~CollectiveRunner() = default;
  virtual std::int64_t num_gpus() const = 0;
  /// Nodes that the first `num_gpus` GPUs are on.
  virtual std::int64_t num_nodes(std::int64_t num_gpus) const = 0;
  /// Whether this process writes the table.
  virtual bool is_leader() const = 0;
  /// What the leader says.
  virtual bool agree(bool value) = 0;
  /// Times of the slowest GPU of the first `num_gpus`, one for each repetition, in nanoseconds; the same in
  /// every process. `NotMeasurable` in every process if it cannot run, for instance for want of memory.
  virtual std::vector<double> measure(Collective collective, std::int64_t num_gpus, std::int64_t bytes) = 0;
};

}  // namespace vtrain::profiler
