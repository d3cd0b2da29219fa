#include "workloads/config/hugging_face.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/config/config_reader.hpp"
#include "workloads/config/families.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Names that families have for the rates of dropout.
constexpr std::array kAttentionRates =
    std::to_array<std::string_view>({"attention_dropout", "attention_probs_dropout_prob", "attn_pdrop"});
constexpr std::array kHiddenRates =
    std::to_array<std::string_view>({"dropout", "hidden_dropout", "hidden_dropout_prob", "resid_pdrop"});

/// Reads the dropout: values with a rate above 0 or, if no rate is given, those of the family.
void read_dropout(ConfigReader& config, Dropout family, TransformerModel& model) {
  const auto is_dropped = [&config](const auto& keys, bool absent) {
    for (const std::string_view key : keys)
      absent = config.rate_or(key, absent ? 1 : 0) > 0;
    return absent;
  };
  model.dropout = Dropout{.attention = is_dropped(kAttentionRates, family.attention),
                          .hidden = is_dropped(kHiddenRates, family.hidden)};
  if (const double rate = config.rate_or("activation_dropout", 0); rate > 0)
    config.warn(fmt::format("activation_dropout {}: dropout inside the MLP is not counted", rate));
  if (const double rate = config.rate_or("embd_pdrop", 0); rate > 0 && !model.dropout->hidden)
    config.warn(fmt::format("embd_pdrop {}: dropout of the embedding alone is not counted", rate));
}

/// The key of the language model in a model that takes more than text.
constexpr const char* kInner = "text_config";

/// A model that takes images as well, whose language model was checked.
struct TextPart {
  std::string_view model_type;
  std::string_view class_name;                  ///< as in `Family`
  std::array<std::string_view, 2> inner_types;  ///< values of `model_type` in `text_config`
  std::string_view source;                      ///< source that was checked
};
constexpr std::array kTextParts = std::to_array<TextPart>(
    {{"qwen3_vl", "Qwen3VL", {"qwen3_vl_text", "qwen3_vl_text"}, "qwen3_vl/modular_qwen3_vl.py"},
     {"qwen3_vl_moe",
      "Qwen3VLMoe",
      {"qwen3_vl_moe_text", "qwen3_vl_moe_text"},
      "qwen3_vl_moe/modular_qwen3_vl_moe.py"},
     // The class of the outer model is in the repositories of its weights; the inner one is DeepSeek-V3's.
     {"kimi_k25", "KimiK25", {"kimi_k2", "deepseek_v3"}, "deepseek_v3/modular_deepseek_v3.py"}});

/// A known `model_type` that is not modelled, and the first key that shows why.
struct UnmodelledType {
  std::string_view model_type;
  std::string_view inner_type;  ///< that of `text_config`; empty: it has none
  std::string_view key;         ///< key of the file or of its `text_config`
  std::string_view what;        ///< part of the class that is not modelled
};

constexpr std::string_view kIndexer = "an indexer picks the tokens that each token attends to";
constexpr std::string_view kCompressed = "attention to compressed tokens, and several residual streams";
constexpr std::string_view kGatedDelta = "linear attention (gated delta rule) in three layers of four";
constexpr std::string_view kBlockSparse = "an indexer picks the blocks of tokens that each token attends to";

constexpr std::array kUnmodelled = std::to_array<UnmodelledType>({
    {"deepseek_ref", "", "compress_ratios", kCompressed},
    {"deepseek_v32", "", "index_topk", kIndexer},
    {"deepseek_v4", "", "compress_ratios", kCompressed},
    {"gemma4", "gemma4_text", "global_head_dim",
     "layers with a window have heads of another size; MLPs are gated by GELU"},
    {"glm_moe_dsa", "", "index_topk", kIndexer},
    {"kimi_k3", "kimi_linear", "linear_attn_config",
     "linear attention (Kimi Delta Attention) in three layers of four"},
    {"llama4", "llama4_text", "attention_chunk_size",
     "attention within chunks of tokens in three layers of four, which alone rotate queries and keys"},
    {"mimo", "", "num_nextn_predict_layers", "layers of Qwen2 with prediction layers of its own"},
    {"mimo_v2_flash", "", "hybrid_layer_pattern",
     "layers with a window have other heads of keys and values, and values have smaller heads"},
    {"minimax_m2", "", "qk_norm_type", "norms of queries and keys over all heads, and a router of its own"},
    {"minimax_m3", "", "sparse_attention_config", kBlockSparse},
    {"minimax_m3_vl", "", "sparse_attention_config", kBlockSparse},
    {"nemotron-nas", "", "block_configs", "each layer has an attention and an MLP of its own size, or none"},
    {"qwen3_5", "qwen3_5_text", "layer_types", kGatedDelta},
    {"qwen3_5_moe", "qwen3_5_moe_text", "layer_types", kGatedDelta},
    {"step3p7", "", "layer_types", "a window in all layers but the first of every four"},
});

/// The inner object, if there is one.
const json* text_part(const json& object) {
  const auto found = object.find(kInner);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

/// The error of a known `model_type` that is not modelled; none for other types.
std::optional<Error> find_unmodelled(const JsonDocument& document, const json& object,
                                     std::string_view type) {
  const auto* const row =
      std::find_if(kUnmodelled.begin(), kUnmodelled.end(), [type](const UnmodelledType& known) {
        return known.model_type == type || (!known.inner_type.empty() && known.inner_type == type);
      });
  if (row == kUnmodelled.end()) return std::nullopt;
  const std::string message = fmt::format("model_type {} is not modelled: {}", type, row->what);
  const json* const inner = text_part(object);
  for (const json* const part : {&object, inner})
    if (part != nullptr && part->contains(row->key)) return document.error_at(*part, row->key, message);
  return document.error_at(object, "model_type", message);
}

/// The types that are read.
std::vector<std::string_view> known_types() {
  std::vector<std::string_view> names;
  for (const Family& family : families())
    names.push_back(family.model_type);
  for (const TextPart& part : kTextParts)
    names.push_back(part.model_type);
  return names;
}

Result<Family> find_family(const JsonDocument& document, const json& object) {
  JsonFields fields(document, object);
  const std::string type = fields.string("model_type");
  const std::string_view hint =
      object.is_object() && object.contains(kInner)
          ? "; the language model is inside text_config, which can be given as a file of its own"
          : "";
  if (auto error = fields.error()) {
    error->message += hint;
    return fail(*error);
  }
  for (const Family& family : families())
    if (family.model_type == type) return family;
  if (auto error = find_unmodelled(document, object, type)) return fail(*std::move(error));
  return fail(document.error_at(
      object, "model_type",
      fmt::format("{}{}", expected_found("one of " + list_names(known_types()), type), hint)));
}

/// Ends of the names of classes that compute the logits of a vocabulary, or none.
constexpr std::array kUsualHeads = std::to_array<std::string_view>(
    {"DoubleHeadsModel", "ForCausalLM", "ForConditionalGeneration", "ForMaskedLM",
     "ForNextSentencePrediction", "ForPreTraining", "LMHeadModel", "Model", "PreTrainedModel"});
/// Ends of the names of classes that have another head than the vocabulary's.
constexpr std::array kOtherHeads = std::to_array<std::string_view>(
    {"ForMultipleChoice", "ForProcessRewardModel", "ForQuestionAnswering", "ForRewardModel",
     "ForSequenceClassification", "ForTokenClassification"});

/// `ForCausalLM` of `LlamaForCausalLM` or `LLaMAForCausalLM` for `Llama`; empty for the class of another
/// family.
std::string_view head_of(std::string_view name, std::string_view class_name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const std::string_view start = name.substr(0, class_name.size());
  const bool is_same = std::equal(start.begin(), start.end(), class_name.begin(), class_name.end(),
                                  [&lower](char a, char b) { return lower(a) == lower(b); });
  return is_same ? name.substr(class_name.size()) : std::string_view();
}

/// Reports classes whose source was not checked. Warns of other heads than the vocabulary's.
void check_classes(ConfigReader& config, std::string_view class_name, std::string_view source) {
  for (const json& name : config.list("architectures")) {
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    const std::string_view head = head_of(text, class_name);
    if (std::find(kOtherHeads.begin(), kOtherHeads.end(), head) != kOtherHeads.end()) {
      config.warn(
          fmt::format("architectures {}: the logits of a vocabulary are computed instead", printable(text)));
    } else if (std::find(kUsualHeads.begin(), kUsualHeads.end(), head) == kUsualHeads.end()) {
      config.complain(
          "architectures",
          expected_found(
              fmt::format("a class of {} (only {} of transformers was checked)", class_name, source), text));
    }
  }
}

/// Warns that the published weights are quantised, which says nothing of training.
void warn_of_quantization(ConfigReader& config) {
  for (const std::string_view key : {"quantization_config", "compression_config"}) {
    if (!config.has(key)) continue;
    std::string kind;
    const json& rule = config.object(key);
    for (const char* const part : {"quant_method", "quant_algo"}) {
      const auto found = rule.find(part);
      if (found != rule.end() && found->is_string()) kind += " " + printable(found->get<std::string>());
    }
    config.warn(fmt::format(
        "{}{}: the published weights are quantised; training is in the precision of the plan", key, kind));
  }
}

/// Reads a language model.
Result<HuggingFaceModel> read_language_model(const JsonDocument& document, const json& object,
                                             const Family& family, std::int64_t sequence_length) {
  HuggingFaceModel result;
  ConfigReader config(document, object);
  check_classes(config, family.class_name, family.source);
  family.read(config, sequence_length, result.model);
  read_dropout(config, family.dropout, result.model);
  warn_of_quantization(config);
  if (!config.error()) {
    if (const auto checked = check_model(result.model); !checked) config.complain(checked.error());
  }
  if (config.error()) return fail(*config.error());
  config.warn_of_the_rest();
  result.warnings = config.take_warnings();
  return result;
}

/// Reads the language model of a model that takes images as well.
Result<HuggingFaceModel> read_text_part(const JsonDocument& document, const json& object,
                                        const TextPart& part, std::int64_t sequence_length) {
  ConfigReader config(document, object);
  check_classes(config, part.class_name, part.source);
  const json* const inner = text_part(object);
  if (inner == nullptr)
    config.complain(kInner, expected_found("an object", object.value(kInner, json()).dump()));
  if (config.error()) return fail(*config.error());
  auto family = find_family(document, *inner);
  if (!family) return fail(std::move(family.error()));
  const std::array<std::string_view, 2>& types = part.inner_types;
  if (std::find(types.begin(), types.end(), family->model_type) == types.end()) {
    return fail(document.error_at(
        *inner, "model_type",
        expected_found(fmt::format("'{}' in a file of {}", types[0], part.model_type), family->model_type)));
  }
  auto result = read_language_model(document, *inner, *family, sequence_length);
  if (!result) return result;
  // Files that share weights say so inside or outside of the language model, or at both places.
  const bool is_tied = config.flag_or("tie_word_embeddings", result->model.tied_embeddings);
  if (inner->contains("tie_word_embeddings") && is_tied != result->model.tied_embeddings) {
    config.complain("tie_word_embeddings",
                    expected_found("what text_config says", is_tied ? "true" : "false"));
  }
  result->model.tied_embeddings = is_tied;
  for (const std::string_view key : {std::string_view(kInner), std::string_view("vision_config")})
    config.accept(key);
  config.warn("text_config: only the language model is taken; the vision tower is not modelled");
  warn_of_quantization(config);
  config.warn_of_the_rest();
  if (config.error()) return fail(*config.error());
  std::vector<std::string> warnings = config.take_warnings();
  for (std::string& warning : result->warnings)
    warnings.push_back("text_config." + std::move(warning));
  result->warnings = std::move(warnings);
  return result;
}

}  // namespace

bool is_hugging_face_config(const json& object) {
  return object.is_object() &&
         (object.contains("model_type") || object.contains("architectures") || object.contains(kInner));
}

Result<HuggingFaceModel> read_hugging_face_config(const JsonDocument& document, const json& object,
                                                  std::int64_t sequence_length) {
  for (const TextPart& part : kTextParts) {
    const auto type = object.find("model_type");
    if (type != object.end() && *type == part.model_type)
      return read_text_part(document, object, part, sequence_length);
  }
  const auto family = find_family(document, object);
  if (!family) return fail(family.error());
  return read_language_model(document, object, *family, sequence_length);
}

}  // namespace vtrain
