#include "workloads/physical/hardware_flops.hpp"

#include <algorithm>
#include <cstdint>

#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/model/token_products.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

double count_as_real(std::int64_t count) {
  return static_cast<double>(count);
}

/// Share of the layers that run again under full recomputation.
double recomputed_share(const TransformerModel& model, const ParallelPlan& plan) {
  if (plan.recomputed_layers == 0) return 1;
  std::int64_t layers = 0;
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    for (std::int64_t chunk = 0; chunk < plan.virtual_stages; ++chunk)
      layers += std::min(plan.recomputed_layers, chunk_layers(model, plan, stage, chunk).count);
  }
  return count_as_real(layers) / count_as_real(model.num_layers);
}

/// Multiply-adds of a token in the experts and routers of all layers.
double products_of_experts(const TransformerModel& model) {
  const LayerCounts counts = count_layers(model);
  double products = 0;
  for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
    const LayerKind kind = layer_kinds(model)[i];
    if (counts[i] == 0 || !kind.has_experts()) continue;
    LayerKind mixer_alone = kind;
    mixer_alone.feed_forward = FeedForward::None;
    products += count_as_real(counts[i]) *
                count_as_real(product_weights(model, kind) - product_weights(model, mixer_alone));
  }
  return products;
}

/// Multiply-adds of a token that make queries, keys and values from their compressed form, in all layers.
double latent_products_of(const TransformerModel& model) {
  const LatentAttention& latent = model.latent;
  const std::int64_t query_inputs = latent.query_rank > 0 ? latent.query_rank : model.hidden_size;
  const std::int64_t of_layer =
      query_inputs * model.query_size() +
      latent.kv_rank * model.num_heads * (latent.plain_head_size + latent.value_head_size);
  return count_as_real(of_layer) * count_as_real(model.num_layers);
}

}  // namespace

Flops hardware_flops(const TransformerModel& model, const ParallelPlan& plan, const Stack& stack) {
  const TokenProducts once = token_products(model);
  const bool is_unfused =
      plan.attention == AttentionChoice::Unfused ||
      (plan.attention == AttentionChoice::Stack && stack.attention == AttentionKernel::Unfused);
  const double mixing = is_unfused ? once.mixing : once.mixing - once.masked;
  // The masked half is as large as the other one.
  const double attention = model.is_bidirectional ? once.mixing : once.masked;
  const double query = count_as_real(model.query_size());
  const double scores = attention * query / (query + count_as_real(model.attention_output_size()));
  const double hidden = count_as_real(model.hidden_size);
  const double layers = once.layers - count_as_real(model.prediction.depth) * 2 * hidden * hidden;
  double again = is_unfused ? 0 : scores;
  if (plan.recompute == Recompute::Full) again += recomputed_share(model, plan) * (layers + mixing);
  if (plan.recompute == Recompute::Selective) {
    switch (stack.memory.selective) {
      case SelectiveRecompute::AttentionScores:
        if (is_unfused)
          again += mixing;
        else
          again += model.has_latent_attention() ? latent_products_of(model) : attention;
        break;
      case SelectiveRecompute::EverySecondProduct:
        again += layers / 2;
        break;
      case SelectiveRecompute::Experts:
        again += products_of_experts(model);
        break;
      case SelectiveRecompute::NormsAndActivations:
      case SelectiveRecompute::Activations:
        break;
    }
  }
  const double tokens = count_as_real(plan.global_batch) * count_as_real(model.sequence_length);
  return Flops(2 * tokens * (3 * (once.layers + once.output_layer + mixing) + again));
}

}  // namespace vtrain
