// Whatever a recording says, reading it ends in an error or in one that makes a profile or says why not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/kernels/kernel_recording.hpp"
#include "core/profile/gpu_profile.hpp"
#include "core/profile/recording_profile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const auto recording =
      parse_kernel_recording(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
  if (!recording) {
    if (recording.error().message.empty()) std::abort();
    return 0;
  }
  constexpr std::size_t kFewOperators = 16;  // moving a table takes time for each
  if (recording->operators.size() > kFewOperators) return 0;
  const auto profile = recording_to_profile(*recording, "h200", "fuzz");
  if (profile && !parse_gpu_profile(*profile, "profile.json")) std::abort();
  return 0;
}
