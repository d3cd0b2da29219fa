#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/json_reader.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/config/predict_config.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/stack/stack.hpp"

namespace {

void check_model_of(const vtrain::TransformerModel& model) {
  if (model.num_parameters() <= 0 || model.active_parameters() > model.num_parameters()) std::abort();
  const double flops = vtrain::model_flops(model, 1).value;
  if (!(flops > 0) || !std::isfinite(flops)) std::abort();
}

/// True if the configuration names another file, which the fuzzer must not read.
bool names_a_file(const nlohmann::json& root) {
  const auto model = root.is_object() ? root.find("model") : root.end();
  if (model == root.end() || !model->is_string()) return false;
  const auto name = model->get<std::string>();
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

}  // namespace

/// Checks that any bytes give an error with a message, or a model and a plan that can be predicted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = vtrain::JsonDocument::parse(text, "input", vtrain::NonFinite::Null);
  if (!document || names_a_file(document->root())) return 0;
  const auto model = vtrain::describe_model(*document, document->root());
  if (model) check_model_of(model->model);
  if (!model && model.error().message.empty()) std::abort();

  const auto config = vtrain::parse_predict_config(text, "input");
  if (!config) {
    if (config.error().message.empty()) std::abort();
    return 0;
  }
  if (!vtrain::check_plan(config->model, config->plan)) return 0;
  check_model_of(config->model);
  static const auto profile = vtrain::load_gpu_profile("a100").value();
  const auto memory =
      vtrain::estimate_memory(config->model, config->plan, profile, vtrain::kMegatronCoreMemory);
  if (!(memory.peak.value > 0) || !std::isfinite(memory.peak.value)) std::abort();
  return 0;
}
