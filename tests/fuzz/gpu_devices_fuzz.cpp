// Whatever a description of devices says, importing one of them ends in an error or in a profile that reads
// back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/profile/gpu_profile.hpp"
#include "core/profile/import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const vtrain::DeviceFile devices{.text = std::string(reinterpret_cast<const char*>(data), size),
                                   .name = "devices.json"};
  const auto profile = vtrain::import_gpu_profile(devices, "a", "/nonexistent", "");
  if (!profile) {
    if (profile.error().message.empty()) std::abort();
    return 0;
  }
  const auto read_back = vtrain::parse_gpu_profile(*profile, "profile.json");
  // Only what one profile says of another can be wrong in it.
  if (!read_back && profile->find("\"extends\"") == std::string::npos &&
      profile->find("\"kernel\"") == std::string::npos)
    std::abort();
  return 0;
}
