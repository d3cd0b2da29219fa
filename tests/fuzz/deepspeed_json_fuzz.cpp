#include <cstdint>
#include <cstdlib>
#include <string>

#include "workloads/config/predict_config.hpp"

/// Checks that any bytes give an error with a message, or a plan that fits its model.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const vtrain::ConfigOptions options{.num_gpus = 64, .model = "llama3-8b"};
  const auto config = vtrain::parse_predict_config(text, "ds.json", options);
  if (!config) {
    if (config.error().message.empty()) std::abort();
    return 0;
  }
  if (!config->release && !vtrain::check_plan(config->model, config->plan)) std::abort();
  return 0;
}
