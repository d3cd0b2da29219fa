/// Parts of a `config.json` that several families of Hugging Face share: windows, rotations and experts.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/model/model.hpp"

namespace vtrain {

class ConfigReader;

/// The key of the longest sequence.
inline constexpr std::string_view kLongestKey = "max_position_embeddings";

/// What the class of a family takes for keys that a file lacks. Null in the file is none of these: it is no
/// window, as many heads of keys and values as heads, and the size of a head that follows.
struct AttentionDefaults {
  std::int64_t num_kv_heads = 0;      ///< 0: as many as heads
  std::int64_t size_per_head = 0;     ///< 0: what follows from the others
  AttentionWindow window{};           ///< which layers have it stands even where the file gives the size
  bool uses_window = true;            ///< whether the window is one where the file does not say
  std::int64_t longest = 0;           ///< sequence; 0: the file has to say
  std::int64_t original_longest = 0;  ///< before LongRoPE extends it; 0: the rule says
  bool scales_rotation = false;       ///< where the file says nothing of rotations
  bool has_output_bias = true;        ///< with `attention_bias` the projection after attention has one too
};

/// Reads which layers attend to a window. Windows that hold the whole sequence are none.
void read_window(ConfigReader& config, TransformerModel& model, const AttentionDefaults& absent);

/// Whether sines and cosines are multiplied by a factor that is not 1. YaRN's is given, or the ratio of two
/// factors that are equal where their coefficients are, or it is 0.1 ln(factor) + 1; LongRoPE's is given, or
/// sqrt(1 + ln(factor) / ln(original length)) (modeling_rope_utils.py of transformers). Where each type of
/// layer has a rule of its own, whether any of these does so.
bool read_rotation(ConfigReader& config, const AttentionDefaults& absent);

/// The experts of Qwen's models: in every layer but those listed, which must be the first ones.
/// `absent_shared_size` is the inner size of the shared expert where the file does not say.
void read_qwen_experts(ConfigReader& config, TransformerModel& model, std::int64_t absent_shared_size);

/// What the classes of DeepSeek's models and of those that name their experts alike take for absent keys
/// (configuration_*.py of transformers).
struct DeepSeekDefaults {
  std::int64_t num_dense_layers = 0;
  std::int64_t num_shared_experts = 0;
  std::int64_t num_groups = 0;
  std::int64_t groups_per_token = 0;
  std::string_view topk_method{};
};
inline constexpr DeepSeekDefaults kDeepSeekV2{.num_shared_experts = 2, .topk_method = "greedy"};
inline constexpr DeepSeekDefaults kDeepSeekV3{
    .num_dense_layers = 3, .num_shared_experts = 1, .num_groups = 8, .groups_per_token = 4};
inline constexpr DeepSeekDefaults kGlm4Moe{.num_dense_layers = 1, .num_shared_experts = 1};

/// Their experts: in every layer after the first ones.
void read_deepseek_experts(ConfigReader& config, TransformerModel& model, const DeepSeekDefaults& absent);

}  // namespace vtrain
