#include "workloads/layers/recomputed_pass.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/units.hpp"

namespace vtrain {

std::vector<Operator> recomputed_pass(const std::vector<Operator>& forward, Recompute recompute,
                                      const Stack& stack) {
  std::vector<Operator> again;
  if (recompute == Recompute::None) return again;
  const bool is_full = recompute == Recompute::Full;
  const SelectiveRecompute rule = stack.memory.selective;
  const bool every_second = rule == SelectiveRecompute::EverySecondProduct;
  const auto has = [&forward](std::string_view name) {
    return std::any_of(forward.begin(), forward.end(),
                       [name](const Operator& op) { return op.name == name; });
  };
  const bool has_experts = has("router");
  const bool is_latent = has("kv_up_gemm");
  bool is_second_half = false;
  for (const Operator& op : forward) {
    is_second_half = (is_second_half || op.name == "mlp_norm") && op.name != "mlp_residual";
    const bool is_product = op.name.ends_with("_gemm");
    const bool is_scores = op.name == "attn_scores" || op.name == "attn_softmax" || op.name == "attn_context";
    // Fused attention as a whole; where it is latent, queries, keys and values from their compressed form in
    // its place.
    const bool is_fused =
        stack.attention != AttentionKernel::Unfused &&
        (is_latent ? op.name == "latent_gather" || op.name == "q_up_gemm" || op.name == "kv_up_gemm"
                   : op.name == "attention");
    // Gathered inputs are not kept, so what gathers them runs again: by operator nothing stands for it.
    const bool is_gather = op.name == "all_gather" || op.name == "expert_gather";
    const bool is_mixed = op.name == "attention" || op.name == "space_scan";
    const bool is_output = is_mixed || (is_collective(op.kind) && !is_gather);
    bool is_dropped = is_scores || is_fused;
    if (every_second) is_dropped = !is_output;
    if (rule == SelectiveRecompute::NormsAndActivations)
      is_dropped = op.name == "input_norm" || op.name == "mlp_norm" || op.name == "expert_act" ||
                   op.name == "expert_clamp";
    if (rule == SelectiveRecompute::Activations) is_dropped = op.name == "expert_act";
    if (rule == SelectiveRecompute::Experts) is_dropped = has_experts && is_second_half;
    if (!is_full && !is_dropped) continue;
    again.push_back(op);
    // What the CPU must issue again is little next to a whole pass.
    const bool is_part = !is_full && rule != SelectiveRecompute::Experts;
    if (is_part) again.back().gap = Nanoseconds(0);
    if (!is_full && every_second && is_product)
      again.back().duration = Nanoseconds(std::round(op.duration.count() / 2));
    if (op.kind == TaskKind::Forward) again.back().kind = TaskKind::Recompute;
  }
  return again;
}

}  // namespace vtrain
