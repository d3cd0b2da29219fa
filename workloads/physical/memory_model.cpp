#include "workloads/physical/memory_model.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/units.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {
namespace {

/// Bytes of mixed-precision Adam: the weights and both moments in single precision.
constexpr double kOptimizerBytes = 12;
/// Bytes of a sharded parameter: weight, gradient and both moments in single precision. Or weight and
/// gradient in half precision, which fewer GPUs may share than the rest.
constexpr double kShardedBytes = 16;
constexpr double kHalfPrecisionBytes = 4;
constexpr double kSinglePrecisionBytes = 8;
/// Bytes of an element of a gradient placeholder, in every precision of products.
constexpr double kPlaceholderBytes = 2;
/// Bytes of an element in single precision.
constexpr double kSingleBytes = 4;

/// Layers on a stage, by kind. Layers with a window count as those without, which take equal memory. At most
/// `most_of_chunk` of each chunk are counted.
LayerCounts layers_of(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                      std::int64_t most_of_chunk = std::numeric_limits<std::int64_t>::max()) {
  LayerCounts layers{};
  for (std::int64_t chunk = 0; chunk < plan.virtual_stages; ++chunk) {
    const LayerRange range = chunk_layers(model, plan, stage, chunk);
    const LayerCounts counts = count_layers(model, range.first, std::min(range.count, most_of_chunk));
    for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind)
      layers[kind] += counts[kind];
  }
  const PerLayerKind<LayerKind>& kinds = layer_kinds(model);
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (kinds[kind].mixer != Mixer::WindowedAttention) continue;
    const auto same =
        std::find(kinds.begin(), kinds.end(), LayerKind{Mixer::Attention, kinds[kind].feed_forward});
    layers[static_cast<std::size_t>(same - kinds.begin())] += std::exchange(layers[kind], 0);
  }
  return layers;
}

/// Layers of a stage that the plan recomputes.
LayerCounts recomputed_of(const LayerCounts& layers, const TransformerModel& model, const ParallelPlan& plan,
                          std::int64_t stage) {
  return plan.recomputed_layers > 0 ? layers_of(model, plan, stage, plan.recomputed_layers) : layers;
}

std::int64_t total(const LayerCounts& layers) {
  return std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
}

/// Parameters on one GPU of a stage, with their sizes.
struct SizedParameters : StageParameters {
  double largest_shared = 0;  ///< largest part of `shared` in one layer
  double largest_routed = 0;  ///< largest part of `routed` in one layer
  double layer_shapes = 0;    ///< one weight of each shape: of each mixer, an MLP and an expert
  double embedding = 0;       ///< part of `shared`: word embedding and output layer
};

SizedParameters parameters_of(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage) {
  LayerCounts layers = layers_of(model, plan, stage);
  const double tensor = real(plan.tensor);
  SizedParameters parameters;
  if (stage == plan.pipeline - 1 && model.prediction.depth > 0) {
    const LayerCounts predicting = prediction_layers(model);
    const std::int64_t sets = prediction_sets(model);
    for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind)
      layers[kind] += static_cast<std::int32_t>(sets * predicting[kind]);
    parameters.shared += real(sets) * real(prediction_weights(model)) / tensor;
  }
  std::optional<Mixer> counted;  // the last mixer whose shapes are in; equal ones follow each other
  for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
    if (layers[i] == 0) continue;
    const LayerKind kind = layer_kinds(model)[i];
    const LayerWeights weights = layer_weights(model, kind);
    const double shared = weights.shared_on_gpu(tensor);
    const double routed =
        real(weights.num_experts / plan.expert) * real(weights.expert) / real(plan.expert_tensor);
    parameters.shared += shared * real(layers[i]);
    parameters.routed += routed * real(layers[i]);
    parameters.largest_shared = std::max(parameters.largest_shared, shared);
    parameters.largest_routed = std::max(parameters.largest_routed, routed);
    const double mixer =
        counted == kind.mixer ? 0 : real(weights.attention) / tensor + real(weights.compression);
    parameters.layer_shapes +=
        mixer + real(weights.mlp) / tensor + real(weights.expert) / real(plan.expert_tensor);
    if (!kind.has_experts()) parameters.layer_shapes += real(weights.norms);
    counted = kind.mixer;
  }
  const double vocabulary = real(model.vocab_size) * real(model.hidden_size) / tensor;
  const bool is_first = stage == 0;
  const bool is_last = stage == plan.pipeline - 1;
  if (is_first) {
    parameters.embedding += vocabulary;
    if (model.positions == Positions::Learned) {
      parameters.shared += real(model.sequence_length) * real(model.hidden_size);
    }
  }
  if (is_last && (!is_first || !model.tied_embeddings)) parameters.embedding += vocabulary;
  if (is_last && shares_embedding(model, plan) && !model.tied_embeddings) parameters.embedding += vocabulary;
  parameters.shared += parameters.embedding;
  return parameters;
}

Bytes model_state(const SizedParameters& parameters, const ParallelPlan& plan, const GpuProfile& profile,
                  const MemoryRules& rules) {
  const bool is_single = plan.precision == Precision::Fp32;
  const double replicas = real(plan.num_replicas());
  const double expert_replicas =
      std::max(1.0, replicas * real(plan.tensor) / real(plan.expert * plan.expert_tensor));
  const double weight_bytes = is_single ? 4 : 2;
  const double gradient_bytes = is_single ? 4 : rules.gradient_bytes;
  const double optimizer_bytes = is_single ? 8 : kOptimizerBytes;
  const double total = parameters.total();
  switch (plan.sharding) {
    case Sharding::None: {
      const double buckets = rules.copies_gradients && replicas > 1 ? gradient_bytes : 0;
      return Bytes((weight_bytes + gradient_bytes + buckets + optimizer_bytes) * total);
    }
    case Sharding::Optimizer:
      return Bytes((weight_bytes + gradient_bytes) * total +
                   optimizer_bytes * (parameters.shared / replicas + parameters.routed / expert_replicas));
    case Sharding::Full:
    case Sharding::Gradients:
      break;
  }
  const ShardingGroups groups = sharding_groups(profile, plan.num_replicas(), plan.tensor,
                                                plan.expert * plan.expert_tensor, plan.replicate);
  const double in_set =
      parameters.shared / real(groups.shared.size) + parameters.routed / real(groups.routed.size);
  const double everywhere = parameters.shared / replicas + parameters.routed / expert_replicas;
  // Weights and gradients; the rest is the optimizer's.
  const double set_bytes = is_single ? kSinglePrecisionBytes : kHalfPrecisionBytes;
  const double sharded = set_bytes * in_set + (kShardedBytes - set_bytes) *
                                                  (rules.shards_optimizer_over_sets ? everywhere : in_set);
  // With stages, the weights stay gathered for all micro-batches and gradients accumulate unsharded.
  if (plan.pipeline > 1) return Bytes(sharded + (weight_bytes + gradient_bytes) * total);
  const double gathered =
      parameters.largest_shared + (groups.routed.size > 1 ? parameters.largest_routed : 0);
  // All weights once the forward pass is through, and the gradients of one layer.
  if (plan.sharding == Sharding::Gradients)
    return Bytes(sharded + weight_bytes * total + gradient_bytes * gathered);
  // The layer at hand, the next one if there is another, already gathered, and the gradients of one.
  const double all_layers =
      parameters.shared - parameters.embedding + (groups.routed.size > 1 ? parameters.routed : 0);
  return Bytes(sharded + weight_bytes * std::min(2 * gathered, all_layers) + gradient_bytes * gathered +
               weight_bytes * parameters.embedding);
}

/// Activations of one micro-batch on one GPU, in bytes.
struct Activations {
  double layer_input = 0;
  double kept = 0;       ///< kept bytes of one layer, by the plan's recomputation
  double full = 0;       ///< kept bytes of one layer without recomputation
  double gradients = 0;  ///< gradients of a layer's inner activations, and gathered tensors
  double context = 0;    ///< bytes that attention over parts of a sequence holds besides its inputs

  /// Bytes kept by `layers` layers, of these `recomputed` recomputed by the plan.
  double kept_by(std::int64_t layers, std::int64_t recomputed) const {
    return real(recomputed) * kept + real(layers - recomputed) * full;
  }
};

/// The activations of a layer and of the head. Sizes are those of one GPU.
class ActivationModel {
 public:
  ActivationModel(const TransformerModel& model, const ParallelPlan& plan, const MemoryRules& rules)
      : model_(model),
        plan_(plan),
        rules_(rules),
        dropout_(model.dropout.value_or(rules.dropout)),
        element_(plan.precision == Precision::Fp32 ? 4 : 2),
        product_input_(plan.precision >= Precision::Fp8 ? 1 : element_),
        tokens_(real(plan.micro_batch) * real(model.sequence_length) / real(plan.context)),
        tensor_(real(plan.tensor)),
        split_tokens_(plan.sequence_parallel ? tokens_ / tensor_ : tokens_),
        hidden_(real(model.hidden_size)) {}

  Activations layer(LayerKind kind) const {
    // Inputs of the norms, and of the products after them.
    const double gathered = rules_.keeps_gathered_inputs ? tokens_ : split_tokens_;
    const double halves = kind.num_halves();
    double full = halves * hidden_ * (element_ * split_tokens_ + product_input_ * gathered);
    if (dropout_.hidden) full += halves * split_tokens_ * hidden_;
    full += mixer(kind) + feed_forward(kind);
    const double scores = kind.has_attention() ? kept_scores() : 0;

    Activations activations;
    activations.layer_input = element_ * split_tokens_ * hidden_;
    activations.full = full + scores;
    activations.kept = activations.full;
    if (plan_.recompute == Recompute::Full) activations.kept = activations.layer_input;
    if (plan_.recompute == Recompute::Selective) activations.kept = selective(kind, full, scores);
    if (kind.has_attention()) activations.context = context_buffers();
    if (rules_.counts_backward_buffers) {
      // The gradient of the layer's output, as it comes and gathered, and that of the inner columns.
      activations.gradients =
          element_ * (split_tokens_ * hidden_ + tokens_ * hidden_ + inner_gradients(kind)) +
          scored_rows(kind);
    }
    return activations;
  }

  /// The fullest moment of the head: the loss, or the output layer's backward pass.
  double head() const {
    const double vocabulary = real(model_.vocab_size) / tensor_;
    const bool is_in_parts = rules_.loss_tokens > 0;
    const double logits = vocabulary * (is_in_parts ? std::min(tokens_, real(rules_.loss_tokens)) : tokens_);
    // Weights of the output layer and their gradient, for all parts.
    const double weights = is_in_parts ? 2 * kSingleBytes * vocabulary * hidden_ : 0;
    // The inputs of each loss's backward pass stay until it runs.
    const double losses = 1 + real(model_.prediction.depth);
    const double loss =
        2 * element_ * split_tokens_ * hidden_ + losses * rules_.loss_bytes * logits + weights;
    if (!rules_.counts_backward_buffers) return loss;
    // Gradients of the logits; the input, its gathered copy and gradient, and the latter summed; the norm's.
    double output_layer = element_ * (logits + 2 * tokens_ * hidden_ + 3 * split_tokens_ * hidden_) + weights;
    if (rules_.keeps_gradient_placeholders) output_layer += kPlaceholderBytes * vocabulary * hidden_;
    return std::max(loss, output_layer);
  }

  double embedding_mask() const { return dropout_.hidden ? split_tokens_ * hidden_ : 0; }

 private:
  /// Bytes kept of a layer with selective recomputation, from `full` and the scores' part.
  double selective(LayerKind kind, double full, double scores) const {
    if (rules_.selective == SelectiveRecompute::EverySecondProduct)
      return (has_scored_rows(kind) ? products_around_experts(kind) : every_second_product(kind)) + scores;
    const double gathered = rules_.keeps_gathered_inputs ? tokens_ : split_tokens_;
    const double norm_output = hidden_ * product_input_ * gathered;
    if (rules_.selective == SelectiveRecompute::NormsAndActivations) {
      return full + scores - kind.num_halves() * norm_output - activated(kind);
    }
    if (rules_.selective == SelectiveRecompute::Activations) return full + scores - activated(kind);
    if (rules_.selective == SelectiveRecompute::Experts)
      return full + scores - (kind.has_experts() ? norm_output + feed_forward(kind) : 0);
    if (rules_.keeps_scores) return full;
    // Of latent attention, queries, keys and values are made again from their compressed form.
    const bool has_latent = kind.has_attention() && model_.has_latent_attention();
    const double made_again = has_latent ? tokens_ * element_ * qkv_columns() : 0;
    return full + scores - made_again;
  }

  /// The output of the experts' non-linearity, as it is kept.
  double activated(LayerKind kind) const {
    return kind.has_experts() ? routed_tokens() * product_input_ * expert_columns() : 0;
  }

  /// Tokens that the routed experts of one GPU take, all together, when they are evenly used: with those of
  /// the GPUs that share the experts.
  double routed_tokens() const {
    const double capacity = model_.experts.capacity_factor > 0 ? model_.experts.capacity_factor : 1;
    return split_tokens_ * real(model_.experts.top_k) * capacity * real(plan_.expert_tensor);
  }

  /// Columns of the inner layer of an expert on one GPU.
  double expert_columns() const { return real(model_.experts.expert_ffn_size) / real(plan_.expert_tensor); }

  /// Columns of queries, keys and values. With fewer heads of keys than GPUs, each GPU still holds one.
  double qkv_columns() const {
    const double least = model_.has_latent_attention() ? 0 : real(model_.head_size());
    return real(model_.query_size()) / tensor_ + std::max(real(model_.key_size()) / tensor_, least) +
           std::max(real(model_.value_size()) / tensor_, least);
  }

  /// Keys and values of the other parts of a sequence, and the partial outputs for all of them.
  double context_buffers() const {
    if (plan_.context == 1) return 0;
    const double parts = real(plan_.context);
    const double keys_and_values = qkv_columns() - real(model_.query_size()) / tensor_;
    const double outputs =
        rules_.keeps_partial_outputs ? parts * real(model_.attention_output_size()) / tensor_ : 0;
    return element_ * tokens_ * ((parts - 1) * keys_and_values + outputs);
  }

  /// Columns before and after the non-linearity, by bytes kept.
  double inner_bytes(double columns) const {
    return (element_ * real(model_.mlp_inputs()) + product_input_) * columns;
  }

  /// With unfused attention the softmax of the scores, its mask and what it leaves, else a sum for each row.
  double kept_scores() const {
    const double rows = real(model_.num_heads) * tokens_ / tensor_;
    if (!rules_.keeps_scores) return 4 * rows;
    const double score = dropout_.attention ? 2 * element_ + 1 : element_;
    return score * real(model_.sequence_length) * rows;
  }

  /// Bytes that attention or the state space keeps, without scores. With 8-bit products it keeps its output,
  /// and the product after it keeps a second, narrow copy.
  double mixer(LayerKind kind) const {
    const double narrow_copy = product_input_ == element_ ? 0 : product_input_;
    const double output = element_ + narrow_copy;
    switch (kind.mixer) {
      case Mixer::None:
        return 0;
      case Mixer::Attention:
      case Mixer::WindowedAttention:
        return tokens_ *
                   (element_ * qkv_columns() + output * real(model_.attention_output_size()) / tensor_) +
               latent();
      case Mixer::StateSpace:
        break;
    }
    // The projection's output, that of the scan, and that of the gated norm.
    const StateSpace& space = model_.state_space;
    const double inner = real(space.inner_size());
    return tokens_ * (element_ * (real(space.projection_size()) + inner) + product_input_ * inner) / tensor_;
  }

  double feed_forward(LayerKind kind) const {
    if (kind.feed_forward == FeedForward::None) return 0;
    if (!kind.has_experts()) return tokens_ * inner_bytes(real(model_.mlp_size())) / tensor_;
    const MixtureOfExperts& experts = model_.experts;
    const double shared = tokens_ * inner_bytes(real(experts.shared_ffn_size)) / tensor_;
    const double offloaded =
        rules_.offloads_expert_inputs ? element_ * real(model_.mlp_inputs()) * expert_columns() : 0;
    const double routed = routed_tokens() * (product_input_ * real(model_.routed_size()) +
                                             inner_bytes(expert_columns()) - offloaded);
    // Scores of the router and what is computed from them, in single precision, and the map of tokens.
    const double router = 13 * split_tokens_ * real(experts.num_experts);
    // The tensor that is projected back to the hidden size.
    const double latent = product_input_ * split_tokens_ * real(experts.latent_size);
    return shared + routed + router + latent + scored_rows(kind);
  }

  /// True if a layer has the experts of torchtitan.
  bool has_scored_rows(LayerKind kind) const { return kind.has_experts() && rules_.scores_rows_in_single; }

  /// Rows of the routed experts in single precision, which their scores multiply.
  double scored_rows(LayerKind kind) const {
    return has_scored_rows(kind) ? kSingleBytes * routed_tokens() * real(model_.routed_size()) : 0;
  }

  /// Bytes that latent attention keeps besides queries, keys and values.
  double latent() const {
    if (!model_.has_latent_attention()) return 0;
    const LatentAttention& latent = model_.latent;
    const double tokens = rules_.keeps_gathered_inputs ? tokens_ : split_tokens_;
    return element_ *
           (tokens * 2 * real(latent.query_rank + latent.kv_rank) + tokens_ * real(latent.rotary_head_size));
  }

  /// Bytes kept without scores of a layer with torchtitan's experts when every second product runs again. The
  /// first product, the third and so on are kept, in the order in which they run. The router's product and
  /// those of routed experts do not count: they run again. Rows that GPUs exchange are kept as they arrive,
  /// both ways
  /// (`_custom_policy` of torchtitan/distributed/activation_checkpoint.py; by default
  /// `per_op_sac_force_recompute_mm_shapes_by_fqns` names the router).
  double products_around_experts(LayerKind kind) const {
    double columns = hidden_ * split_tokens_ / tokens_;  // the layer's input
    if (plan_.tensor > 1) columns += kind.num_halves() * hidden_ * split_tokens_ / tokens_;
    bool is_kept = false;
    const auto run_product = [&](double outputs) {
      is_kept = !is_kept;
      if (is_kept) columns += outputs;
    };
    if (kind.has_attention()) {
      const double queries = real(model_.query_size()) / tensor_;
      if (model_.has_latent_attention()) {
        const LatentAttention& latent = model_.latent;
        if (latent.query_rank > 0) run_product(real(latent.query_rank));
        run_product(queries);
        run_product(real(latent.kv_rank + latent.rotary_head_size));
        run_product((real(model_.num_heads * latent.plain_head_size) + real(model_.value_size())) / tensor_);
      } else {
        run_product(queries);
        run_product((qkv_columns() - queries) / 2);
        run_product((qkv_columns() - queries) / 2);
      }
      columns += real(model_.attention_output_size()) / tensor_;
      run_product(hidden_);
    }
    if (model_.experts.shared_ffn_size > 0) {
      for (std::int64_t i = 0; i < model_.mlp_inputs(); ++i)
        run_product(real(model_.experts.shared_ffn_size) / tensor_);
      run_product(hidden_);
    }
    const double exchanged = plan_.expert > 1 ? 2 * routed_tokens() * real(model_.routed_size()) : 0;
    return element_ * (tokens_ * columns + exchanged);
  }

  /// Bytes kept without scores of another layer when every second product runs again: half of all products'
  /// columns, and with tensor parallelism the outputs of the reduce-scatters. A state space keeps its scan's
  /// output.
  double every_second_product(LayerKind kind) const {
    double products = kind.num_halves() * hidden_ / tensor_;
    double outputs = 0;
    if (kind.has_attention()) {
      products += qkv_columns();
      outputs = real(model_.attention_output_size()) / tensor_;
    } else if (kind.mixer == Mixer::StateSpace) {
      products += real(model_.state_space.projection_size()) / tensor_;
      outputs = real(model_.state_space.inner_size()) / tensor_;
    }
    double inner = 0;
    if (kind.feed_forward == FeedForward::Mlp) inner = real(model_.mlp_size());
    if (kind.has_experts()) {
      inner = real(model_.experts.shared_ffn_size) +
              real(model_.experts.top_k) * real(model_.experts.expert_ffn_size);
    }
    products += real(model_.mlp_inputs()) * inner / tensor_;
    const double reduced = plan_.tensor > 1 ? kind.num_halves() * split_tokens_ * hidden_ : 0;
    return element_ * (split_tokens_ * hidden_ + reduced + tokens_ * (outputs + products / 2));
  }

  /// Elements of the gradient before the non-linearity, or of a lone mixer's inputs.
  double inner_gradients(LayerKind kind) const {
    const double inputs = real(model_.mlp_inputs());
    if (kind.feed_forward == FeedForward::Mlp) return tokens_ * inputs * real(model_.mlp_size()) / tensor_;
    if (kind.has_experts()) return routed_tokens() * (inputs * expert_columns() + real(model_.routed_size()));
    if (kind.has_attention()) return tokens_ * qkv_columns();
    return tokens_ * real(model_.state_space.projection_size()) / tensor_;
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const MemoryRules& rules_;
  Dropout dropout_;
  double element_;        ///< bytes of an activation
  double product_input_;  ///< bytes of the kept input of a matrix product
  double tokens_;         ///< tokens of a micro-batch on one GPU
  double tensor_;
  double split_tokens_;  ///< tokens where sequence parallelism splits them
  double hidden_;
};

/// Micro-batches whose activations a stage holds at once, in units of its layers.
double micro_batches_in_flight(const ParallelPlan& plan, std::int64_t stage) {
  const PipelineShape shape{plan.pipeline, plan.virtual_stages, plan.num_micro_batches()};
  return real(rule_of(plan.schedule).chunks_in_flight(shape, stage)) / real(plan.virtual_stages);
}

/// Share of a stage's layers whose activations stay in GPU memory, plus one layer in transfer.
double resident_share(const ParallelPlan& plan, std::int64_t num_layers) {
  if (plan.offloaded_layers == 0) return 1;
  return std::min(1.0, real(num_layers - plan.offloaded_layers + 1) / real(num_layers));
}

}  // namespace

bool shares_embedding(const TransformerModel& model, const ParallelPlan& plan) {
  return plan.pipeline > 1 && (model.tied_embeddings || model.prediction.depth > 0);
}

StageParameters stage_parameters(const TransformerModel& model, const ParallelPlan& plan,
                                 std::int64_t stage) {
  return parameters_of(model, plan, stage);
}

Bytes offloaded_activations(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                            const MemoryRules& rules) {
  const LayerCounts layers = layers_of(model, plan, stage);
  const std::int64_t num_layers = total(layers);
  if (plan.offloaded_layers == 0 || num_layers == 0) return Bytes(0);
  const ActivationModel activations(model, plan, rules);
  const LayerCounts recomputed = recomputed_of(layers, model, plan, stage);
  double kept = 0;
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (layers[kind] > 0)
      kept += activations.layer(layer_kinds(model)[kind]).kept_by(layers[kind], recomputed[kind]);
  }
  return Bytes(kept * std::min(1.0, real(plan.offloaded_layers) / real(num_layers)));
}

StageMemory stage_memory(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                         const GpuProfile& profile, const MemoryRules& rules) {
  const LayerCounts layers = layers_of(model, plan, stage);
  const SizedParameters parameters = parameters_of(model, plan, stage);
  const ActivationModel activations(model, plan, rules);
  const LayerCounts recomputed = recomputed_of(layers, model, plan, stage);
  const bool is_last = stage == plan.pipeline - 1;
  double kept = 0;
  double working_set = 0;
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (layers[kind] == 0) continue;
    const Activations layer = activations.layer(layer_kinds(model)[kind]);
    kept += layer.kept_by(layers[kind], recomputed[kind]) * resident_share(plan, total(layers));
    // Bytes that the backward pass of one layer recomputes.
    const double again = recomputed[kind] > 0 ? layer.full - layer.kept : 0;
    working_set = std::max({working_set, again + layer.gradients, layer.context});
  }
  if (stage == 0) kept += activations.embedding_mask();
  if (is_last) {
    const LayerCounts predicting = prediction_layers(model);
    for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
      if (predicting[kind] == 0) continue;
      kept +=
          real(model.prediction.depth * predicting[kind]) * activations.layer(layer_kinds(model)[kind]).kept;
    }
    working_set = std::max(working_set, activations.head());
  }

  StageMemory memory;
  memory.model_state = model_state(parameters, plan, profile, rules);
  if (rules.keeps_gradient_placeholders) {
    memory.model_state += Bytes(kPlaceholderBytes * parameters.layer_shapes);
  }
  memory.activations = Bytes(kept * micro_batches_in_flight(plan, stage));
  memory.working_set = Bytes(working_set);
  memory.fragmentation = memory.used() * (rules.reserved_over_used - 1);
  memory.reserve = profile.memory_reserve;
  return memory;
}

std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::Yes:
      return "yes";
    case Fit::Tight:
      return "tight";
    case Fit::No:
      return "no";
  }
  return "";
}

Fit MemoryEstimate::fit() const {
  if (peak <= capacity * (1 - kTightMargin)) return Fit::Yes;
  return peak <= capacity * (1 + kTightMargin) ? Fit::Tight : Fit::No;
}

MemoryEstimate estimate_memory(const TransformerModel& model, const ParallelPlan& plan,
                               const GpuProfile& profile, const MemoryRules& rules) {
  MemoryEstimate estimate{.capacity = profile.memory_capacity};
  const std::int64_t last = plan.pipeline - 1;
  for (std::int64_t stage = 0; stage <= last; ++stage) {
    const Bytes total = stage_memory(model, plan, stage, profile, rules).total();
    if (total > estimate.peak) {
      estimate.peak = total;
      estimate.stage = stage;
    }
    // From the second stage on those of equal layers differ only in the micro-batches in flight, which
    // become fewer.
    const bool rest_is_equal =
        stage > 0 && !model.is_hybrid() &&
        layers_of(model, plan, stage) == layers_of(model, plan, std::max(stage, last - 1));
    if (rest_is_equal) stage = std::max(stage, last - 1);
  }
  return estimate;
}

}  // namespace vtrain
