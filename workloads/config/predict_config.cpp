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
#include "workloads/config/hugging_face.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/config/stack_json.hpp"

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

Result<PredictConfig> parse_predict_config(std::string text, const std::string& file) {
  auto document = JsonDocument::parse(text, file, NonFinite::Null);
  if (!document) return fail(std::move(document.error()));
  auto config = read_any(*document, std::move(text));
  if (config) config->document = *std::move(document);
  return config;
}

Result<PredictConfig> read_predict_config(const std::filesystem::path& path) {
  auto text = read_file(path, InputKind::Configuration);
  if (!text) return fail(std::move(text.error()));
  return parse_predict_config(std::move(*text), path.string());
}

Error place_in_config(const PredictConfig& config, Error error) {
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
