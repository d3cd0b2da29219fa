// The half of a layer that is a state space: Mamba-2, computed in chunks (Dao and Gu, arXiv:2405.21060,
// section 6 and listing 1), with the kernels of its authors: one over the input of the convolution, then the
// states of chunks, their passing on and the outputs.
#include <algorithm>

#include "workloads/layer_parts.hpp"

namespace vtrain {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// The products of the scan, each a batch over chunks and heads, or groups of heads.
struct ScanProducts {
  GemmShape scores;       ///< of outputs with inputs inside a chunk, per group
  GemmShape inside;       ///< scores with the inputs
  GemmShape states;       ///< what a chunk adds to the state
  GemmShape outputs;      ///< what the state adds to a chunk
  double num_states = 0;  ///< elements of the states of all chunks
};

ScanProducts scan_products(const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const StateSpace& space = layer.model.state_space;
  const std::int64_t chunk = std::min(space.chunk_size, shape.tokens);
  const std::int64_t num_chunks = shape.tokens / chunk;
  const std::int64_t heads = num_chunks * shape.space_heads;
  const std::int64_t groups = num_chunks * shape.space_groups;
  return {.scores = {chunk, chunk, space.state_size, groups},
          .inside = {chunk, space.head_size, chunk, heads},
          .states = {space.state_size, space.head_size, chunk, heads},
          .outputs = {chunk, space.head_size, space.state_size, heads},
          .num_states = real(heads) * real(space.state_size) * real(space.head_size)};
}

/// States are read and written in single precision when each chunk's is passed on to the next.
constexpr double kPassingTraffic = 8;

/// With context parallelism tokens are exchanged for heads before the convolution and back after the scan.
void add_exchange(PassBuilder& pass, const LayerContext& layer, std::int64_t columns) {
  const Bytes total(2 * real(layer.shape.tokens) * real(columns));
  pass.exposed("context_all_to_all", TaskKind::TensorComm,
               collective_time(layer.profile, Collective::AllToAll, layer.shape.context_group, total));
}

}  // namespace

void add_state_space_forward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double tokens = real(shape.tokens);
  add_norm_forward(pass, layer, "input_norm");
  add_gather(pass, layer);
  pass.begin("space_in_gemm");
  quantise(pass, layer, shape.split_elements);
  pass.gemm({shape.tokens, shape.space_projection, shape.hidden});
  add_exchange(pass, layer, shape.space_projection);
  pass.begin("space_conv").fused_memory(MemoryKernel::Elementwise, 4 * tokens * real(shape.space_conv), 1);
  const ScanProducts scan = scan_products(layer);
  pass.begin("space_scan")
      .plain_gemm(scan.scores)
      .plain_gemm(scan.states)
      .fused_memory(MemoryKernel::Elementwise, kPassingTraffic * scan.num_states, 1)
      .plain_gemm(scan.inside)
      .plain_gemm(scan.outputs);
  pass.begin("space_norm").fused_memory(MemoryKernel::LayerNorm, 6 * tokens * real(shape.space_inner), 1);
  add_exchange(pass, layer, shape.space_inner);
  pass.begin("space_out_gemm");
  quantise(pass, layer, tokens * real(shape.space_inner));
  pass.gemm({shape.tokens, shape.hidden, shape.space_inner});
  add_reduction(pass, layer);
  add_residual_forward(pass, layer, "space_residual");
}

void add_state_space_backward(BackwardPass& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double tokens = real(shape.tokens);
  add_residual_backward(pass.input, layer, "space_drop_grad");
  add_gather(pass.input, layer);
  pass.input.begin("space_out_grad");
  pass.linear(layer, "space_out_weight_grad", {shape.tokens, shape.hidden, shape.space_inner});
  add_exchange(pass.input, layer, shape.space_inner);
  // Read are output, gate and gradient, written the gradients of both.
  pass.input.begin("space_norm_grad")
      .fused_memory(MemoryKernel::LayerNorm, 10 * tokens * real(shape.space_inner), 1);
  // Neither the convolution's output nor the states are kept: they are computed again.
  const ScanProducts scan = scan_products(layer);
  pass.input.begin("space_scan_grad");
  pass.input.fused_memory(MemoryKernel::Elementwise, 4 * tokens * real(shape.space_conv), 1)
      .plain_gemm(scan.scores)
      .plain_gemm(scan.states)
      .fused_memory(MemoryKernel::Elementwise, 2 * kPassingTraffic * scan.num_states, 2);
  for (const GemmShape& product : {scan.scores, scan.inside, scan.states, scan.outputs}) {
    pass.input.plain_gemm({product.m, product.k, product.n, product.batch})
        .plain_gemm({product.k, product.n, product.m, product.batch});
  }
  // Read are input and gradient, written is the input's gradient.
  pass.input.begin("space_conv_grad")
      .fused_memory(MemoryKernel::Elementwise, 6 * tokens * real(shape.space_conv), 1);
  add_exchange(pass.input, layer, shape.space_projection);
  pass.input.begin("space_in_grad");
  pass.linear(layer, "space_in_weight_grad", {shape.tokens, shape.space_projection, shape.hidden});
  add_reduction(pass.input, layer);
  add_norm_backward(pass.input, layer, "input_norm_grad");
}

}  // namespace vtrain
