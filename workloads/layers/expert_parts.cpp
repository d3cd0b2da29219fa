// The half of a layer that is a mixture of experts.
#include <algorithm>
#include <cmath>

#include "core/base/units.hpp"
#include "workloads/layers/layer_parts.hpp"

namespace vtrain {
namespace {

/// Number of ways to choose `count` of `all` things.
double num_choices(std::int64_t all, std::int64_t count) {
  if (count > all) return 0;
  double ways = 1;
  for (std::int64_t i = 1; i <= count; ++i)
    ways *= real(all - count + i) / real(i);
  return ways;
}

/// Number of places that a token goes to, of `places` GPUs or nodes with equally many of a layer's experts.
/// Its experts are drawn evenly from its groups, and these from all groups.
double places_hit(double places, const MixtureOfExperts& experts) {
  const double top_k = real(experts.top_k);
  const double chosen = real(experts.groups_per_token);
  const double held = real(experts.num_groups) / places;
  // A place within a group is passed by if the group is not chosen or none of its experts.
  if (held <= 1)
    return places * (chosen / real(experts.num_groups)) * (1 - std::pow(1 - held / chosen, top_k));
  const std::int64_t here = std::llround(held);
  const std::int64_t elsewhere = experts.num_groups - here;
  double passed_by = 0;
  for (std::int64_t drawn = 0; drawn <= std::min(here, experts.groups_per_token); ++drawn) {
    passed_by += num_choices(here, drawn) * num_choices(elsewhere, experts.groups_per_token - drawn) *
                 std::pow(1 - real(drawn) / chosen, top_k);
  }
  return places * (1 - passed_by / num_choices(experts.num_groups, experts.groups_per_token));
}

/// Tokens are dispatched and combined by HybridEP: across an NVLink domain that is larger than a node.
bool has_hybrid_dispatch(const LayerContext& layer) {
  return layer.stack.dispatch == TokenDispatch::HybridEp &&
         layer.profile.nvlink_domain > layer.profile.gpus_per_node;
}

/// Data that tokens carry: columns and scores to the experts, columns alone back; in the backward pass their
/// gradients.
enum class TokenLoad { ColumnsAndScores, Columns };
/// Kernels that spread copies of tokens, and those that sum copies up.
enum class TokenWay { Spread, Collect };

/// Bytes of one copy of a token. HybridEP sends scores, or their gradients, as a row with a number in single
/// precision for every expert in the NVLink domain (hybrid_ep_backend.cuh of deepseek-ai/DeepEP).
double copy_bytes(const LayerContext& layer, TokenLoad load) {
  const LayerShape& shape = layer.shape;
  const double columns = element_bytes(layer.key.precision) * real(shape.expert_hidden);
  if (load == TokenLoad::Columns || !has_hybrid_dispatch(layer)) return columns;
  const std::int64_t gpus = std::min(shape.expert_group.size, shape.expert_group.per_node);
  return columns + 4 * real(gpus * shape.local_experts);
}

/// Share of the NVLink rate that HybridEP's kernels reach among `size` GPUs of a domain. Published for 8 to
/// 36 GB200 and 32 multiprocessors (docs/README_Hybrid-EP.md of deepseek-ai/DeepEP): 764 to 632 and 737 to
/// 597 GB/s of tokens in half precision, 0.87 to 0.76 of the rate with the scores that they also spread. Each
/// doubling lowers it by an equal amount; from 512 on it is constant.
double hybrid_efficiency(TokenWay way, std::int64_t size) {
  const double doublings = std::min(6.0, std::log2(real(size) / 8));
  return way == TokenWay::Spread ? 0.865 - 0.049 * doublings : 0.82 - 0.073 * doublings;
}

/// Tokens to and from the GPUs of one NVLink domain.
KernelTime domain_time(const LayerContext& layer, GpuGroup group, TokenWay way, Bytes bytes) {
  if (!has_hybrid_dispatch(layer) || group.size == 1)
    return collective_time(layer.profile, Collective::AllToAll, group, bytes, layer.stack.libraries);
  return {bytes / (layer.profile.nvlink_bandwidth * hybrid_efficiency(way, group.size)), Evidence::Modelled};
}

/// Dispatch or combine of the tokens of one GPU. Within a domain an all-to-all; between nodes one copy for
/// each node hit, or of a plain all-to-all each row, travels over the GPU's share of the network.
KernelTime dispatch_time(const LayerContext& layer, TokenWay way, TokenLoad load) {
  const LayerShape& shape = layer.shape;
  const GpuGroup group = shape.expert_group;
  if (group.size <= 1) return {};
  const double token_bytes = real(shape.split_tokens) * copy_bytes(layer, load);
  const MixtureOfExperts& experts = layer.model.experts;
  const bool one_per_gpu = layer.stack.dispatch != TokenDispatch::AllToAll;
  // An all-to-all sends the rows that experts take, filled up or with tokens dropped.
  const double rows = real(shape.routed_rows) / real(shape.split_tokens);
  const double copies = one_per_gpu ? places_hit(real(group.size), experts) : rows;
  const GpuGroup domain{.size = std::min(group.size, group.per_node), .per_node = group.per_node};
  KernelTime time = domain_time(layer, domain, way, Bytes(token_bytes * copies));
  if (group.size <= group.per_node) return time;
  const double nodes = real(group.size) / real(group.per_node);
  const double hit = one_per_gpu ? places_hit(nodes, experts) : rows;
  const KernelTime across = send_time(layer.profile, false, Bytes(token_bytes * hit * (nodes - 1) / nodes));
  return {time.time + across.time, worse(time.evidence, across.evidence)};
}

/// Before its dispatch HybridEP gathers the experts of every token of the group, a byte for each, and reads
/// all bytes (allgather_routing_map and metadata_preprocessing, hybrid_ep/executor of DeepEP).
KernelTime routing_map_time(const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  if (shape.expert_group.size <= 1 || !has_hybrid_dispatch(layer)) return {};
  const Bytes map(real(shape.split_tokens) * real(layer.model.experts.num_experts) *
                  real(shape.expert_group.size));
  KernelTime time =
      collective_time(layer.profile, Collective::AllGather, shape.expert_group, map, layer.stack.libraries);
  time.time += memory_kernel_time(layer.profile, MemoryKernel::Elementwise, map, 1);
  return time;
}

/// Rows are read and written when they are permuted for dispatch, and again when they come back.
void add_permutation(PassBuilder& pass, const LayerContext& layer, const char* name) {
  const LayerShape& shape = layer.shape;
  pass.begin(name).memory(MemoryKernel::Elementwise, 4 * real(shape.routed_rows) * real(shape.expert_hidden),
                          1);
}

/// Rows that were dispatched to the GPUs that share an expert are gathered on each of them; what they make of
/// them is reduced and scattered before it goes back.
void add_expert_collective(PassBuilder& pass, const LayerContext& layer, const char* name,
                           Collective collective) {
  const LayerShape& shape = layer.shape;
  const Bytes rows(element_bytes(layer.key.precision) * real(shape.expert_rows) * real(shape.expert_hidden));
  pass.exposed(
      name, TaskKind::TensorComm,
      collective_time(layer.profile, collective, shape.expert_tensor_group, rows, layer.stack.libraries));
}

struct ExpertProducts {
  GroupedGemmShape up;
  GroupedGemmShape down;
};

ExpertProducts expert_products(const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const std::int64_t inner = shape.expert_inner;
  const std::int64_t hidden = shape.expert_hidden;
  return {.up = {shape.expert_rows, shape.mlp_inputs * inner, hidden, shape.local_experts},
          .down = {shape.expert_rows, hidden, inner, shape.local_experts}};
}

void add_shared_expert_forward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  if (layer.model.experts.shared_ffn_size == 0) return;
  const std::int64_t inner = std::max<std::int64_t>(1, layer.model.experts.shared_ffn_size / shape.tensor);
  const double elements = real(shape.tokens) * real(inner);
  add_operand_gather(pass, layer);
  pass.begin("shared_up_gemm");
  pass.quantise(shape.split_elements);
  pass.gemm({shape.tokens, shape.mlp_inputs * inner, shape.hidden});
  pass.begin("shared_act").memory(MemoryKernel::Gelu, real(2 * shape.mlp_inputs + 2) * elements, 1);
  pass.begin("shared_down_gemm");
  pass.quantise(elements);
  add_reduced_product(pass, layer, {shape.tokens, shape.hidden, inner});
}

void add_shared_expert_backward(BackwardPass& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  if (layer.model.experts.shared_ffn_size == 0) return;
  const std::int64_t inner = std::max<std::int64_t>(1, layer.model.experts.shared_ffn_size / shape.tensor);
  add_operand_gather(pass.input, layer);
  pass.input.begin("shared_down_grad");
  pass.linear("shared_down_weight_grad", {shape.tokens, shape.hidden, inner});
  pass.input.begin("shared_act_grad")
      .memory(MemoryKernel::Gelu, real(4 * shape.mlp_inputs + 2) * real(shape.tokens) * real(inner), 1);
  pass.input.begin("shared_up_grad");
  pass.linear("shared_up_weight_grad", {shape.tokens, shape.mlp_inputs * inner, shape.hidden});
  add_reduction(pass.input, layer);
}

/// The inputs of the experts' products are quantised by separate kernels, unless the products do it: in 8
/// bits one for each expert, in 4 bits one for all (split_quantize of Transformer Engine).
void quantise_experts(PassBuilder& pass, const LayerContext& layer, double elements) {
  const bool is_grouped = layer.key.precision == Precision::Fp4;
  const int num_kernels = is_grouped ? 1 : static_cast<int>(layer.shape.local_experts);
  if (!layer.stack.fuses_experts) pass.quantise(elements, num_kernels);
}

/// Traffic of the experts' activation.
void add_expert_activation(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                           double bytes) {
  const double elements = real(layer.shape.expert_rows) * real(layer.shape.expert_inner);
  if (!layer.stack.fuses_experts) pass.begin(name).memory(MemoryKernel::Gelu, bytes * elements, 1);
}

void add_grouped_gradient(BackwardPass& pass, const LayerContext& layer, std::string_view weight_name,
                          const GroupedGemmShape& forward) {
  quantise_experts(pass.input, layer, real(forward.rows) * real(forward.n));
  pass.input.grouped_input_gradient(forward);
  PassBuilder& target = pass.splits_weights ? pass.weight : pass.input;
  if (pass.splits_weights) pass.weight.begin(weight_name);
  target.grouped_weight_gradient(forward);
}

/// Elements that enter the experts' non-linearity.
double expert_inputs(const LayerShape& shape) {
  return real(shape.expert_rows) * real(shape.mlp_inputs) * real(shape.expert_inner);
}

/// Biases of the experts' outputs, in PyTorch's own kernels (TEGroupedMLP._apply_bias of Megatron-Core): bias
/// times score, added to the rows of each expert, all concatenated; backward the products with scores and
/// with biases, their sums over rows and columns, and the rows' gradients concatenated. Scores are in the
/// activations' precision, but in single precision where DeepEP or HybridEP dispatched them, which adds
/// conversions.
constexpr EagerWork kBias{.strided_passes = 1, .strided_traffic = 2, .traffic = 10, .num_kernels = 3};
constexpr EagerWork kBiasGradient{.strided_passes = 2, .strided_traffic = 4, .traffic = 8, .num_kernels = 5};
constexpr EagerWork kSingleBias{.strided_passes = 2, .strided_traffic = 7, .traffic = 14, .num_kernels = 4};
constexpr EagerWork kSingleBiasGradient{
    .strided_passes = 3, .strided_traffic = 22.0 / 3, .traffic = 18, .num_kernels = 7};

void add_expert_bias(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                     const EagerWork& half, const EagerWork& single) {
  if (!layer.model.has_bias || !layer.stack.eager.expert_bias) return;
  pass.begin(name).eager(real(layer.shape.expert_rows) * real(layer.shape.expert_hidden),
                         layer.stack.dispatch == TokenDispatch::AllToAll ? half : single);
}

/// Biases before the non-linearity, where the products do not add them (components/moe/experts.py of NeMo
/// AutoModel): added to the rows of each expert and concatenated; backward their sums and the concatenation.
constexpr EagerWork kInputBias{.strided_passes = 1, .strided_traffic = 4, .traffic = 4, .num_kernels = 2};
constexpr EagerWork kInputBiasGradient{.traffic = 6, .num_kernels = 2};

void add_expert_input_bias(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                           const EagerWork& work) {
  if (layer.model.has_bias && layer.stack.eager.expert_input_bias)
    pass.begin(name).eager(expert_inputs(layer.shape), work);
}

/// Clamped inputs of the non-linearity (weighted_bias_quick_geglu_impl of Megatron-Core): each half of the
/// columns is a view with gaps; both are clamped and concatenated. Backward one comparison for the gate and
/// two for the other half, their conjunction, a choice for each half, and the concatenation.
constexpr EagerWork kClamp{.strided_passes = 1, .strided_traffic = 4, .traffic = 4, .num_kernels = 3};
constexpr EagerWork kClampGradient{
    .strided_passes = 2.5, .strided_traffic = 3.8, .traffic = 5.5, .num_kernels = 7};

void add_expert_clamp(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                      const EagerWork& work) {
  if (layer.model.clamps_activation && layer.stack.eager.activation_clamp)
    pass.begin(name).eager(expert_inputs(layer.shape), work);
}

/// Adds the wait for an offset that is copied to the GPU with the clamps (`torch.tensor` on the device in
/// weighted_bias_quick_geglu_impl). The CPU waits until the GPU has finished all earlier work. The time to
/// issue the products after the non-linearity, one of two of each expert, is then visible. Transformer Engine
/// prepares them for all experts before the first one starts.
void add_offset_wait(PassBuilder& pass, const LayerContext& layer, Nanoseconds issue_of_expert) {
  constexpr double kShareOfProducts = 0.5;
  if (layer.model.clamps_activation && layer.stack.eager.activation_clamp)
    pass.wait(kShareOfProducts * layer.profile.host_issue_factor * real(layer.shape.local_experts) *
              issue_of_expert);
}

/// True if the non-linearity runs again before the gradients of the products after it.
bool activation_runs_again(const LayerContext& layer) {
  return layer.key.recompute == Recompute::Selective &&
         layer.stack.memory.selective == SelectiveRecompute::NormsAndActivations;
}

/// After an all-to-all rows lie by the GPU that they came from and are brought into the order of the experts.
void add_expert_sort(PassBuilder& pass, const LayerContext& layer, const char* name) {
  const LayerShape& shape = layer.shape;
  if (layer.stack.dispatch != TokenDispatch::AllToAll || shape.local_experts == 1 ||
      shape.expert_group.size == 1)
    return;
  add_permutation(pass, layer, name);
}

/// Kernels after a router's product, and their bytes a score. Fused: scores, top-k and their bookkeeping.
/// Else PyTorch's kernels, counted in Megatron-Core (topk_routing_with_score_function and
/// compute_routing_scores_for_aux_loss of moe_utils.py, router.py): scores and biases, two times top-k and
/// maps of tokens (zeroed, scattered, converted), normalised scores, sums for the balancing loss; backward
/// the gradients of both sets of scores.
struct RoutingKernels {
  double bytes = 24;
  int count = 4;
};
constexpr RoutingKernels kUnfusedRoutingForward{107, 30};
constexpr RoutingKernels kUnfusedRoutingBackward{56, 15};

void add_routing(PassBuilder& pass, const LayerContext& layer, RoutingKernels unfused) {
  const RoutingKernels kernels = layer.stack.fuses_router ? RoutingKernels{} : unfused;
  const double scores = real(layer.shape.split_tokens) * real(layer.model.experts.num_experts);
  pass.memory(MemoryKernel::Elementwise, kernels.bytes * scores, kernels.count);
}

/// A projection into the latent space of experts or back, of `outputs` x `inputs` weights.
void add_latent_projection(PassBuilder& pass, const LayerContext& layer, const char* name,
                           std::int64_t outputs, std::int64_t inputs) {
  if (layer.model.experts.latent_size == 0) return;
  pass.begin(name).use(layer.precision_unless(layer.stack.wider.latent_experts));
  pass.quantise(real(layer.shape.split_tokens) * real(inputs));
  pass.gemm({layer.shape.split_tokens, outputs, inputs}).use(layer.key.precision);
}

void add_latent_gradient(BackwardPass& pass, const LayerContext& layer, const char* name,
                         const char* weight_name, std::int64_t outputs, std::int64_t inputs) {
  if (layer.model.experts.latent_size == 0) return;
  pass.input.begin(name);
  pass.use(layer.precision_unless(layer.stack.wider.latent_experts));
  pass.linear(weight_name, {layer.shape.split_tokens, outputs, inputs});
  pass.use(layer.key.precision);
}

}  // namespace

bool is_dispatch(const Operator& op) {
  return op.kind == TaskKind::TensorComm &&
         (op.name.starts_with("dispatch") || op.name.starts_with("combine") || op.name == "routing_map");
}

void add_experts_forward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const std::int64_t num_experts = layer.model.experts.num_experts;
  const ExpertProducts products = expert_products(layer);
  const double inner = real(shape.expert_rows) * real(shape.expert_inner);
  add_norm_forward(pass, layer, "mlp_norm");
  pass.begin("router").plain_gemm({shape.split_tokens, num_experts, shape.hidden});
  add_routing(pass, layer, kUnfusedRoutingForward);
  add_shared_expert_forward(pass, layer);
  add_latent_projection(pass, layer, "latent_down_gemm", shape.expert_hidden, shape.hidden);
  add_permutation(pass, layer, "permute");
  // How many rows each expert gets decides sizes that the CPU must know, unless each gets as many.
  if (layer.model.experts.capacity_factor == 0) pass.wait_for_gpu();
  pass.dispatch("routing_map", routing_map_time(layer));
  pass.dispatch("dispatch", dispatch_time(layer, TokenWay::Spread, TokenLoad::ColumnsAndScores));
  add_expert_sort(pass, layer, "expert_sort");
  add_expert_collective(pass, layer, "expert_gather", Collective::AllGather);
  pass.begin("expert_up_gemm");
  quantise_experts(pass, layer, real(shape.expert_rows) * real(shape.expert_hidden));
  pass.grouped_gemm(products.up);
  add_expert_input_bias(pass, layer, "expert_input_bias", kInputBias);
  add_expert_clamp(pass, layer, "expert_clamp", kClamp);
  add_expert_activation(pass, layer, "expert_act", real(2 * shape.mlp_inputs + 2));
  pass.begin("expert_down_gemm");
  add_offset_wait(pass, layer, layer.stack.expert_issue.forward);
  quantise_experts(pass, layer, inner);
  pass.grouped_gemm(products.down);
  add_expert_bias(pass, layer, "expert_bias", kBias, kSingleBias);
  add_expert_collective(pass, layer, "expert_reduce_scatter", Collective::ReduceScatter);
  add_expert_sort(pass, layer, "expert_unsort");
  pass.dispatch("combine", dispatch_time(layer, TokenWay::Collect, TokenLoad::Columns));
  add_permutation(pass, layer, "unpermute");
  add_latent_projection(pass, layer, "latent_up_gemm", shape.hidden, shape.expert_hidden);
  add_residual_forward(pass, layer, "mlp_residual");
}

void add_experts_backward(BackwardPass& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const std::int64_t num_experts = layer.model.experts.num_experts;
  const ExpertProducts products = expert_products(layer);
  add_residual_backward(pass.input, layer, "mlp_drop_grad");
  add_latent_gradient(pass, layer, "latent_up_grad", "latent_up_weight_grad", shape.hidden,
                      shape.expert_hidden);
  add_permutation(pass.input, layer, "unpermute_grad");
  pass.input.dispatch("combine_grad", dispatch_time(layer, TokenWay::Spread, TokenLoad::Columns));
  add_expert_sort(pass.input, layer, "expert_unsort_grad");
  add_expert_collective(pass.input, layer, "expert_gather", Collective::AllGather);
  add_expert_bias(pass.input, layer, "expert_bias_grad", kBiasGradient, kSingleBiasGradient);
  pass.input.begin("expert_down_grad");
  if (activation_runs_again(layer)) add_offset_wait(pass.input, layer, layer.stack.expert_issue.backward);
  add_grouped_gradient(pass, layer, "expert_down_weight_grad", products.down);
  add_expert_activation(pass.input, layer, "expert_act_grad", real(4 * shape.mlp_inputs + 2));
  add_expert_clamp(pass.input, layer, "expert_clamp_grad", kClampGradient);
  add_expert_input_bias(pass.input, layer, "expert_input_bias_grad", kInputBiasGradient);
  pass.input.begin("expert_up_grad");
  add_grouped_gradient(pass, layer, "expert_up_weight_grad", products.up);
  add_expert_collective(pass.input, layer, "expert_reduce_scatter", Collective::ReduceScatter);
  add_expert_sort(pass.input, layer, "expert_sort_grad");
  pass.input.dispatch("dispatch_grad", dispatch_time(layer, TokenWay::Collect, TokenLoad::ColumnsAndScores));
  add_permutation(pass.input, layer, "permute_grad");
  add_latent_gradient(pass, layer, "latent_down_grad", "latent_down_weight_grad", shape.expert_hidden,
                      shape.hidden);
  add_shared_expert_backward(pass, layer);
  pass.input.begin("router_grad")
      .plain_gemm({shape.split_tokens, shape.hidden, num_experts})
      .plain_gemm({num_experts, shape.hidden, shape.split_tokens});
  add_routing(pass.input, layer, kUnfusedRoutingBackward);
  add_norm_backward(pass.input, layer, "mlp_norm_grad");
}

}  // namespace vtrain
