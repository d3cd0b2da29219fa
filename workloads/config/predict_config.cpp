#include "workloads/config/predict_config.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/config/deepspeed_config.hpp"
#include "workloads/settings/file_settings.hpp"
#include "workloads/config/framework_config.hpp"
#include "workloads/config/hugging_face.hpp"
#include "workloads/settings/launch_script.hpp"
#include "workloads/config/megatron_config.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/config/nemo_config.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/config/stack_json.hpp"
#include "workloads/config/torchtitan_config.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kKeys = {"model", "plan", "stack", "profile"};

/// Keys of our own description of a model that the public release's configurations do not have.
constexpr std::array<std::string_view, 4> kModelMarks = {"num_heads", "sequence_length", "base", "experts"};

bool has_any(const json& object, std::span<const std::string_view> keys) {
  return object.is_object() && std::any_of(keys.begin(), keys.end(),
                                           [&object](std::string_view key) { return object.contains(key); });
}

tl::unexpected<Error> plan_is_missing(const JsonDocument& document) {
  return fail(document.error_at(
      document.root(), "plan",
      "missing: the file describes a model; a prediction needs its training plan too, for instance "
      "{\"model\": \"" +
          std::filesystem::path(document.file()).filename().string() +
          "\", \"plan\": {\"data\": 8, \"global_batch\": 128, \"micro_batch\": 1, "
          "\"sequence_length\": 4096, \"recompute\": \"none\"}}"));
}

Result<ModelDescription> read_model_part(const JsonDocument& document, const json& part,
                                         std::int64_t sequence_length) {
  if (!part.is_string()) return describe_model(document, part, sequence_length);
  const std::filesystem::path folder = std::filesystem::path(document.file()).parent_path();
  auto model = load_model(part.get<std::string>(), sequence_length, folder);
  if (model || !model.error().file.empty()) return model;
  return fail(document.error_at(part, "", model.error().message));
}

/// Reads the stack, if there is one. Whoever resolves its name says what is wrong with it.
Result<void> read_stack_part(const JsonDocument& document, const json& object, JsonFields& fields,
                             PredictConfig& config) {
  if (!fields.has("stack") || !object["stack"].is_object()) {
    config.stack = fields.string_or("stack", "");
    return {};
  }
  auto stack = read_stack(document, object);
  if (!stack) return fail(std::move(stack.error()));
  config.stack = stack->name;
  config.changed_stack = *std::move(stack);
  return {};
}

Result<PredictConfig> read_release(std::string text, const std::string& file) {
  auto release = parse_vtrain_config(std::move(text), file);
  if (!release) return fail(std::move(release.error()));
  PredictConfig config;
  config.model = release->model;
  config.plan = release->plan;
  config.plan.micro_batch = release->given_micro_batch;
  config.profile = lower_case(release->machine.gpu_name);
  config.release = std::move(*release);
  return config;
}

/// Reads the document, which was parsed from `text`, as the kind of configuration that it looks like.
Result<PredictConfig> read_any(const JsonDocument& document, std::string text) {
  const json& root = document.root();
  if (has_any(root, std::array<std::string_view, 2>{"model", "plan"})) return read_settings(document, root);
  if (is_hugging_face_config(root) || has_any(root, kModelMarks)) {
    // Errors of the model come first.
    if (const auto model = describe_model(document, root); !model) return fail(model.error());
    return plan_is_missing(document);
  }
  return read_release(std::move(text), document.file());
}

/// The error for an option of Megatron-LM with a file of another framework.
Error not_for(const NamedSetting& option) {
  return {
      .field = option.name,
      .message =
          "options of Megatron-LM change only its launch scripts and plain models; this file takes --plan"};
}

/// Keys of DeepSpeed's JSON, one of which every file has.
constexpr std::array<std::string_view, 4> kDeepSpeedMarks = {
    "zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps"};

/// Kinds of configurations.
enum class ConfigKind : std::uint8_t { Json, Toml, Yaml, Script, Python };

/// True if a line of the text matches.
template <class Matches>
bool has_line(std::string_view text, const Matches& matches) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (matches(trim(text.substr(at, end - at)))) return true;
    at = end + 1;
  }
  return false;
}

/// The kind of a configuration, by the end of its name, else by its content.
ConfigKind kind_of(std::string_view text, const std::string& file) {
  const std::string extension = lower_case(std::filesystem::path(file).extension().string());
  if (extension == ".json") return ConfigKind::Json;
  if (extension == ".toml") return ConfigKind::Toml;
  if (extension == ".yaml" || extension == ".yml") return ConfigKind::Yaml;
  if (extension == ".sh" || extension == ".bash" || extension == ".slurm" || extension == ".sbatch")
    return ConfigKind::Script;
  if (extension == ".py") return ConfigKind::Python;
  const std::string_view content = trim(text);
  if (content.starts_with("#!")) {
    const bool is_python = content.substr(0, content.find('\n')).find("python") != std::string_view::npos;
    return is_python ? ConfigKind::Python : ConfigKind::Script;
  }
  if (content.starts_with('{')) return ConfigKind::Json;
  const bool has_tables = has_line(text, [](std::string_view line) {
    return line.starts_with('[') && line.find(']') != std::string_view::npos &&
           line.find(',') == std::string_view::npos;
  });
  const bool has_options = has_line(text, [](std::string_view line) {
    return line.starts_with("--") || line.find(" --") != std::string_view::npos;
  });
  if (has_options) return ConfigKind::Script;
  if (has_tables) return ConfigKind::Toml;
  const bool has_keys = has_line(
      text, [](std::string_view line) { return line == "model:" || line == "trainer:" || line == "train:"; });
  return has_keys ? ConfigKind::Yaml : ConfigKind::Json;
}

/// Reads settings with a framework's function.
template <class Reader>
Result<PredictConfig> with_settings(const Result<std::vector<NamedSetting>>& settings,
                                    const std::string& file, const ConfigOptions& options,
                                    const Reader& reader) {
  if (!settings) return fail(settings.error());
  if (!options.settings.empty() && file.ends_with(".toml")) return fail(not_for(options.settings.front()));
  return reader(*settings, file, options);
}

Result<PredictConfig> read_script(const std::string& text, const std::string& file,
                                  const ConfigOptions& options) {
  auto script = parse_launch_script(text, file);
  if (!script) return fail(std::move(script.error()));
  auto config = megatron_config(script->settings, file, options);
  if (config && config->settings) {
    std::vector<std::string>& remarks = config->settings->remarks;
    remarks.insert(remarks.end(), script->remarks.begin(), script->remarks.end());
  }
  return config;
}

/// Puts the values of the options in place of those of a configuration in JSON.
Result<PredictConfig> change(PredictConfig config, const ConfigOptions& options) {
  if (!options.settings.empty()) return fail(not_for(options.settings.front()));
  if (options.plan.empty() && options.num_gpus == 0 && options.sequence_length == 0) return config;
  SettingReader none({}, "", config.document.file());
  const std::int64_t num_gpus = config.plan.num_gpus().value;
  apply_plan_options(none, config.plan, options);
  if (options.sequence_length > 0) config.model.sequence_length = options.sequence_length;
  if (has_plan_option(options, "precision")) config.has_precision = true;
  set_gpus(none, config.plan, options.num_gpus > 0 ? 0 : num_gpus, options);
  if (none.error()) return fail(*none.error());
  if (config.release) return config;
  if (auto checked = check_plan(config.model, config.plan); !checked)
    return fail(place_in_settings(none.notes(), std::move(checked.error())));
  return config;
}

Result<PredictConfig> read_json(std::string text, const std::string& file, const ConfigOptions& options) {
  auto document = JsonDocument::parse(text, file, NonFinite::Null);
  if (!document) return fail(std::move(document.error()));
  const json& root = document->root();
  if (has_any(root, kDeepSpeedMarks) && !has_any(root, std::array<std::string_view, 1>{"plan"})) {
    if (!options.settings.empty()) return fail(not_for(options.settings.front()));
    return deepspeed_config(json_settings(*document), file, options);
  }
  const bool has_plan = !options.settings.empty() || !options.plan.empty() || options.num_gpus > 0;
  const bool is_plan = has_any(root, std::array<std::string_view, 2>{"model", "plan"});
  if (has_plan && !is_plan && (is_hugging_face_config(root) || has_any(root, kModelMarks))) {
    ConfigOptions of_model = options;
    of_model.model = std::filesystem::path(file).has_parent_path() ? file : "./" + file;
    return config_of_options(of_model);
  }
  auto config = read_any(*document, std::move(text));
  if (!config) return config;
  config->document = *std::move(document);
  return change(*std::move(config), options);
}

}  // namespace

Result<PredictConfig> read_settings(const JsonDocument& document, const json& object,
                                    MicroBatch micro_batch) {
  JsonFields fields(document, object);
  fields.allow_only(kKeys);
  PredictConfig config;
  if (auto read = read_stack_part(document, object, fields, config); !read) return fail(read.error());
  config.profile = fields.string_or("profile", "");
  for (const std::string_view key : {"model", "plan"}) {
    if (!fields.has(key)) fields.complain(key, "missing");
  }
  if (fields.error()) return fail(*fields.error());
  const auto plan = read_plan(document, object.at("plan"), micro_batch);
  if (!plan) return fail(plan.error());
  auto model = read_model_part(document, object.at("model"), plan->sequence_length);
  if (!model) return fail(std::move(model.error()));
  config.model = std::move(model->model);
  config.plan = plan->plan;
  config.has_precision = plan->has_precision;
  config.warnings = std::move(model->warnings);
  if (config.plan.micro_batch == 0) return config;
  if (const auto checked = check_plan(config.model, config.plan); !checked) {
    return fail(document.error_at(object.at("plan"), checked.error().field, checked.error().message));
  }
  return config;
}

Result<PredictConfig> parse_predict_config(std::string text, const std::string& file,
                                           const ConfigOptions& options) {
  switch (kind_of(text, file)) {
    case ConfigKind::Json:
      return read_json(std::move(text), file, options);
    case ConfigKind::Toml:
      return with_settings(parse_toml_settings(text, file), file, options, torchtitan_config);
    case ConfigKind::Yaml:
      return with_settings(parse_yaml_settings(text, file), file, options, nemo_config);
    case ConfigKind::Script:
      return read_script(text, file, options);
    case ConfigKind::Python:
      break;
  }
  return fail({.file = file,
               .message =
                   "a program in Python cannot be read: export the recipe as YAML (`nemo llm export`, or "
                   "`cfg.to_yaml(...)` of Megatron-Bridge), or give the arguments that the program prints"});
}

Result<PredictConfig> read_predict_config(const std::filesystem::path& path, const ConfigOptions& options) {
  auto text = read_file(path, InputKind::Configuration);
  if (!text) return fail(std::move(text.error()));
  return parse_predict_config(std::move(*text), path.string(), options);
}

Result<PredictConfig> config_of_options(const ConfigOptions& options) {
  if (!options.settings.empty()) return megatron_config({}, "", options);
  SettingReader none({}, "", "");
  auto description = load_model(options.model, options.sequence_length);
  if (!description) return fail(std::move(description.error()));
  PredictConfig config;
  config.model = std::move(description->model);
  config.warnings = std::move(description->warnings);
  config.plan = {.global_batch = description->global_batch,
                 .micro_batch = 1,
                 .recompute = Recompute::None,
                 .precision = Precision::Bf16};
  apply_plan_options(none, config.plan, options);
  config.plan.sequence_parallel = config.plan.tensor > 1;
  apply_plan_options(none, config.plan, options);
  config.has_precision = has_plan_option(options, "precision");
  set_gpus(none, config.plan, 0, options);
  if (config.plan.global_batch == 0)
    none.complain("--plan gbs", "missing: nothing is known of the batches of the model");
  return finish_config(none, std::move(config), options);
}

Error place_in_config(const PredictConfig& config, Error error) {
  if (config.settings) return place_in_settings(*config.settings, std::move(error));
  const json& root = config.document.root();
  const bool is_key = root.contains(error.field);
  // Names of the release's fields are others, options are no fields.
  if (!is_key && (config.release || error.field.starts_with('-'))) {
    error.file = config.document.file();
    return error;
  }
  Error placed = config.document.error_at(root, is_key ? error.field : "plan." + error.field, error.message);
  placed.kind = error.kind;
  return placed;
}

}  // namespace vtrain
