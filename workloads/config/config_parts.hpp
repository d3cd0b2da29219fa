/// Parts of a `config.json` that several families of Hugging Face share: windows, rotations and experts.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/model/model.hpp"

namespace vtrain {

class ConfigReader;

/// The key of the longest sequence.
inline constexpr std::string_view kLongestKey = "max_position_embeddings";

/// Keys by which a class lets the file ask for biases: `attention_bias` and `mlp_bias`. It ignores others.
enum class BiasKeys : std::uint8_t { None, Attention, AttentionAndMlp };

/// Values of a family's class for keys that a file lacks. Null in the file is different: no window, as many
/// heads of keys and values as heads, and the derived size of a head.
struct AttentionDefaults {
  std::int64_t num_kv_heads = 0;      ///< 0: as many as heads
  std::int64_t size_per_head = 0;     ///< 0: derived from the others
  AttentionWindow window{};           ///< its choice of layers applies even if the file gives the size
  bool uses_window = true;            ///< the window is used if the file has no `use_sliding_window`
  std::int64_t longest = 0;           ///< longest sequence; 0: the file must give it
  std::int64_t original_longest = 0;  ///< longest sequence before LongRoPE extends it; 0: the rule gives it
  bool scales_rotation = false;       ///< used if the file has no rule of rotations
  BiasKeys bias_keys = BiasKeys::Attention;  ///< the class ignores other keys
  bool has_output_bias = true;  ///< with `attention_bias`, the projection after attention has a bias too
};

/// Reads the layers that attend to a window. A window that holds the whole sequence is none.
void read_window(ConfigReader& config, TransformerModel& model, const AttentionDefaults& absent);

/// Reads whether sines and cosines are multiplied by a factor that is not 1, in any type of layer. YaRN's
/// factor is given, or the ratio of two factors (equal if their coefficients are), or 0.1 ln(factor) + 1.
/// LongRoPE's is given, or sqrt(1 + ln(factor) / ln(original length)). Source: modeling_rope_utils.py of
/// transformers.
bool read_rotation(ConfigReader& config, const AttentionDefaults& absent);

/// Reads the experts of Qwen's models: in every layer but those listed, which must be the first ones.
/// `absent_shared_size` is the inner size of the shared expert if the file lacks it.
void read_qwen_experts(ConfigReader& config, TransformerModel& model, std::int64_t absent_shared_size);

/// Values of the classes of DeepSeek's models, and of models with the same key names, for absent keys
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

/// Reads the experts of these models: in every layer after the first ones.
void read_deepseek_experts(ConfigReader& config, TransformerModel& model, const DeepSeekDefaults& absent);

}  // namespace vtrain
