#include "profiler/cuda/health.hpp"

#include <dlfcn.h>

namespace vtrain::profiler {
namespace {

/// Numbers of NVML's stable interface (nvml.h).
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
/// Reasons for limited clocks: power cap (4), hardware slowdown (8), heat in software (0x20) and hardware
/// (0x40), power brake (0x80).
constexpr unsigned long long kThrottleReasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// The functions of NVML that are used; all null without it.
struct Nvml {
  int (*init)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*find_device)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*throttle_reasons)(void*, unsigned long long*) = nullptr;
  bool is_open = false;

  Nvml() {
    // Stays open until the program ends.
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    is_open =
        load(library, "nvmlInit_v2", init) && load(library, "nvmlSystemGetDriverVersion", driver_version) &&
        load(library, "nvmlDeviceGetHandleByPciBusId_v2", find_device) &&
        load(library, "nvmlDeviceGetClockInfo", clock) &&
        load(library, "nvmlDeviceGetTemperature", temperature) &&
        load(library, "nvmlDeviceGetPowerUsage", power) &&
        load(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle_reasons) && init() == kSuccess;
  }

  template <typename Function>
  static bool load(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
};

const Nvml& nvml() {
  static const Nvml loaded;
  return loaded;
}

}  // namespace

HealthMonitor::HealthMonitor(const std::string& pci_bus_id) {
  if (nvml().is_open && nvml().find_device(pci_bus_id.c_str(), &device_) != kSuccess) device_ = nullptr;
}

std::optional<HealthSample> HealthMonitor::sample() const {
  if (device_ == nullptr) return std::nullopt;
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
  unsigned celsius = 0;
  unsigned milliwatts = 0;
  unsigned long long reasons = 0;
  if (nvml().clock(device_, kClockSm, &sm_mhz) != kSuccess ||
      nvml().clock(device_, kClockMemory, &memory_mhz) != kSuccess ||
      nvml().temperature(device_, kTemperatureGpu, &celsius) != kSuccess ||
      nvml().power(device_, &milliwatts) != kSuccess ||
      nvml().throttle_reasons(device_, &reasons) != kSuccess) {
    return std::nullopt;
  }
  return HealthSample{sm_mhz * 1e6, memory_mhz * 1e6, static_cast<double>(celsius), milliwatts / 1e3,
                      (reasons & kThrottleReasons) != 0};
}

std::optional<std::string> driver_version() {
  char text[96] = {};
  if (!nvml().is_open || nvml().driver_version(text, sizeof text) != kSuccess) return std::nullopt;
  return text;
}

}  // namespace vtrain::profiler
