// Attention by flash kernels, and what context parallelism adds to it.
#include <algorithm>

#include "workloads/layers/layer_parts.hpp"

namespace vtrain {
namespace {

/// Keys and values of all parts of a sequence are gathered before attention.
bool gathers(const LayerContext& layer) {
  return layer.stack.context == ContextExchange::Gather;
}

bool is_within_domain(const LayerContext& layer) {
  return layer.key.tensor * layer.key.context <= layer.profile.nvlink_domain;
}

/// Keys and values of the other GPUs arrive in a ring while attention works on those that are there. The
/// first hop shows, the rest as far as attention is not longer. Each GPU passes on keys and values of one
/// part for every other part.
KernelTime context_ring_time(const LayerContext& layer, KernelTime attention, double passes) {
  const Bytes part(passes * element_bytes(layer.key.precision) *
                   elements(layer.shape, keys_and_values(layer)));
  const KernelTime hop = send_time(layer.profile, is_within_domain(layer), part);
  const double parts = real(layer.key.context);
  const double others = parts - 1;
  const Nanoseconds cover = attention.time * (others / parts);
  return {hop.time + std::max(Nanoseconds(0), hop.time * (others - 1) - cover), hop.evidence};
}

/// What comes before attention: keys and values are concatenated to travel, and those of all parts gathered
/// where they do not pass in a ring. Compiled code waits for a collective where it issues it
/// (`_maybe_wrap_tensor` of torch/distributed/_functional_collectives.py).
void add_context_gather(PassBuilder& pass, const LayerContext& layer) {
  const double sent = elements(layer.shape, keys_and_values(layer));
  pass.begin("context_concat").memory(MemoryKernel::Elementwise, 4 * sent, 1);
  if (!gathers(layer)) return;
  const Bytes all(element_bytes(layer.key.precision) * real(layer.key.context) * sent);
  pass.exposed("context_gather", TaskKind::TensorComm,
               collective_time(layer.profile, Collective::AllGather, layer.shape.context_group, all,
                               layer.stack.libraries));
}

/// Attention works on one part of the sequence after the other, and partial outputs are merged. PyTorch adds
/// each to a sum in single precision (`_templated_ring_attention` of torch/distributed/tensor/experimental/
/// _attention.py); Transformer Engine scales the first, then adds the others in the precision that they have
/// (`AttnFuncWithCPAndKVP2P` of transformer_engine/pytorch/attention/dot_product_attention/
/// context_parallel.py).
void add_context_merge(PassBuilder& pass, const LayerContext& layer) {
  const double others = real(layer.key.context - 1);
  const double traffic = gathers(layer) ? 10 * others : 4 + 6 * others;
  pass.begin("context_merge")
      .memory(MemoryKernel::Elementwise, traffic * elements(layer.shape, layer.shape.attention_output),
              static_cast<int>(layer.key.context));
}

/// The same backward: gradients of queries, and those of keys and values, which are concatenated. PyTorch
/// adds up in single precision and concatenates the sums, Transformer Engine does so before it adds.
void add_context_gradients(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double parts = real(layer.key.context);
  const double queries = gathers(layer) ? 10 * parts : 4 + 6 * (parts - 1);
  const double sent = (gathers(layer) ? 10 + 8 : 6 + 4) * parts;
  pass.begin("context_add")
      .memory(MemoryKernel::Elementwise,
              queries * elements(shape, shape.query) + sent * elements(shape, keys_and_values(layer)),
              4 * static_cast<int>(layer.key.context));
}

/// In single precision the gradients of keys and values go on from GPU to GPU, after each part.
KernelTime gradient_ring_time(const LayerContext& layer) {
  const KernelTime hop = send_time(layer.profile, is_within_domain(layer),
                                   Bytes(4 * elements(layer.shape, keys_and_values(layer))));
  return {hop.time * real(layer.key.context), hop.evidence};
}

/// Flash attention has no kernels in single precision: those that take its place are taken to reach the same
/// share of that precision's peak rate.
KernelTime in_plan_precision(const LayerContext& layer, KernelTime half) {
  if (layer.key.precision != Precision::Fp32) return half;
  return {half.time * (layer.profile.peak_rate.value / layer.profile.peak_rate_fp32.value),
          Evidence::Modelled};
}

}  // namespace

void add_flash_forward(PassBuilder& pass, const LayerContext& layer, const AttentionShape& attention) {
  const KernelTime time =
      in_plan_precision(layer, attention_forward_time(layer.profile, layer.stack.attention, attention));
  if (layer.key.context <= 1) {
    pass.begin("attention").kernel(time);
    return;
  }
  add_context_gather(pass, layer);
  pass.begin("attention").kernel(time);
  if (!gathers(layer)) pass.exposed("context_ring", TaskKind::TensorComm, context_ring_time(layer, time, 1));
  add_context_merge(pass, layer);
}

void add_flash_backward(PassBuilder& pass, const LayerContext& layer, const AttentionShape& attention) {
  const KernelTime time =
      in_plan_precision(layer, attention_backward_time(layer.profile, layer.stack.attention, attention));
  if (layer.key.context <= 1) {
    pass.begin("attention_grad").kernel(time);
    return;
  }
  add_context_gather(pass, layer);
  pass.begin("attention_grad").kernel(time);
  // In a ring keys and values travel again, and their gradients with them.
  pass.exposed("context_ring", TaskKind::TensorComm,
               gathers(layer) ? gradient_ring_time(layer) : context_ring_time(layer, time, 2));
  add_context_gradients(pass, layer);
}

}  // namespace vtrain
