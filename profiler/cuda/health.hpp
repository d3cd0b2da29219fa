/// Clocks, temperature and power through NVML, which comes with the driver: it is opened when the program
/// runs, so that neither its header nor the library is needed to build.
#pragma once

#include <optional>
#include <string>

#include "profiler/device.hpp"

namespace vtrain::profiler {

/// One GPU as NVML sees it.
class HealthMonitor {
 public:
  /// `pci_bus_id` as CUDA names it (`0000:3b:00.0`): NVML numbers GPUs differently.
  explicit HealthMonitor(const std::string& pci_bus_id);
  /// Nothing where NVML is absent or does not know the GPU.
  std::optional<HealthSample> sample() const;

 private:
  void* device_ = nullptr;
};

/// The driver's own version, `580.65.06`; nothing where NVML is absent.
std::optional<std::string> driver_version();

}  // namespace vtrain::profiler
