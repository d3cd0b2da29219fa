/// Collects the operators of one pass through a part of the model.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// Extrapolated operators by name, each with its largest distance from the measured sizes.
using ExtrapolatedOperators = std::map<std::string_view, Reach>;

/// Adds an operator, or keeps the larger distance of it.
void add_extrapolated(ExtrapolatedOperators& operators, std::string_view name, const Reach& reach);

/// Collects the operators of a pass, the overlap of its collectives with its matrix products, and the
/// evidence for its times.
class PassBuilder {
 public:
  /// `kind` is the kind of the computation. If the stack overlaps tensor parallelism, collectives and
  /// adjacent products are cut along the tokens into `tensor_pieces`, one for each member of the group.
  PassBuilder(const GpuProfile& profile, const Stack& stack, Precision precision, TaskKind kind,
              std::int64_t tensor_pieces = 1)
      : profile_(profile), stack_(stack), precision_(precision), kind_(kind), tensor_pieces_(tensor_pieces) {}

  /// Starts an operator; kernels that follow add to it.
  PassBuilder& begin(std::string_view name);
  /// Starts an operator all of whose kernels belong to attention, its matrix products too.
  PassBuilder& begin_attention(std::string_view name);
  /// Sets the precision of the products and weight gradients that follow. It starts as that of the layers.
  PassBuilder& use(Precision precision);
  /// The current precision.
  Precision precision() const { return precision_; }
  /// Quantises elements of a product's input if the current precision has 8 or 4 bits: the profile's
  /// `conversion_traffic`, in `num_kernels` kernels.
  PassBuilder& quantise(double elements, int num_kernels = 1);
  /// Adds a matrix product in the current precision, in pieces if collectives are cut into pieces.
  PassBuilder& gemm(const GemmShape& shape);
  /// Adds a matrix product whose result is reduced over the tensor-parallel group.
  PassBuilder& reduced_gemm(const GemmShape& shape);
  /// Adds a matrix product in bf16, also where the layers' products have 8 or 4 bits.
  PassBuilder& plain_gemm(const GemmShape& shape) { return product(product_time(plain_precision(), shape)); }
  /// Adds the gradient of the input of a linear layer whose forward pass is `forward`. `in_pieces`: cut like
  /// collectives.
  PassBuilder& input_gradient(const GemmShape& forward, bool in_pieces = false);
  /// Adds the gradient of the layer's weight.
  PassBuilder& weight_gradient(const GemmShape& forward);
  /// Adds the weight's gradient in bf16, also where the layers' products have 8 or 4 bits.
  PassBuilder& plain_weight_gradient(const GemmShape& forward);
  /// Add the products of experts, and the gradients of their inputs and weights.
  PassBuilder& grouped_gemm(const GroupedGemmShape& shape);
  PassBuilder& grouped_input_gradient(const GroupedGemmShape& forward);
  PassBuilder& grouped_weight_gradient(const GroupedGemmShape& forward);
  /// Adds any other matrix product.
  PassBuilder& product(KernelTime time);
  /// Adds fused attention, or the scan of a state space.
  PassBuilder& kernel(KernelTime time);
  /// Adds memory-bound kernels. `bytes` is the traffic of fused ones with elements of 2 bytes; single
  /// precision takes twice as much.
  PassBuilder& memory(MemoryKernel kind, double bytes, int num_kernels);
  /// Adds memory-bound kernels that are fused in every stack.
  PassBuilder& fused_memory(MemoryKernel kind, double bytes, int num_kernels);
  /// Adds the memory-bound kernels of a loss; `bytes` is the traffic in every precision.
  PassBuilder& loss(double bytes);
  /// Adds PyTorch's own kernels on `elements`; no stack's traffic factor applies to them.
  PassBuilder& eager(double elements, const EagerWork& work);
  /// Adds a wait of the GPU for the CPU before it continues this operator.
  PassBuilder& wait(Nanoseconds time);
  /// Adds a collective of the tensor-parallel group as a separate operator, unless it takes no time.
  PassBuilder& tensor_collective(std::string_view name, KernelTime time);
  /// Adds the collective after a `reduced_gemm`.
  PassBuilder& tensor_reduction(std::string_view name, KernelTime time);
  /// Adds the part of a communication that computation does not hide.
  PassBuilder& exposed(std::string_view name, TaskKind kind, KernelTime time);
  /// Adds dispatch or combine of experts as a separate operator, unless it takes no time.
  PassBuilder& dispatch(std::string_view name, KernelTime time);
  /// Makes the CPU wait here until the GPU has finished all earlier operators.
  PassBuilder& wait_for_gpu();

  /// Time of the operators so far that compute.
  Nanoseconds computation_time() const;
  /// Time of the operators as `finish` returns them, without waits for the CPU. No operator may follow.
  Nanoseconds busy_time();
  /// Time of the matrix products so far.
  Nanoseconds time_of_products() const { return product_time_; }
  /// Time of dispatch and combine so far.
  Nanoseconds dispatch_time() const;
  /// Reduces the time of dispatch and combine to `share`; computation hides the rest.
  void hide_dispatch(double share);

  /// The operators, rounded to whole nanoseconds. Of a collective in pieces, the first piece is visible, and
  /// the part of the rest that matrix products do not hide. The hidden part costs `OverlapRule::contention`.
  /// The CPU takes `issue_before` for the operators before it waits for the GPU and `issue_after` for those
  /// after it. If it never waits, it takes the sum for all operators. If the operators take less, the GPU
  /// waits for the CPU: the difference is a gap of the first of them that computes.
  std::vector<Operator> finish(Nanoseconds issue_before, Nanoseconds issue_after);

  /// Operators with a kernel or message outside the sizes that were measured.
  const ExtrapolatedOperators& extrapolated() const { return extrapolated_; }
  /// Names of operators with a kernel or message whose time is a formula's.
  const std::vector<std::string_view>& modelled() const { return modelled_; }

 private:
  /// A collective of the tensor-parallel group, and the number of pieces in which it overlaps a product.
  struct TensorCollective {
    std::size_t position;
    std::int64_t pieces;
  };

  PassBuilder& add(KernelTime time);
  PassBuilder& forward_gemm(const GemmShape& shape, std::int64_t pieces, double share);
  PassBuilder& tensor_collective(std::string_view name, KernelTime time, std::int64_t pieces);
  /// True if kernels on separate multiprocessors pipeline a reduction with a forward product.
  bool reduces_by_kernels() const {
    return tensor_pieces_ > 1 && stack_.overlap.reduction_multiprocessors > 0 &&
           (precision_ == Precision::Bf16 || precision_ == Precision::Fp16);
  }
  void overlap_collectives();
  void wait_for_cpu(std::size_t first, std::size_t end, Nanoseconds issue);
  Precision plain_precision() const {
    return precision_ == Precision::Fp32 ? Precision::Fp32 : Precision::Bf16;
  }
  /// Converts `first` and `second` elements of the operands and scales `scaled` elements of a gradient, if
  /// each row of a product's operands has a scaling factor.
  PassBuilder& scale_rows(double first, double second, double scaled = 0);
  bool scales_rows() const { return stack_.scales_rows && precision_ == Precision::Fp8; }
  KernelTime product_time(Precision precision, const GemmShape& shape, double share = 1) const;
  KernelTime weight_gradient_time(Precision precision, const GemmShape& forward) const;
  void note(std::string_view name, const KernelTime& time);

  const GpuProfile& profile_;
  const Stack& stack_;
  Precision precision_;
  TaskKind kind_;
  std::int64_t tensor_pieces_;
  Nanoseconds product_time_{0};
  std::vector<Operator> operators_;
  std::vector<TensorCollective> collectives_;
  std::vector<std::size_t> dispatches_;  ///< positions of dispatch and combine
  std::vector<std::size_t> attention_;   ///< positions of operators that belong to attention
  bool is_overlapped_ = false;           ///< `overlap_collectives` has run
  std::size_t waits_at_ = 0;             ///< position of the operator before which the CPU waits for the GPU
  ExtrapolatedOperators extrapolated_;
  std::vector<std::string_view> modelled_;
};

/// Rounds the parts of an operator's duration, which is whole, to whole nanoseconds that do not exceed it.
void round_parts(Operator& op);

/// First operator that computes, in which the GPU waits; the first of all if none computes. `operators` is
/// not empty.
Operator& first_computation(std::span<Operator> operators);

/// Visible time of an overlapped communication: its excess over `cover`, and the slowdown of the computation
/// that hides it.
Nanoseconds exposed_time(Nanoseconds communication, Nanoseconds cover, double contention);

}  // namespace vtrain
