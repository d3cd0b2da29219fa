/// Collects the operators of one pass through a part of the model.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// Collects the operators of a pass, the overlap of its collectives with its matrix products, and what its
/// times rest on.
class PassBuilder {
 public:
  /// `kind` is that of the computation. Where the stack overlaps tensor parallelism, collectives and the
  /// products beside them are cut along the tokens into `tensor_pieces`, as many as the group has members.
  PassBuilder(const GpuProfile& profile, const Stack& stack, Precision precision, TaskKind kind,
              std::int64_t tensor_pieces = 1)
      : profile_(profile), stack_(stack), precision_(precision), kind_(kind), tensor_pieces_(tensor_pieces) {}

  /// Starts an operator; kernels that follow add to it.
  PassBuilder& begin(std::string_view name);
  /// The precision of products and weight gradients that follow, until told otherwise: at first the layers'.
  PassBuilder& use(Precision precision);
  /// The precision in force.
  Precision precision() const { return precision_; }
  /// Quantises elements of a product's input where products have 8 or 4 bits at the moment: the profile's
  /// `conversion_traffic`, in as many kernels.
  PassBuilder& quantise(double elements, int num_kernels = 1);
  /// A matrix product in that precision, in pieces where collectives are.
  PassBuilder& gemm(const GemmShape& shape);
  /// The same where its result is reduced over the tensor-parallel group.
  PassBuilder& reduced_gemm(const GemmShape& shape);
  /// A matrix product in bf16 where the layers' are in 8 or 4 bits.
  PassBuilder& plain_gemm(const GemmShape& shape) { return product(product_time(plain_precision(), shape)); }
  /// The gradient of the input of a linear layer whose forward pass is `forward`, perhaps in pieces where
  /// collectives are.
  PassBuilder& input_gradient(const GemmShape& forward, bool in_pieces = false);
  /// The gradient of its weight.
  PassBuilder& weight_gradient(const GemmShape& forward);
  /// The weight's, in bf16 where the layers' products are in 8 or 4 bits.
  PassBuilder& plain_weight_gradient(const GemmShape& forward);
  /// The products of experts, and the gradients of their inputs and weights.
  PassBuilder& grouped_gemm(const GroupedGemmShape& shape);
  PassBuilder& grouped_input_gradient(const GroupedGemmShape& forward);
  PassBuilder& grouped_weight_gradient(const GroupedGemmShape& forward);
  /// Any other matrix product.
  PassBuilder& product(KernelTime time);
  /// Attention and the like.
  PassBuilder& kernel(KernelTime time);
  /// Memory-bound kernels; `bytes` is the traffic of fused ones with elements of 2 bytes, twice as much in
  /// single precision.
  PassBuilder& memory(MemoryKernel kind, double bytes, int num_kernels);
  /// The same for kernels that are fused in every stack.
  PassBuilder& fused_memory(MemoryKernel kind, double bytes, int num_kernels);
  /// The same for a loss, of as many bytes as given in every precision.
  PassBuilder& loss(double bytes);
  /// Kernels of PyTorch itself on `elements`, which no stack's traffic factor applies to.
  PassBuilder& eager(double elements, const EagerWork& work);
  /// The GPU waits for the CPU before it goes on with this operator.
  PassBuilder& wait(Nanoseconds time);
  /// A collective of the tensor-parallel group, an operator of its own; left out if it takes no time.
  PassBuilder& tensor_collective(std::string_view name, KernelTime time);
  /// The same after `reduced_gemm`.
  PassBuilder& tensor_reduction(std::string_view name, KernelTime time);
  /// Communication of which only this much is not hidden behind computation.
  PassBuilder& exposed(std::string_view name, TaskKind kind, KernelTime time);
  /// Dispatch or combine of experts, an operator of its own; left out if it takes no time.
  PassBuilder& dispatch(std::string_view name, KernelTime time);
  /// Here the CPU waits until the GPU is done with all before.
  PassBuilder& wait_for_gpu();

  /// Of the operators so far, those that compute.
  Nanoseconds computation_time() const;
  /// Of the operators as `finish` gives them, but for waits for the CPU; none may follow.
  Nanoseconds busy_time();
  /// Of the operators so far, matrix products.
  Nanoseconds time_of_products() const { return product_time_; }
  /// Of the operators so far, dispatch and combine.
  Nanoseconds dispatch_time() const;
  /// Only this share of dispatch and combine shows.
  void hide_dispatch(double share);

  /// The operators, rounded to whole nanoseconds. Of collectives that are cut into pieces the first piece
  /// shows, the rest as far as the matrix products do not hide it, and what is hidden costs
  /// `OverlapRule::contention`. The CPU takes `issue_before` for the operators before it waits for the GPU
  /// and `issue_after` for those after it; if it never waits, the sum for all. Where they take less, the GPU
  /// waits for the CPU: the difference is a gap of the first of them that computes.
  std::vector<Operator> finish(Nanoseconds issue_before, Nanoseconds issue_after);

  /// Names of operators with a kernel or message outside the sizes that were measured.
  const std::vector<std::string_view>& extrapolated() const { return extrapolated_; }
  /// Names of operators with a kernel or message whose time is a formula's.
  const std::vector<std::string_view>& modelled() const { return modelled_; }

 private:
  /// A collective of the tensor-parallel group, and in how many pieces it runs beside a product.
  struct TensorCollective {
    std::size_t position;
    std::int64_t pieces;
  };

  PassBuilder& forward_gemm(const GemmShape& shape, std::int64_t pieces, double share);
  PassBuilder& tensor_collective(std::string_view name, KernelTime time, std::int64_t pieces);
  /// Whether a reduction beside a forward product is pipelined by kernels on multiprocessors of their own.
  bool reduces_by_kernels() const {
    return tensor_pieces_ > 1 && stack_.overlap.reduction_multiprocessors > 0 &&
           (precision_ == Precision::Bf16 || precision_ == Precision::Fp16);
  }
  void overlap_collectives();
  void wait_for_cpu(std::size_t first, std::size_t end, Nanoseconds issue);
  Precision plain_precision() const {
    return precision_ == Precision::Fp32 ? Precision::Fp32 : Precision::Bf16;
  }
  /// Where each row of a product's operands has a scaling factor: converts so many elements of the operands
  /// and scales so many of a gradient.
  PassBuilder& scale_rows(double first, double second, double scaled = 0);
  bool scales_rows() const { return stack_.scales_rows && precision_ == Precision::Fp8; }
  KernelTime product_time(Precision precision, const GemmShape& shape, double share = 1) const;
  KernelTime weight_gradient_time(Precision precision, const GemmShape& forward) const;
  void note(std::string_view name, Evidence evidence);

  const GpuProfile& profile_;
  const Stack& stack_;
  Precision precision_;
  TaskKind kind_;
  std::int64_t tensor_pieces_;
  Nanoseconds product_time_{0};
  std::vector<Operator> operators_;
  std::vector<TensorCollective> collectives_;
  std::vector<std::size_t> dispatches_;  ///< positions of dispatch and combine
  bool is_overlapped_ = false;           ///< `overlap_collectives` has run
  std::size_t waits_at_ = 0;             ///< position of the operator before which the CPU waits for the GPU
  std::vector<std::string_view> extrapolated_;
  std::vector<std::string_view> modelled_;
};

/// The first of the operators that computes, in which the GPU waits; the first of all if none does. There is
/// at least one.
Operator& first_computation(std::span<Operator> operators);

/// What of an overlapped communication shows: what is longer than the `cover`, and the slowdown of the
/// computation under it.
Nanoseconds exposed_time(Nanoseconds communication, Nanoseconds cover, double contention);

}  // namespace vtrain
