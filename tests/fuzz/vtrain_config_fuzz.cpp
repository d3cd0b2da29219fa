#include <cstdint>
#include <cstdlib>

#include "workloads/release/release_config.hpp"
#include "workloads/release/release_predictor.hpp"

/// Checks that any bytes give an error with a message, or a plan without remainders.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = vtrain::parse_vtrain_config({reinterpret_cast<const char*>(data), size}, "input");
  if (!config) {
    if (config.error().message.empty()) std::abort();
    return 0;
  }
  const vtrain::ParallelPlan& plan = config->plan;
  if (plan.num_micro_batches() < 1 || config->model.num_layers % plan.pipeline != 0) std::abort();
  if (!(vtrain::gradient_bytes(*config, 0).value > 0)) std::abort();
  return 0;
}
