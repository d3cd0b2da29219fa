#include "workloads/layers/layer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/units.hpp"
#include "workloads/layers/layer_parts.hpp"
#include "workloads/layers/weight_sharding.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

/// The operators of a layer's `forward` pass that run again before its backward pass. `Recompute::Full`
/// repeats all of them, `Recompute::Selective` those that the stack's rule drops (`SelectiveRecompute`).
/// Operators are known by their names.
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
    // Gathered inputs are not kept, so their gathers run again; in recomputation by operator they have no
    // operator.
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
    // The CPU issues few kernels again, compared with a whole pass.
    const bool is_part = !is_full && rule != SelectiveRecompute::Experts;
    if (is_part) again.back().gap = Nanoseconds(0);
    if (!is_full && every_second && is_product) {
      again.back().duration = Nanoseconds(std::round(op.duration.count() / 2));
      again.back().products = op.products / 2.0;
      again.back().attention = op.attention / 2.0;
      round_parts(again.back());
    }
    if (op.kind == TaskKind::Forward) again.back().kind = TaskKind::Recompute;
  }
  return again;
}

/// Makes the passes of the parts of a model.
class CostModel {
 public:
  /// The context must outlive it.
  explicit CostModel(const LayerContext& layer) : layer_(layer), sharding_(layer) {}

  PassCosts layer(LayerKind kind) {
    PassBuilder forward = builder(TaskKind::Forward);
    BackwardPass backward = backward_pass();
    if (kind.has_attention()) add_attention_forward(forward, layer_, kind.mixer);
    if (kind.mixer == Mixer::StateSpace) add_state_space_forward(forward, layer_);
    if (kind.feed_forward == FeedForward::Mlp) {
      add_mlp_forward(forward, layer_);
      add_mlp_backward(backward, layer_);
    }
    if (kind.has_experts()) {
      add_experts_forward(forward, layer_);
      add_experts_backward(backward, layer_);
    }
    if (kind.mixer == Mixer::StateSpace) add_state_space_backward(backward, layer_);
    if (kind.has_attention()) add_attention_backward(backward, layer_, kind.mixer);
    PassBuilder& last = backward.splits_weights ? backward.weight : backward.input;
    // Routed experts' gradients are accumulated by their products.
    const double accumulated = weights(kind) - (kind.has_experts() ? layer_.shape.routed_weights : 0);
    if (const double bytes = accumulation_bytes(); bytes > 0)
      last.begin("grad_accumulate").memory(MemoryKernel::Elementwise, bytes * accumulated, 4);
    if (layer_.stack.overlap.experts) overlap_dispatch(forward, backward);
    const IssueFloor plain = plain_issue(kind);
    const IssueFloor experts = experts_issue(kind);
    // Of a backward pass in two parts the CPU issues each in its share of the time, so that one right after
    // the other takes as long as both in one.
    const Nanoseconds input_time = backward.input.busy_time();
    const Nanoseconds weight_time = backward.weight.busy_time();
    const double input_share = weight_time.count() > 0 ? input_time / (input_time + weight_time) : 1;
    const Nanoseconds weight_issue = (1 - input_share) * (plain.backward + experts.backward);
    PassCosts costs{
        .forward = finish(forward, plain.forward, experts.forward),
        .backward = finish(backward.input, input_share * plain.backward, input_share * experts.backward),
        .weight = finish(backward.weight, weight_issue)};
    costs.recompute = recomputed_pass(costs.forward, layer_.key.recompute, layer_.stack);
    return costs;
  }

  PassCosts embedding() {
    const LayerShape& shape = layer_.shape;
    const double elements = real(shape.tokens) * real(shape.hidden);
    PassBuilder forward = builder(TaskKind::Forward);
    forward.begin("embedding").memory(MemoryKernel::Elementwise, 4 * elements, 1);
    add_reduction(forward, layer_);
    PassBuilder backward = builder(TaskKind::Backward);
    if (layer_.dropout().hidden) {
      forward.begin("embed_dropout").memory(MemoryKernel::Dropout, 7 * shape.split_elements, 1);
      backward.begin("embed_drop_grad").memory(MemoryKernel::Dropout, 7 * shape.split_elements, 1);
    }
    add_gather(backward, layer_);
    // The gradients of the tokens at hand are added into a zeroed table, which is then accumulated.
    const double table_traffic = layer_.is_fused() ? 4 : 8;
    backward.begin("embedding_grad")
        .memory(MemoryKernel::Elementwise,
                6 * elements + table_traffic * real(shape.vocabulary) * real(shape.hidden), 1);
    return {.forward = finish(forward), .backward = finish(backward)};
  }

  PassCosts head() {
    // Of the loss's traffic the larger part belongs to the forward pass.
    constexpr double kForwardShare = 0.6;
    const LayerShape& shape = layer_.shape;
    const double loss =
        layer_.stack.loss_bytes(layer_.key.precision) * real(shape.tokens) * real(shape.vocabulary);
    const GemmShape logits{shape.tokens, shape.vocabulary, shape.hidden};
    PassBuilder forward = builder(TaskKind::Forward);
    add_norm_forward(forward, layer_, "final_norm");
    add_gather(forward, layer_);
    forward.begin("logits_gemm").plain_gemm(logits);
    // The loss is not part of the layers, which alone are compiled or not.
    forward.begin("loss").loss(kForwardShare * loss);
    BackwardPass backward = backward_pass();
    backward.input.begin("loss_grad").loss((1 - kForwardShare) * loss);
    backward.input.begin("logits_grad").plain_gemm({logits.m, logits.k, logits.n});
    PassBuilder& weight = backward.splits_weights ? backward.weight : backward.input;
    if (backward.splits_weights) weight.begin("logits_weight_grad");
    weight.plain_weight_gradient(logits);
    add_reduction(backward.input, layer_);
    backward.input.begin("final_norm_grad").memory(MemoryKernel::LayerNorm, 6 * shape.split_elements, 1);
    return {
        .forward = finish(forward), .backward = finish(backward.input), .weight = finish(backward.weight)};
  }

  /// Costs before the layers of each depth of multi-token prediction: norms of hidden state and embedding,
  /// and the projection of both. Its columns are gathered before sequence parallelism splits the tokens again
  /// (Megatron-Core, multi_token_prediction.py).
  PassCosts prediction() {
    const LayerShape& shape = layer_.shape;
    const std::int64_t inner = std::max<std::int64_t>(1, shape.hidden / shape.tensor);
    const std::int64_t both = 2 * shape.hidden;
    const GemmShape projection{shape.tokens, inner, both};
    PassBuilder forward = builder(TaskKind::Forward);
    forward.begin("predict_embedding")
        .memory(MemoryKernel::Elementwise, 4 * real(shape.tokens) * real(shape.hidden), 1);
    add_reduction(forward, layer_);
    forward.begin("predict_norms").memory(MemoryKernel::LayerNorm, 8 * shape.split_elements, 2);
    add_operand_gather(forward, layer_, "all_gather", both);
    forward.begin("predict_gemm").quantise(2 * shape.split_elements).gemm(projection);
    add_gather(forward, layer_);
    BackwardPass backward = backward_pass();
    add_gather(backward.input, layer_);
    backward.input.begin("predict_grad");
    backward.linear("predict_weight_grad", projection);
    add_reduction(backward.input, layer_, both);
    backward.input.begin("predict_norms_grad").memory(MemoryKernel::LayerNorm, 12 * shape.split_elements, 2);
    add_gather(backward.input, layer_);
    backward.input.begin("predict_embedding_grad")
        .memory(MemoryKernel::Elementwise, 6 * real(shape.tokens) * real(shape.hidden), 1);
    return {
        .forward = finish(forward), .backward = finish(backward.input), .weight = finish(backward.weight)};
  }

  /// Excess of the GPU's time for the backward pass of a layer over the CPU's time to issue it.
  Nanoseconds backward_slack(LayerKind kind, const PassCosts& costs) const {
    const Nanoseconds busy = total_span(costs.backward) + total_span(costs.weight);
    return std::max(Nanoseconds(0), busy - plain_issue(kind).backward);
  }

  /// Memory traffic of adding up the gradient of a weight over micro-batches. If weights stay gathered, the
  /// gradient is read, and the sum is read and written.
  double accumulation_bytes() const {
    const LayerKey& key = layer_.key;
    const Stack& stack = layer_.stack;
    if (!stack.data_parallel.copies || !key.is_sharded || key.gather != WeightGather::EveryIteration)
      return stack.accumulation_bytes;
    return element_bytes(key.precision) + 2 * stack.gradients(key.precision, 1).value;
  }

  /// Weights of a layer on one GPU.
  double weights(LayerKind kind) const { return gpu_weights(layer_.model, layer_.shape, kind); }
  /// Times of weights that replicas share.
  WeightSharding& sharding() { return sharding_; }
  /// Adds the names of another model's operators whose times are extrapolated or modelled.
  void add_evidence(const CostModel& other) {
    add_all(other.extrapolated());
    modelled_.insert(other.modelled_.begin(), other.modelled_.end());
  }
  ExtrapolatedOperators extrapolated() const {
    ExtrapolatedOperators all = extrapolated_;
    for (const auto& [name, reach] : sharding_.extrapolated())
      add_extrapolated(all, name, reach);
    return all;
  }
  std::vector<std::string_view> modelled() const { return {modelled_.begin(), modelled_.end()}; }

 private:
  PassBuilder builder(TaskKind kind) {
    return {layer_.profile, layer_.stack, layer_.key.precision, kind, tensor_pieces()};
  }
  /// Number of pieces in which tensor-parallel collectives overlap products. User buffers (Transformer
  /// Engine) are shared between the processes of one host, need sequence parallelism, and do not support 4
  /// bits.
  std::int64_t tensor_pieces() const {
    const LayerKey& key = layer_.key;
    const bool overlaps = layer_.stack.overlap.tensor && key.sequence_parallel &&
                          key.precision != Precision::Fp4 && key.tensor <= layer_.profile.gpus_per_node;
    return overlaps ? key.tensor : 1;
  }
  BackwardPass backward_pass() {
    return {builder(TaskKind::Backward), builder(TaskKind::Backward), layer_.key.splits_weight_gradients};
  }
  /// Dispatch and combine of one micro-batch run under the layers of another: forward passes under backward
  /// ones and the other way round.
  void overlap_dispatch(PassBuilder& forward, BackwardPass& backward) const {
    const Nanoseconds dispatch = forward.dispatch_time() + backward.input.dispatch_time();
    if (dispatch.count() <= 0) return;
    const Nanoseconds cover =
        forward.computation_time() + backward.input.computation_time() + backward.weight.computation_time();
    const double share = exposed_time(dispatch, cover, layer_.stack.overlap.contention) / dispatch;
    forward.hide_dispatch(share);
    backward.input.hide_dispatch(share);
  }
  /// Issuing all but the experts.
  IssueFloor plain_issue(LayerKind kind) const {
    const Stack& stack = layer_.stack;
    int halves = kind.num_halves();
    if (stack.graphs >= CudaGraphs::Layer) halves = 0;
    if (stack.graphs == CudaGraphs::Router && kind.has_experts()) --halves;
    const double issues = 0.5 * halves * layer_.profile.host_issue_factor;
    return {issues * stack.issue_floor.forward, issues * stack.issue_floor.backward};
  }
  IssueFloor experts_issue(LayerKind kind) const {
    const Stack& stack = layer_.stack;
    if (!kind.has_experts() || stack.graphs == CudaGraphs::Iteration) return {};
    const double experts = real(layer_.shape.local_experts);
    const double factor = layer_.profile.host_issue_factor;
    return {factor * (stack.experts_issue.forward + experts * stack.expert_issue.forward),
            factor * (stack.experts_issue.backward + experts * stack.expert_issue.backward)};
  }
  std::vector<Operator> finish(PassBuilder& pass, Nanoseconds issue_before = Nanoseconds(0),
                               Nanoseconds issue_after = Nanoseconds(0)) {
    std::vector<Operator> operators = pass.finish(issue_before, issue_after);
    add_all(pass.extrapolated());
    modelled_.insert(pass.modelled().begin(), pass.modelled().end());
    return operators;
  }
  void add_all(const ExtrapolatedOperators& operators) {
    for (const auto& [name, reach] : operators)
      add_extrapolated(extrapolated_, name, reach);
  }
  const LayerContext& layer_;
  WeightSharding sharding_;
  ExtrapolatedOperators extrapolated_;
  std::set<std::string_view> modelled_;
};

/// Turns a pass into the mean of it and of `other`, which has the same operators and counts for `share`.
void blend(std::vector<Operator>& pass, const std::vector<Operator>& other, double share) {
  if (pass.size() != other.size())
    throw std::logic_error("layers of two precisions: their operators must be the same");
  for (std::size_t i = 0; i < pass.size(); ++i) {
    const auto mean = [share](Nanoseconds narrow, Nanoseconds wide) {
      return Nanoseconds(std::round(((1 - share) * narrow + share * wide).count()));
    };
    pass[i].duration = mean(pass[i].duration, other[i].duration);
    pass[i].gap = mean(pass[i].gap, other[i].gap);
    pass[i].products = mean(pass[i].products, other[i].products);
    pass[i].attention = mean(pass[i].attention, other[i].attention);
    round_parts(pass[i]);
  }
}

void blend(PassCosts& costs, const PassCosts& other, double share) {
  blend(costs.forward, other.forward, share);
  blend(costs.recompute, other.recompute, share);
  blend(costs.backward, other.backward, share);
  blend(costs.weight, other.weight, share);
}

/// Shortens the gaps of layers with experts in a hybrid, whose kinds of layers alternate. Backward the CPU
/// does not wait and issues a layer with experts while the GPU is busy with the others: their slack shortens
/// its gap.
void share_slack(const TransformerModel& model, const CostModel& parts, LayerCosts& costs) {
  if (!model.is_hybrid()) return;
  const LayerCounts counts = count_layers(model);
  Nanoseconds slack(0);
  for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
    const LayerKind kind = layer_kinds(model)[i];
    if (counts[i] > 0 && !kind.has_experts())
      slack += real(counts[i]) * parts.backward_slack(kind, costs.layers[i]);
  }
  for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
    if (counts[i] == 0 || !layer_kinds(model)[i].has_experts()) continue;
    Nanoseconds& gap = first_computation(costs.layers[i].backward).gap;
    gap = Nanoseconds(std::round(std::max(0.0, (gap - slack / real(counts[i])).count())));
  }
}

/// One pass after another.
void append(std::vector<Operator>& pass, const std::vector<Operator>& more) {
  pass.insert(pass.end(), more.begin(), more.end());
}

/// Adds multi-token prediction to the head: for each depth the projection, its layers and the head again. All
/// of them run backward before the model's own head.
void add_predictions(const TransformerModel& model, CostModel& parts, LayerCosts& costs) {
  const PassCosts head = costs.head;
  PassCosts& all = costs.head;
  PassCosts back;
  const LayerCounts counts = prediction_layers(model);
  const PassCosts projection = parts.prediction();
  PerLayerKind<PassCosts> layers;
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (counts[kind] == 0) continue;
    layers[kind] = parts.layer(layer_kinds(model)[kind]);
    const Nanoseconds gathers = parts.sharding().shard_layer(layers[kind], layer_kinds(model)[kind]);
    costs.head_gathers += real(prediction_sets(model) * counts[kind]) * gathers;
  }
  for (std::int64_t depth = 0; depth < model.prediction.depth; ++depth) {
    append(all.forward, projection.forward);
    append(back.backward, head.backward);
    append(back.weight, head.weight);
    for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
      for (std::int32_t i = 0; i < counts[kind]; ++i) {
        append(all.forward, layers[kind].forward);
        append(back.backward, layers[kind].recompute);
        append(back.backward, layers[kind].backward);
        append(back.weight, layers[kind].weight);
      }
    }
    append(all.forward, head.forward);
    append(back.backward, projection.backward);
    append(back.weight, projection.weight);
  }
  append(back.backward, head.backward);
  append(back.weight, head.weight);
  all.backward = std::move(back.backward);
  all.weight = std::move(back.weight);
}

}  // namespace

LayerCosts layer_costs(const TransformerModel& model, const LayerKey& key, const GpuProfile& profile,
                       const Stack& stack) {
  const LayerContext layer{model, key, profile, stack, layer_shape(model, key, profile)};
  CostModel parts(layer);
  LayerKey wide_key = key;
  wide_key.precision = std::min(key.precision, Precision::Bf16);
  const LayerContext wide_layer{model, wide_key, profile, stack, layer_shape(model, wide_key, profile)};
  CostModel wide_parts(wide_layer);
  LayerCosts costs;
  const LayerCounts counts = count_layers(model);
  const std::int64_t num_wide = wide_key == key ? 0 : std::min(stack.wider.last_layers, model.num_layers);
  const LayerCounts wide = count_layers(model, model.num_layers - num_wide, num_wide);
  for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
    if (counts[i] == 0) continue;
    const LayerKind kind = layer_kinds(model)[i];
    costs.layers[i] = parts.layer(kind);
    if (wide[i] > 0) blend(costs.layers[i], wide_parts.layer(kind), real(wide[i]) / real(counts[i]));
    costs.gathers[i] = parts.sharding().shard_layer(costs.layers[i], kind);
  }
  share_slack(model, parts, costs);
  costs.embedding = parts.embedding();
  costs.head = parts.head();
  if (model.prediction.depth > 0) add_predictions(model, stack.wider.prediction ? wide_parts : parts, costs);
  costs.embedding_gathers = parts.sharding().shard_embedding(costs.embedding);
  costs.head_gathers += parts.sharding().shard_head(costs.head);
  parts.add_evidence(wide_parts);
  costs.extrapolated = parts.extrapolated();
  costs.modelled = parts.modelled();
  return costs;
}

}  // namespace vtrain
