// The half of a layer that is a state space: Mamba-2, computed in chunks (Dao and Gu, arXiv:2405.21060,
// section 6 and listing 1), with the kernels of its authors, as Megatron-Core runs them
// (megatron/core/ssm/mamba_mixer.py; mamba_ssm/ops/triton/ssd_combined.py of state-spaces/mamba): one over
// the input of the convolution, then the states of chunks, their passing on and the outputs, which are gated
// by the same kernel.
#include <algorithm>

#include "core/base/units.hpp"
#include "workloads/layers/layer_parts.hpp"

namespace vtrain {
namespace {

/// Memory traffic of the scan's kernels. Their products (a chunk x a head, a chunk x the state, the state x a
/// head) are small and take a tenth of this traffic's time.
struct ScanTraffic {
  double columns = 0;  ///< bytes for each element of the inner layer
  double states = 0;   ///< bytes for each element of the states of all chunks
  int kernels = 0;
};

/// Columns: inputs for the states and for the outputs, gate, outputs before and after the gate. States: each
/// chunk's in single precision, again when they are passed on, and in half precision to the outputs.
constexpr ScanTraffic kScanForward{.columns = 10, .states = 12, .kernels = 5};

/// Neither states nor products of chunks were kept: they are computed again (2 columns, 12 states). Gradients
/// of the gate and through it: input, gate, output, its gradient, twice written (12); of the states (2; 4),
/// passed back (12) with both converted to half precision; of the inputs (6; 2), of the projections into the
/// state (2; 2) and out of it (2; 2), of the scores inside chunks (4) and of the decay (4).
constexpr ScanTraffic kScanBackward{.columns = 34, .states = 34, .kernels = 14};

void add_scan(PassBuilder& pass, const LayerContext& layer, const ScanTraffic& traffic) {
  const LayerShape& shape = layer.shape;
  const StateSpace& space = layer.model.state_space;
  const double chunks = real(shape.tokens) / real(std::min(space.chunk_size, shape.tokens));
  const double columns = real(shape.tokens) * real(shape.space_inner);
  const double states = chunks * real(shape.space_heads) * real(space.state_size) * real(space.head_size);
  const Bytes bytes(traffic.columns * columns + traffic.states * states);
  pass.kernel({scan_kernel_time(layer.profile, bytes, traffic.kernels), Evidence::Modelled});
}

/// The kernels have the sequences of a micro-batch one after the other, the rest of a layer has them side by
/// side: several are copied.
void add_reordering(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                    std::int64_t columns) {
  if (layer.key.micro_batch == 1) return;
  pass.begin(name).memory(MemoryKernel::Elementwise, 4 * real(layer.shape.tokens) * real(columns), 1);
}

/// With context parallelism tokens are exchanged for heads before the convolution and back after the scan.
void add_exchange(PassBuilder& pass, const LayerContext& layer, std::int64_t columns) {
  const Bytes total(element_bytes(layer.key.precision) * real(layer.shape.tokens) * real(columns));
  pass.exposed("context_all_to_all", TaskKind::TensorComm,
               collective_time(layer.profile, Collective::AllToAll, layer.shape.context_group, total,
                               layer.stack.libraries));
}

/// The projection at the end keeps 8 bits where a stack says so.
Precision output_precision(const LayerContext& layer) {
  return layer.precision_unless(layer.stack.wider.space_output, Precision::Fp8);
}

}  // namespace

void add_state_space_forward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double tokens = real(shape.tokens);
  add_norm_forward(pass, layer, "input_norm");
  add_operand_gather(pass, layer);
  pass.begin("space_in_gemm");
  pass.quantise(shape.split_elements);
  pass.gemm({shape.tokens, shape.space_projection, shape.hidden});
  add_exchange(pass, layer, shape.space_projection);
  add_reordering(pass, layer, "space_reorder_in", shape.space_projection);
  pass.begin("space_conv").fused_memory(MemoryKernel::Elementwise, 4 * tokens * real(shape.space_conv), 1);
  pass.begin("space_scan");
  add_scan(pass, layer, kScanForward);
  add_reordering(pass, layer, "space_reorder_out", shape.space_inner);
  add_exchange(pass, layer, shape.space_inner);
  pass.begin("space_norm").fused_memory(MemoryKernel::LayerNorm, 4 * tokens * real(shape.space_inner), 1);
  pass.begin("space_out_gemm").use(output_precision(layer));
  pass.quantise(tokens * real(shape.space_inner));
  add_reduced_product(pass, layer, {shape.tokens, shape.hidden, shape.space_inner});
  pass.use(layer.key.precision);
  add_residual_forward(pass, layer, "space_residual");
}

void add_state_space_backward(BackwardPass& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double tokens = real(shape.tokens);
  add_residual_backward(pass.input, layer, "space_drop_grad");
  pass.use(output_precision(layer));
  add_operand_gather(pass.input, layer);
  pass.input.begin("space_out_grad");
  pass.linear("space_out_weight_grad", {shape.tokens, shape.hidden, shape.space_inner});
  pass.use(layer.key.precision);
  pass.input.begin("space_norm_grad")
      .fused_memory(MemoryKernel::LayerNorm, 6 * tokens * real(shape.space_inner), 1);
  add_exchange(pass.input, layer, shape.space_inner);
  add_reordering(pass.input, layer, "space_reorder_grad", shape.space_inner);
  // The convolution's output is not kept either.
  pass.input.begin("space_scan_grad")
      .fused_memory(MemoryKernel::Elementwise, 4 * tokens * real(shape.space_conv), 1);
  add_scan(pass.input, layer, kScanBackward);
  // Read are input and gradient, written is the input's gradient.
  pass.input.begin("space_conv_grad")
      .fused_memory(MemoryKernel::Elementwise, 6 * tokens * real(shape.space_conv), 1);
  add_reordering(pass.input, layer, "space_order_grad", shape.space_projection);
  add_exchange(pass.input, layer, shape.space_projection);
  pass.input.begin("space_in_grad");
  pass.linear("space_in_weight_grad", {shape.tokens, shape.space_projection, shape.hidden});
  add_reduction(pass.input, layer);
  add_norm_backward(pass.input, layer, "input_norm_grad");
}

}  // namespace vtrain
