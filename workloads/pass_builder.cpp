#include "workloads/pass_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vtrain {

Nanoseconds exposed_time(Nanoseconds communication, Nanoseconds cover, double contention) {
  return std::max(Nanoseconds(0), communication - cover) + contention * std::min(communication, cover);
}

PassBuilder& PassBuilder::begin(std::string_view name) {
  operators_.push_back({.name = name, .kind = kind_});
  return *this;
}

PassBuilder& PassBuilder::use(Precision precision) {
  precision_ = precision;
  return *this;
}

KernelTime PassBuilder::product_time(Precision precision, const GemmShape& shape) const {
  return stack_.libraries == Libraries::Old ? modelled_gemm_time(profile_, precision, shape)
                                            : gemm_time(profile_, precision, shape);
}

PassBuilder& PassBuilder::weight_gradient(const GemmShape& forward) {
  return product(weight_gradient_time(precision_, forward));
}

PassBuilder& PassBuilder::plain_weight_gradient(const GemmShape& forward) {
  return product(weight_gradient_time(Precision::Bf16, forward));
}

KernelTime PassBuilder::weight_gradient_time(Precision precision, const GemmShape& forward) const {
  if (stack_.libraries == Libraries::Current)
    return vtrain::weight_gradient_time(profile_, precision, forward);
  return modelled_gemm_time(profile_, precision, {forward.n, forward.k, forward.m, forward.batch});
}

PassBuilder& PassBuilder::product(KernelTime time) {
  product_time_ += stack_.factors.product * time.time;
  return kernel(time);
}

PassBuilder& PassBuilder::kernel(KernelTime time) {
  operators_.back().duration += stack_.factors.product * time.time;
  note(operators_.back().name, time.evidence);
  return *this;
}

PassBuilder& PassBuilder::memory(MemoryKernel kind, double bytes, int num_kernels) {
  operators_.back().duration += stack_.factors.memory * stack_.traffic_factor *
                                memory_kernel_time(profile_, kind, Bytes(bytes), num_kernels);
  return *this;
}

PassBuilder& PassBuilder::fused_memory(MemoryKernel kind, double bytes, int num_kernels) {
  operators_.back().duration +=
      stack_.factors.memory * memory_kernel_time(profile_, kind, Bytes(bytes), num_kernels);
  return *this;
}

PassBuilder& PassBuilder::eager(double elements, const EagerWork& work) {
  operators_.back().duration += stack_.factors.memory * eager_kernel_time(profile_, elements, work);
  return *this;
}

PassBuilder& PassBuilder::tensor_collective(std::string_view name, KernelTime time) {
  if (time.time.count() > 0) collectives_.push_back(operators_.size());
  return exposed(name, TaskKind::TensorComm, time);
}

PassBuilder& PassBuilder::exposed(std::string_view name, TaskKind kind, KernelTime time) {
  if (time.time.count() <= 0) return *this;
  note(name, time.evidence);
  operators_.push_back({.name = name, .kind = kind, .duration = stack_.factors.communication * time.time});
  return *this;
}

void PassBuilder::overlap_collectives(std::int64_t tensor) {
  Nanoseconds total(0);
  for (const std::size_t i : collectives_)
    total += operators_[i].duration;
  // User buffers are shared between the processes of one host.
  if (!stack_.overlap.tensor || tensor > profile_.gpus_per_node || total.count() <= 0) return;
  const Nanoseconds first_piece = total / static_cast<double>(tensor);
  const Nanoseconds shown = first_piece + std::max(Nanoseconds(0), total - first_piece - product_time_) +
                            stack_.overlap.contention * std::min(total, product_time_);
  for (const std::size_t i : collectives_)
    operators_[i].duration *= shown / total;
}

std::vector<Operator> PassBuilder::finish(Nanoseconds issue_floor, std::int64_t tensor) {
  overlap_collectives(tensor);
  double busy = 0;
  for (Operator& op : operators_) {
    op.duration = Nanoseconds(std::round(op.duration.count()));
    if (op.kind == kind_) busy += op.duration.count();
  }
  const double floor = std::round(issue_floor.count());
  if (busy < floor && !operators_.empty()) operators_.front().gap = Nanoseconds(floor - busy);
  return std::move(operators_);
}

void PassBuilder::note(std::string_view name, Evidence evidence) {
  if (evidence == Evidence::Extrapolated) extrapolated_.push_back(name);
  if (evidence == Evidence::Modelled) modelled_.push_back(name);
}

}  // namespace vtrain
