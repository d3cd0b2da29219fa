// Whatever a profile says, reading it ends in an error or in a profile that predicts finite times.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/gpu_profile.hpp"
#include "workloads/physical_semantics.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const auto profile = parse_gpu_profile(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
  if (!profile) return 0;
  const TransformerModel model{"", 4, 1024, 16, 512};
  const ParallelPlan plan{.tensor = 2, .data = 2, .pipeline = 2, .global_batch = 16, .micro_batch = 2};
  const auto prediction = predict_physical(model, plan, *profile, default_stack());
  if (!prediction) std::abort();
  const double iteration = fast_iteration_times(prediction->work).iteration.count();
  if (!std::isfinite(iteration) || iteration < 0 || !(prediction->memory.peak.value > 0)) std::abort();
  return 0;
}
