#include "workloads/layers/pass_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vtrain {
namespace {

// torchao's recipe `rowwise` (docs/predictor/model.md). Bytes of converting an element of an operand, which
// is read for the largest values of its rows, read again and written, by the kernels that torch.compile
// writes; what of it the tables of products contain for their first operand; the rate of PyTorch's CUTLASS
// kernel over cuBLAS's; bytes of scaling an element of a gradient, for which cuBLAS is taken.
constexpr double kRowConversion = 7;
constexpr double kConversionInTables = 6;
constexpr double kRowKernelRate = 0.95;
constexpr double kRescaling = 4;

double area(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

/// Time of a product whose rows are cut into pieces, which run one after the other.
template <typename TimeOf>
KernelTime sum_of_pieces(GemmShape shape, std::int64_t num_pieces, const TimeOf& time_of) {
  shape.m = (shape.m + num_pieces - 1) / num_pieces;
  KernelTime time = time_of(shape);
  time.time *= static_cast<double>(num_pieces);
  return time;
}

}  // namespace

Operator& first_computation(std::span<Operator> operators) {
  const auto first = std::find_if(operators.begin(), operators.end(),
                                  [](const Operator& op) { return !is_collective(op.kind); });
  return first == operators.end() ? operators.front() : *first;
}

Nanoseconds exposed_time(Nanoseconds communication, Nanoseconds cover, double contention) {
  return std::max(Nanoseconds(0), communication - cover) + contention * std::min(communication, cover);
}

void add_extrapolated(ExtrapolatedOperators& operators, std::string_view name, const Reach& reach) {
  Reach& known = operators.try_emplace(name, reach).first->second;
  known = further(known, reach);
}

PassBuilder& PassBuilder::begin(std::string_view name) {
  operators_.push_back({.name = name, .kind = kind_});
  return *this;
}

PassBuilder& PassBuilder::begin_attention(std::string_view name) {
  attention_.push_back(operators_.size());
  return begin(name);
}

PassBuilder& PassBuilder::use(Precision precision) {
  precision_ = precision;
  return *this;
}

KernelTime PassBuilder::product_time(Precision precision, const GemmShape& shape, double share) const {
  return stack_.libraries == Libraries::Old ? modelled_gemm_time(profile_, precision, shape)
                                            : gemm_time(profile_, precision, shape, share);
}

PassBuilder& PassBuilder::quantise(double elements, int num_kernels) {
  if ((precision_ != Precision::Fp8 && precision_ != Precision::Fp4) || scales_rows()) return *this;
  const Bytes traffic =
      precision_ == Precision::Fp8 ? profile_.conversion_traffic : profile_.conversion_traffic_fp4;
  // Kernels of Transformer Engine, which are fused also where the rest of a layer is eager.
  return fused_memory(MemoryKernel::Elementwise, traffic.value * elements, num_kernels);
}

PassBuilder& PassBuilder::scale_rows(double first, double second, double scaled) {
  const double traffic =
      (kRowConversion - kConversionInTables) * first + kRowConversion * second + kRescaling * scaled;
  return fused_memory(MemoryKernel::Elementwise, traffic, scaled > 0 ? 5 : 4);
}

PassBuilder& PassBuilder::gemm(const GemmShape& shape) {
  return forward_gemm(shape, tensor_pieces_, 1);
}

PassBuilder& PassBuilder::reduced_gemm(const GemmShape& shape) {
  if (!reduces_by_kernels()) return gemm(shape);
  const auto kept = static_cast<double>(stack_.overlap.reduction_multiprocessors);
  return forward_gemm(shape, kReductionPieces, 1 - kept / static_cast<double>(profile_.num_multiprocessors));
}

PassBuilder& PassBuilder::forward_gemm(const GemmShape& shape, std::int64_t pieces, double share) {
  KernelTime time = sum_of_pieces(
      shape, pieces, [&](const GemmShape& piece) { return product_time(precision_, piece, share); });
  if (!scales_rows()) return product(time);
  time.time /= kRowKernelRate;
  const auto batch = static_cast<double>(shape.batch);
  return product(time).scale_rows(batch * area(shape.m, shape.k), batch * area(shape.k, shape.n));
}

PassBuilder& PassBuilder::input_gradient(const GemmShape& forward, bool in_pieces) {
  product(sum_of_pieces(forward, in_pieces ? tensor_pieces_ : 1, [&](const GemmShape& piece) {
    return stack_.libraries == Libraries::Current
               ? input_gradient_time(profile_, precision_, piece)
               : modelled_gemm_time(profile_, precision_, {piece.m, piece.k, piece.n, piece.batch});
  }));
  if (!scales_rows()) return *this;
  return scale_rows(area(forward.m, forward.n), area(forward.n, forward.k), area(forward.m, forward.k));
}

PassBuilder& PassBuilder::weight_gradient(const GemmShape& forward) {
  product(weight_gradient_time(precision_, forward));
  if (!scales_rows()) return *this;
  return scale_rows(area(forward.n, forward.m), area(forward.m, forward.k), area(forward.n, forward.k));
}

PassBuilder& PassBuilder::plain_weight_gradient(const GemmShape& forward) {
  return product(weight_gradient_time(plain_precision(), forward));
}

PassBuilder& PassBuilder::grouped_gemm(const GroupedGemmShape& shape) {
  KernelTime time = grouped_gemm_time(profile_, precision_, shape);
  if (!scales_rows()) return product(time);
  time.time /= kRowKernelRate;
  const double weights = area(shape.num_experts * shape.n, shape.k);
  return product(time).scale_rows(area(shape.rows, shape.k), weights);
}

PassBuilder& PassBuilder::grouped_input_gradient(const GroupedGemmShape& forward) {
  product(grouped_input_gradient_time(profile_, precision_, forward));
  if (!scales_rows()) return *this;
  const double weights = area(forward.num_experts * forward.n, forward.k);
  return scale_rows(area(forward.rows, forward.n), weights, area(forward.rows, forward.k));
}

PassBuilder& PassBuilder::grouped_weight_gradient(const GroupedGemmShape& forward) {
  product(grouped_weight_gradient_time(profile_, precision_, forward));
  if (!scales_rows()) return *this;
  const double weights = area(forward.num_experts * forward.n, forward.k);
  return scale_rows(area(forward.n, forward.rows), area(forward.rows, forward.k), weights);
}

KernelTime PassBuilder::weight_gradient_time(Precision precision, const GemmShape& forward) const {
  if (stack_.libraries == Libraries::Current)
    return vtrain::weight_gradient_time(profile_, precision, forward);
  return modelled_gemm_time(profile_, precision, {forward.n, forward.k, forward.m, forward.batch});
}

PassBuilder& PassBuilder::product(KernelTime time) {
  product_time_ += stack_.factors.product * time.time;
  operators_.back().products += stack_.factors.product * time.time;
  return add(time);
}

PassBuilder& PassBuilder::kernel(KernelTime time) {
  operators_.back().attention += stack_.factors.product * time.time;
  return add(time);
}

PassBuilder& PassBuilder::add(KernelTime time) {
  operators_.back().duration += stack_.factors.product * time.time;
  note(operators_.back().name, time);
  return *this;
}

PassBuilder& PassBuilder::memory(MemoryKernel kind, double bytes, int num_kernels) {
  const Bytes traffic(bytes * element_bytes(precision_) / 2);
  operators_.back().duration += stack_.factors.memory * stack_.traffic_factor *
                                memory_kernel_time(profile_, kind, traffic, num_kernels);
  return *this;
}

PassBuilder& PassBuilder::fused_memory(MemoryKernel kind, double bytes, int num_kernels) {
  const Bytes traffic(bytes * element_bytes(precision_) / 2);
  operators_.back().duration +=
      stack_.factors.memory * memory_kernel_time(profile_, kind, traffic, num_kernels);
  return *this;
}

PassBuilder& PassBuilder::loss(double bytes) {
  operators_.back().duration +=
      stack_.factors.memory * memory_kernel_time(profile_, MemoryKernel::Elementwise, Bytes(bytes), 1);
  return *this;
}

PassBuilder& PassBuilder::eager(double elements, const EagerWork& work) {
  operators_.back().duration += stack_.factors.memory * eager_kernel_time(profile_, elements, work);
  return *this;
}

PassBuilder& PassBuilder::wait(Nanoseconds time) {
  operators_.back().gap += Nanoseconds(std::round(time.count()));
  return *this;
}

PassBuilder& PassBuilder::tensor_collective(std::string_view name, KernelTime time) {
  return tensor_collective(name, time, tensor_pieces_);
}

PassBuilder& PassBuilder::tensor_reduction(std::string_view name, KernelTime time) {
  return tensor_collective(name, time, reduces_by_kernels() ? kReductionPieces : tensor_pieces_);
}

PassBuilder& PassBuilder::tensor_collective(std::string_view name, KernelTime time, std::int64_t pieces) {
  if (time.time.count() > 0) collectives_.push_back({operators_.size(), pieces});
  return exposed(name, TaskKind::TensorComm, time);
}

PassBuilder& PassBuilder::exposed(std::string_view name, TaskKind kind, KernelTime time) {
  if (time.time.count() <= 0) return *this;
  note(name, time);
  operators_.push_back({.name = name, .kind = kind, .duration = stack_.factors.communication * time.time});
  return *this;
}

PassBuilder& PassBuilder::dispatch(std::string_view name, KernelTime time) {
  if (time.time.count() > 0) dispatches_.push_back(operators_.size());
  return exposed(name, TaskKind::TensorComm, time);
}

PassBuilder& PassBuilder::wait_for_gpu() {
  waits_at_ = operators_.size();
  return *this;
}

Nanoseconds PassBuilder::computation_time() const {
  Nanoseconds sum(0);
  for (const Operator& op : operators_) {
    if (op.kind == kind_) sum += op.duration;
  }
  return sum;
}

Nanoseconds PassBuilder::busy_time() {
  overlap_collectives();
  return total_span(operators_);
}

Nanoseconds PassBuilder::dispatch_time() const {
  Nanoseconds sum(0);
  for (const std::size_t i : dispatches_)
    sum += operators_[i].duration;
  return sum;
}

void PassBuilder::hide_dispatch(double share) {
  for (const std::size_t i : dispatches_)
    operators_[i].duration *= share;
}

void PassBuilder::overlap_collectives() {
  if (std::exchange(is_overlapped_, true)) return;
  Nanoseconds total(0);
  Nanoseconds first_pieces(0);
  for (const TensorCollective& collective : collectives_) {
    const Nanoseconds time = operators_[collective.position].duration;
    total += time;
    first_pieces += time / static_cast<double>(collective.pieces);
  }
  if (tensor_pieces_ <= 1 || total.count() <= 0) return;
  const Nanoseconds shown = first_pieces + std::max(Nanoseconds(0), total - first_pieces - product_time_) +
                            stack_.overlap.contention * std::min(total, product_time_);
  for (const TensorCollective& collective : collectives_)
    operators_[collective.position].duration *= shown / total;
}

void PassBuilder::wait_for_cpu(std::size_t first, std::size_t end, Nanoseconds issue) {
  double busy = 0;
  for (std::size_t i = first; i < end; ++i)
    busy += operators_[i].duration.count() + operators_[i].gap.count();
  const double floor = std::round(issue.count());
  if (first == end || busy >= floor) return;
  // A kernel waits, not a parallel collective.
  first_computation(std::span(operators_).subspan(first, end - first)).gap += Nanoseconds(floor - busy);
}

std::vector<Operator> PassBuilder::finish(Nanoseconds issue_before, Nanoseconds issue_after) {
  overlap_collectives();
  for (const std::size_t i : attention_) {
    operators_[i].products = Nanoseconds(0);
    operators_[i].attention = operators_[i].duration;
  }
  for (Operator& op : operators_) {
    op.duration = Nanoseconds(std::round(op.duration.count()));
    round_parts(op);
  }
  const bool waits = waits_at_ > 0;
  if (waits) wait_for_cpu(0, waits_at_, issue_before);
  wait_for_cpu(waits_at_, operators_.size(), waits ? issue_after : issue_before + issue_after);
  return std::move(operators_);
}

void round_parts(Operator& op) {
  op.products = std::min(op.duration, Nanoseconds(std::round(op.products.count())));
  op.attention = std::min(op.duration - op.products, Nanoseconds(std::round(op.attention.count())));
}

void PassBuilder::note(std::string_view name, const KernelTime& time) {
  if (time.evidence == Evidence::Extrapolated) add_extrapolated(extrapolated_, name, time.reach);
  if (time.evidence == Evidence::Modelled) modelled_.push_back(name);
}

}  // namespace vtrain
