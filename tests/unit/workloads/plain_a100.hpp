/// The program's A100, for tests (`release_a100.hpp` is that of the public vTrain release).
#pragma once

#include "core/profile/gpu_profile.hpp"

namespace vtrain::testing {

inline const GpuProfile& a100() {
  static const GpuProfile profile = load_gpu_profile("a100").value();
  return profile;
}

}  // namespace vtrain::testing
