/// The experts of families whose files have the same keys for them.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/model/model.hpp"

namespace vtrain {

class ConfigReader;

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
