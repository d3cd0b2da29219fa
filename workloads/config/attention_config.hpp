/// What the families that Hugging Face publishes have in common in their attention: windows and rotations.
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

}  // namespace vtrain
