#include "tools/commands/predict_plan.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "tools/cli/value_checks.hpp"
#include "workloads/config/megatron_config.hpp"
#include "workloads/model/plan_fields.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

/// Names of `--plan`: the short ones, else those of the other options.
std::vector<std::string_view> plan_names() {
  std::vector<std::string_view> names;
  for (const Field<ParallelPlan>& field : plan_fields())
    names.push_back(!field.alias.empty() ? field.alias : !field.option.empty() ? field.option : field.key);
  names.emplace_back("seq");
  return names;
}

}  // namespace

void add_predict_plan_options(CLI::App& command, PredictPlanArguments& arguments) {
  command.add_option("--gpus", arguments.num_gpus, "All GPUs, in place of the file's")
      ->transform(gpu_count());
  command.add_option(
      "--model", arguments.model,
      "Model of a file that has none (DeepSpeed), or in place of the file's: a name or a file");
  const std::vector<std::string_view> names = plan_names();
  command.add_option(
      "--plan", arguments.plan,
      fmt::format("Fields of the plan in place of the file's, as tp=8,pp=4,mbs=1,gbs=512. Names: {}",
                  fmt::join(names, ", ")));
  for (const MegatronPlanOption& option : megatron_plan_options()) {
    auto& kept = arguments.megatron.emplace_back();
    kept.name = "--" + std::string(option.name);
    const std::string meaning(option.meaning);
    CLI::Option* const added = option.is_flag ? command.add_flag_callback(
                                                    kept.name, [&kept] { kept.is_given = true; }, meaning)
                                              : command.add_option_function<std::string>(
                                                    kept.name,
                                                    [&kept](const std::string& value) {
                                                      kept.is_given = true;
                                                      kept.value = value;
                                                    },
                                                    meaning);
    added->group("Megatron-LM's names, for a model or a launch script");
  }
}

Result<ConfigOptions> read_predict_plan(const PredictPlanArguments& arguments) {
  ConfigOptions options{.num_gpus = arguments.num_gpus, .model = arguments.model};
  for (const PredictPlanArguments::Option& option : arguments.megatron) {
    if (option.is_given) options.settings.push_back({.name = option.name, .value = option.value});
  }
  if (arguments.plan.empty()) return options;
  for (const std::string_view part : split(arguments.plan, ',')) {
    const auto [key, value] = split_once(part, '=');
    if (!value)
      return fail({.field = "--plan", .message = expected_found("name=value, for instance tp=8", part)});
    if (key == "seq" || key == "sequence_length") {
      const auto length = parse_integer(*value, 1, kMaxSequenceLength);
      if (!length) return fail({.field = "--plan seq", .message = length.error().message});
      options.sequence_length = *length;
    } else if (find_plan_field(key) == nullptr) {
      return fail(
          {.field = "--plan",
           .message = fmt::format("unknown name '{}'; {}", printable(key), suggest_name(key, plan_names()))});
    } else {
      options.plan.push_back({.name = std::string(key), .value = std::string(*value)});
    }
  }
  return options;
}

Result<PredictConfig> read_predict_input(const std::string& input, const ConfigOptions& options) {
  std::error_code no_path;
  if (std::filesystem::exists(input, no_path) || !find_model(input))
    return read_predict_config(input, options);
  ConfigOptions of_model = options;
  of_model.model = input;
  return config_of_options(of_model);
}

std::string describe_ignored_settings(const SettingNotes& notes) {
  std::string text;
  if (!notes.without_effect.empty()) {
    text = fmt::format("{} settings change nothing that is modelled: {}", notes.without_effect.size(),
                       printable(fmt::format("{}", fmt::join(notes.without_effect, ", "))));
  }
  if (!notes.unknown.empty()) {
    text += fmt::format("{}{} unknown settings are not taken into account: {}", text.empty() ? "" : "; ",
                        notes.unknown.size(), printable(fmt::format("{}", fmt::join(notes.unknown, ", "))));
  }
  return text;
}

}  // namespace vtrain
