#include "workloads/config/config_parts.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "workloads/config/config_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Keys of the type of a rule of rotation; since 2024 it is the first.
constexpr std::array<const char*, 2> kTypeKeys = {"rope_type", "type"};

/// Reads the window from a list of layer types, with the given size: in all layers from one on, or in all but
/// the last of every group of equal size.
AttentionWindow window_of_types(ConfigReader& config, const json& types, std::int64_t num_layers,
                                std::int64_t size) {
  std::vector<bool> is_windowed;
  for (const json& type : types) {
    is_windowed.push_back(type == "sliding_attention");
    if (is_windowed.back() || type == "full_attention") continue;
    config.complain("layer_types", expected_found("full_attention or sliding_attention", type.dump()));
    return {};
  }
  if (std::ssize(types) != num_layers) {
    config.complain("layer_types", expected_found(fmt::format("{} types, one a layer", num_layers),
                                                  std::to_string(types.size())));
    return {};
  }
  const auto first = std::find(is_windowed.begin(), is_windowed.end(), true);
  if (first == is_windowed.end()) return {};
  AttentionWindow window{.size = size, .first_layer = first - is_windowed.begin()};
  const auto full = std::find(first, is_windowed.end(), false);
  if (full != is_windowed.end()) window.full_every = full - is_windowed.begin() + 1;
  for (std::int64_t layer = window.first_layer; layer < std::ssize(is_windowed); ++layer) {
    const bool expected = window.full_every == 0 || (layer + 1) % window.full_every != 0;
    if (is_windowed[static_cast<std::size_t>(layer)] == expected) continue;
    config.complain(
        "layer_types",
        expected_found("windows in all layers from one on, or in all but the last of every so many",
                       fmt::format("another type in layer {}", layer)));
    return {};
  }
  return window;
}

/// The number under a key of an object, 0 when there is none.
double number_in(ConfigReader& config, const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return 0;
  if (found->is_number()) return found->get<double>();
  config.complain(object, key, expected_found("a number", found->dump()));
  return 0;
}

/// Ratio of the longest sequence to the longest before extension. 0 if the file does not give it.
double extension(ConfigReader& config, const json& rule, bool is_long_rope, const AttentionDefaults& absent) {
  const auto longest = static_cast<double>(config.size_or_none(kLongestKey, absent.longest));
  const auto original =
      static_cast<double>(config.size_or_none("original_max_position_embeddings", absent.original_longest));
  if (is_long_rope && original > 0) return longest / original;  // Phi-3, whatever the rule says
  if (const double factor = number_in(config, rule, "factor"); factor > 0) return factor;
  const double original_of_rule = number_in(config, rule, "original_max_position_embeddings");
  return original_of_rule > 0 ? longest / original_of_rule : 0;
}

/// True if a rule of rotation multiplies sines and cosines by a factor that is not 1.
bool scales(ConfigReader& config, const json& rule, const AttentionDefaults& absent) {
  if (std::any_of(rule.begin(), rule.end(), [&](const json& of_layers) {
        return of_layers.is_object() && scales(config, of_layers, absent);
      })) {
    return true;
  }
  const auto has_type = [&rule](std::string_view type) {
    return std::any_of(kTypeKeys.begin(), kTypeKeys.end(), [&](const char* key) {
      const auto found = rule.find(key);
      return found != rule.end() && *found == type;
    });
  };
  const bool is_long_rope = has_type("longrope") || has_type("su");
  if (!is_long_rope && !has_type("yarn")) return false;
  if (const double given = number_in(config, rule, "attention_factor"); given > 0) return given != 1;
  if (!is_long_rope) {
    const double scale = number_in(config, rule, "mscale");
    const double scale_of_all = number_in(config, rule, "mscale_all_dim");
    if (scale > 0 && scale_of_all > 0) return scale != scale_of_all;
  }
  return extension(config, rule, is_long_rope, absent) > 1;
}

}  // namespace

void read_window(ConfigReader& config, TransformerModel& model, const AttentionDefaults& absent) {
  const bool is_used = config.flag_or("use_sliding_window", absent.uses_window);
  AttentionWindow rule{.size = config.size_or_none("sliding_window", absent.window.size),
                       .first_layer = config.size_or("max_window_layers", absent.window.first_layer),
                       .full_every = config.size_or("sliding_window_pattern", absent.window.full_every)};
  const json& types = config.list("layer_types");
  if (rule.size == 0 &&
      std::any_of(types.begin(), types.end(), [](const json& type) { return type != "full_attention"; })) {
    config.warn("layer_types: layers with a window of unknown size are computed over the whole sequence");
  }
  if (!is_used || rule.size == 0 || rule.size >= model.sequence_length) return;
  model.window = types.empty() ? rule : window_of_types(config, types, model.num_layers, rule.size);
  if (model.window.first_layer >= model.num_layers) model.window = {};
}

bool read_rotation(ConfigReader& config, const AttentionDefaults& absent) {
  // transformers 5 has the second name.
  if (!config.contains("rope_scaling") && !config.contains("rope_parameters")) return absent.scales_rotation;
  return scales(config, config.object("rope_scaling"), absent) ||
         scales(config, config.object("rope_parameters"), absent);
}

void read_qwen_experts(ConfigReader& config, TransformerModel& model, std::int64_t absent_shared_size) {
  config.expect_size("decoder_sparse_step", 1, "experts in every layer");
  model.experts = {.num_experts = config.size("num_experts", "num_local_experts"),
                   .top_k = config.size("num_experts_per_tok"),
                   .expert_ffn_size = config.size("moe_intermediate_size"),
                   .shared_ffn_size = config.size_or("shared_expert_intermediate_size", absent_shared_size)};
  for (const nlohmann::json& layer : config.list("mlp_only_layers")) {
    if (layer != model.experts.num_dense_layers) {
      config.complain("mlp_only_layers", expected_found("the first layers, in order", layer.dump()));
    }
    ++model.experts.num_dense_layers;
  }
}

void read_deepseek_experts(ConfigReader& config, TransformerModel& model, const DeepSeekDefaults& absent) {
  constexpr std::string_view kNumExperts = "n_routed_experts";  // null or 0: a dense model
  const std::int64_t num_experts =
      config.contains(kNumExperts) ? config.size_or(kNumExperts, 0) : config.size(kNumExperts);
  if (num_experts > 0) {
    const std::int64_t expert_size = config.size("moe_intermediate_size");
    model.experts = {
        .num_experts = num_experts,
        .top_k = config.size("num_experts_per_tok"),
        .expert_ffn_size = expert_size,
        .shared_ffn_size = config.size_or_none("n_shared_experts", absent.num_shared_experts) * expert_size,
        .num_dense_layers = config.size_or("first_k_dense_replace", absent.num_dense_layers)};
  } else {
    for (const std::string_view key :
         {"moe_intermediate_size", "num_experts_per_tok", "n_shared_experts", "first_k_dense_replace"})
      config.accept(key);
  }
  // The method "greedy" (DeepSeek-V2-Lite) knows no groups.
  const std::int64_t num_groups = config.size_or_none("n_group", absent.num_groups);
  const std::int64_t groups_per_token =
      config.size_or_none("topk_group", std::min(absent.groups_per_token, num_groups));
  if (model.has_experts() && num_groups > 0 &&
      config.text_or("topk_method", std::string(absent.topk_method)) != "greedy") {
    model.experts.num_groups = num_groups;
    model.experts.groups_per_token = groups_per_token > 0 ? groups_per_token : num_groups;
  }
}

}  // namespace vtrain
