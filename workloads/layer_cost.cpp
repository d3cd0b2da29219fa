// Megatron-LM's fp16 kernels as of 2021: fused bias + GELU, bias + dropout + add and mask + softmax; no flash
// attention and no sequence parallelism. Traffic is counted from each kernel's inputs, outputs and masks: 2
// bytes an element, 1 a mask.
#include "workloads/layer_cost.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "workloads/kernel_cost.hpp"

namespace vtrain {
namespace {

/// Sizes that the kernels of one layer share.
struct Sizes {
  std::int64_t tokens;  ///< of a micro-batch
  std::int64_t hidden;
  std::int64_t sequence;
  std::int64_t head_size;
  std::int64_t qkv;           ///< columns of the query, key and value projection on one GPU
  std::int64_t context;       ///< columns of the attention output on one GPU
  std::int64_t mlp;           ///< columns of the inner MLP layer on one GPU
  std::int64_t vocabulary;    ///< rows of the embedding on one GPU
  std::int64_t score_batch;   ///< attention heads of a micro-batch on one GPU
  double token_elements;      ///< tokens x hidden
  double context_elements;    ///< tokens x context
  double score_elements;      ///< score_batch x sequence^2
  double layer_weights;       ///< 12 hidden^2 / tensor
  Nanoseconds all_reduce{0};  ///< of the activations over the tensor-parallel group; 0 without one
};

/// Collects the operators of one pass.
class PassBuilder {
 public:
  PassBuilder(const GpuProfile& profile, TaskKind kind) : profile_(profile), kind_(kind) {}

  /// Starts an operator; what follows adds to it.
  PassBuilder& begin(const char* name) {
    operators_.push_back({.name = name, .kind = kind_});
    return *this;
  }
  PassBuilder& gemm(const GemmShape& shape) {
    return add(modelled_gemm_time(profile_, Precision::Fp16, shape).time);
  }
  PassBuilder& memory(MemoryKernel kind, double bytes, int num_kernels) {
    return add(memory_kernel_time(profile_, kind, Bytes(bytes), num_kernels));
  }
  /// A collective of its own, left out if there is nothing to reduce.
  PassBuilder& all_reduce(Nanoseconds time) {
    if (time.count() > 0) {
      operators_.push_back({.name = "all_reduce", .kind = TaskKind::TensorComm, .duration = time});
    }
    return *this;
  }
  /// The operators, rounded to whole nanoseconds. If all but the collectives take less than `issue_floor`,
  /// the GPU waits for the CPU: the difference is a gap of the first.
  std::vector<Operator> finish(Nanoseconds issue_floor) {
    double busy = 0;
    for (Operator& op : operators_) {
      op.duration = Nanoseconds(std::round(op.duration.count()));
      if (op.kind == kind_) busy += op.duration.count();
    }
    const double floor = std::round(issue_floor.count());
    if (busy < floor) operators_.front().gap = Nanoseconds(floor - busy);
    return std::move(operators_);
  }

 private:
  PassBuilder& add(Nanoseconds time) {
    operators_.back().duration += time;
    return *this;
  }

  const GpuProfile& profile_;
  TaskKind kind_;
  std::vector<Operator> operators_;
};

std::vector<Operator> layer_forward(const GpuProfile& profile, const Sizes& z) {
  const double th = z.token_elements;
  PassBuilder pass(profile, TaskKind::Forward);
  pass.begin("input_norm").memory(MemoryKernel::LayerNorm, 4 * th, 1);
  pass.begin("qkv_gemm")
      .gemm({z.tokens, z.qkv, z.hidden})
      .memory(MemoryKernel::Elementwise, 12 * z.context_elements, 1);
  pass.begin("attn_scores").gemm({z.sequence, z.sequence, z.head_size, z.score_batch});
  pass.begin("attn_softmax")
      .memory(MemoryKernel::Softmax, 4 * z.score_elements, 1)
      .memory(MemoryKernel::Dropout, 5 * z.score_elements, 1);
  pass.begin("attn_context")
      .gemm({z.sequence, z.head_size, z.sequence, z.score_batch})
      .memory(MemoryKernel::Elementwise, 4 * z.context_elements, 1);
  pass.begin("attn_out_gemm").gemm({z.tokens, z.hidden, z.context}).all_reduce(z.all_reduce);
  pass.begin("attn_dropout").memory(MemoryKernel::Dropout, 7 * th, 1);
  pass.begin("mlp_norm").memory(MemoryKernel::LayerNorm, 4 * th, 1);
  pass.begin("mlp_up_gemm").gemm({z.tokens, z.mlp, z.hidden});
  pass.begin("mlp_gelu").memory(MemoryKernel::Gelu, 16 * z.context_elements, 1);
  pass.begin("mlp_down_gemm").gemm({z.tokens, z.hidden, z.mlp}).all_reduce(z.all_reduce);
  pass.begin("mlp_dropout").memory(MemoryKernel::Dropout, 7 * th, 1);
  return pass.finish(profile.forward_issue_floor);
}

std::vector<Operator> layer_backward(const GpuProfile& profile, const Sizes& z) {
  const double th = z.token_elements;
  const GemmShape score_product{z.sequence, z.head_size, z.sequence, z.score_batch};
  PassBuilder pass(profile, TaskKind::Backward);
  pass.begin("mlp_drop_grad").memory(MemoryKernel::Dropout, 7 * th, 2);
  pass.begin("mlp_down_grad").gemm({z.tokens, z.mlp, z.hidden}).gemm({z.hidden, z.mlp, z.tokens});
  pass.begin("mlp_gelu_grad").memory(MemoryKernel::Gelu, 32 * z.context_elements, 2);
  pass.begin("mlp_up_grad")
      .gemm({z.tokens, z.hidden, z.mlp})
      .gemm({z.mlp, z.hidden, z.tokens})
      .all_reduce(z.all_reduce);
  pass.begin("mlp_norm_grad")
      .memory(MemoryKernel::LayerNorm, 10 * th, 2)
      .memory(MemoryKernel::Elementwise, 6 * th, 1);
  pass.begin("attn_drop_grad").memory(MemoryKernel::Dropout, 7 * th, 2);
  pass.begin("attn_out_grad").gemm({z.tokens, z.context, z.hidden}).gemm({z.hidden, z.context, z.tokens});
  pass.begin("attn_ctx_grad")
      .memory(MemoryKernel::Elementwise, 4 * z.context_elements, 1)
      .gemm({z.sequence, z.sequence, z.head_size, z.score_batch})
      .gemm(score_product);
  pass.begin("softmax_grad")
      .memory(MemoryKernel::Dropout, 5 * z.score_elements, 1)
      .memory(MemoryKernel::Softmax, 6 * z.score_elements, 1);
  pass.begin("scores_grad").gemm(score_product).gemm(score_product);
  pass.begin("qkv_grad")
      .memory(MemoryKernel::Elementwise, 18 * z.context_elements, 3)
      .gemm({z.tokens, z.hidden, z.qkv})
      .gemm({z.qkv, z.hidden, z.tokens})
      .all_reduce(z.all_reduce);
  pass.begin("input_norm_grad")
      .memory(MemoryKernel::LayerNorm, 10 * th, 2)
      .memory(MemoryKernel::Elementwise, 6 * th, 1);
  pass.begin("grad_accumulate").memory(MemoryKernel::Elementwise, 6 * z.layer_weights, 4);
  return pass.finish(profile.backward_issue_floor);
}

PassCosts embedding_costs(const GpuProfile& profile, const Sizes& z) {
  const double th = z.token_elements;
  PassBuilder forward(profile, TaskKind::Forward);
  forward.begin("embedding").memory(MemoryKernel::Elementwise, 4 * th, 1).all_reduce(z.all_reduce);
  forward.begin("embed_dropout").memory(MemoryKernel::Dropout, 7 * th, 1);
  PassBuilder backward(profile, TaskKind::Backward);
  backward.begin("embed_drop_grad").memory(MemoryKernel::Dropout, 7 * th, 1);
  backward.begin("embedding_grad")
      .memory(MemoryKernel::Elementwise,
              8 * static_cast<double>(z.vocabulary) * static_cast<double>(z.hidden), 1);
  return {forward.finish(Nanoseconds(0)), backward.finish(Nanoseconds(0))};
}

PassCosts head_costs(const GpuProfile& profile, const Sizes& z) {
  const double logits = static_cast<double>(z.tokens) * static_cast<double>(z.vocabulary);
  PassBuilder forward(profile, TaskKind::Forward);
  forward.begin("final_norm").memory(MemoryKernel::LayerNorm, 4 * z.token_elements, 1);
  forward.begin("logits_gemm").gemm({z.tokens, z.vocabulary, z.hidden});
  forward.begin("loss").memory(MemoryKernel::Elementwise, 38 * logits, 1);
  PassBuilder backward(profile, TaskKind::Backward);
  backward.begin("loss_grad").memory(MemoryKernel::Elementwise, 16 * logits, 1);
  backward.begin("logits_grad")
      .gemm({z.tokens, z.hidden, z.vocabulary})
      .gemm({z.vocabulary, z.hidden, z.tokens})
      .all_reduce(z.all_reduce);
  return {forward.finish(Nanoseconds(0)), backward.finish(Nanoseconds(0))};
}

}  // namespace

LayerCosts layer_costs(const TransformerModel& model, std::int64_t tensor, std::int64_t micro_batch,
                       const GpuProfile& profile) {
  Sizes z{.tokens = micro_batch * model.sequence_length,
          .hidden = model.hidden_size,
          .sequence = model.sequence_length,
          .head_size = model.hidden_size / model.num_heads,
          .qkv = 3 * model.hidden_size / tensor,
          .context = model.hidden_size / tensor,
          .mlp = 4 * model.hidden_size / tensor,
          .vocabulary = (model.vocab_size + tensor - 1) / tensor,
          .score_batch = micro_batch * model.num_heads / tensor,
          .token_elements = 0,
          .context_elements = 0,
          .score_elements = 0,
          .layer_weights = 0};
  const auto sequence = static_cast<double>(z.sequence);
  const auto hidden = static_cast<double>(z.hidden);
  z.token_elements = static_cast<double>(z.tokens) * hidden;
  z.context_elements = static_cast<double>(z.tokens) * static_cast<double>(z.context);
  z.score_elements = static_cast<double>(z.score_batch) * sequence * sequence;
  z.layer_weights = 12 * hidden * hidden / static_cast<double>(tensor);
  const KernelTime all_reduce = tensor_all_reduce_time(profile, tensor, Bytes(2 * z.token_elements));
  z.all_reduce = all_reduce.time;
  return {.layer = {layer_forward(profile, z), layer_backward(profile, z)},
          .embedding = embedding_costs(profile, z),
          .head = head_costs(profile, z),
          .all_reduce_extrapolated = all_reduce.evidence == Evidence::Extrapolated};
}

}  // namespace vtrain
