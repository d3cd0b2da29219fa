#include "workloads/config/experts_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/config/config_reader.hpp"

namespace vtrain {

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
