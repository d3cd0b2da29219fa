#include "workloads/config/framework_config.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {

Result<TransformerModel> load_named_model(const std::string& name, std::int64_t sequence_length) {
  auto model = load_model(name, sequence_length);
  if (model) return std::move(model->model);
  if (model.error().file.empty()) model.error().field = "--model";
  return fail(std::move(model.error()));
}

void set_gpus(SettingReader& settings, ParallelPlan& plan, std::int64_t of_file,
              const ConfigOptions& options) {
  const std::int64_t num_gpus = options.num_gpus > 0 ? options.num_gpus : of_file;
  if (num_gpus == 0)
    return settings.complain("--gpus",
                             "missing: the file does not say how many GPUs; say for instance --gpus 64");
  if (of_file > 0 && of_file != num_gpus)
    settings.remark(fmt::format("--gpus {} in place of the {} GPUs of the file", with_thousands(num_gpus),
                                with_thousands(of_file)));
  const std::int64_t others = plan.tensor * plan.context * plan.pipeline;
  if (num_gpus % others != 0) {
    return settings.complain(
        "--gpus", expected_found(fmt::format("a multiple of tensor {} x context {} x pipeline {} = {}",
                                             plan.tensor, plan.context, plan.pipeline, others),
                                 std::to_string(num_gpus)));
  }
  plan.data = num_gpus / others;
}

void apply_plan_options(SettingReader& settings, ParallelPlan& plan, const ConfigOptions& options) {
  for (const NamedSetting& option : options.plan) {
    const Field<ParallelPlan>* const field = find_plan_field(option.name);
    if (field == nullptr || field->key == "data") continue;
    if (auto set = set_field(*field, plan, option.value); !set)
      settings.fail_at_option(option.name, set.error().message);
    settings.notes().places[std::string(field->key)] = {"--plan " + option.name, 0};
  }
}

bool has_plan_option(const ConfigOptions& options, std::string_view key) {
  return std::any_of(options.plan.begin(), options.plan.end(), [key](const NamedSetting& option) {
    const Field<ParallelPlan>* const field = find_plan_field(option.name);
    return field != nullptr && field->key == key;
  });
}

Error place_in_settings(const SettingNotes& notes, Error error) {
  if (!error.file.empty()) return error;
  error.file = notes.file;
  const auto place = notes.places.find(error.field);
  if (place == notes.places.end()) return error;
  error.field = printable(place->second.name);
  error.line = place->second.line;
  return error;
}

Result<PredictConfig> finish_config(SettingReader& settings, PredictConfig config,
                                    const ConfigOptions& /*options*/) {
  if (settings.error()) return fail(*settings.error());
  if (config.model.name.empty()) {
    const std::filesystem::path path(settings.notes().file);
    config.model.name = path == "-" || path.stem().empty() ? "model" : path.stem().string();
  }
  if (auto checked = check_plan(config.model, config.plan); !checked)
    return fail(place_in_settings(settings.notes(), std::move(checked.error())));
  config.settings = std::move(settings.notes());
  return config;
}

}  // namespace vtrain
