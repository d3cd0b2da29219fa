/// Clocks, temperature and power through NVML, a part of the driver. The library is opened at run time, so
/// the build needs neither its header nor the library.
#pragma once

#include <optional>
#include <string>

#include "profiler/device.hpp"

namespace vtrain::profiler {

/// One GPU as NVML sees it.
class HealthMonitor {
 public:
  /// Takes `pci_bus_id` as CUDA names it (`0000:3b:00.0`), as NVML numbers GPUs differently.
  explicit HealthMonitor(const std::string& pci_bus_id);
  /// One sample; none if NVML is absent or does not know the GPU.
  std::optional<HealthSample> sample() const;

 private:
  void* device_ = nullptr;
};

/// The driver's own version, `580.65.06`; none if NVML is absent.
std::optional<std::string> driver_version();

}  // namespace vtrain::profiler
