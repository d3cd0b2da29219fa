#include "workloads/kernel_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace vtrain {
namespace {

constexpr double kHalfPrecision = 2;  // bytes

/// A tile of the output that one multiprocessor computes; `efficiency` indexes `gemm_tile_efficiency`.
struct Tile {
  double m;
  double n;
  std::size_t efficiency;
};

constexpr std::array<Tile, 8> kTiles = {{{256, 128, 0},
                                         {128, 256, 0},
                                         {128, 128, 1},
                                         {256, 64, 1},
                                         {64, 256, 1},
                                         {128, 64, 2},
                                         {64, 128, 2},
                                         {64, 64, 3}}};

double memory_efficiency(const GpuProfile& profile, MemoryKernel kind) {
  switch (kind) {
    case MemoryKernel::Elementwise:
      return profile.elementwise_efficiency;
    case MemoryKernel::Gelu:
      return profile.gelu_efficiency;
    case MemoryKernel::LayerNorm:
      return profile.layer_norm_efficiency;
    case MemoryKernel::Softmax:
      return profile.softmax_efficiency;
    case MemoryKernel::Dropout:
      return profile.dropout_efficiency;
    case MemoryKernel::Optimizer:
      return profile.optimizer_efficiency;
  }
  return profile.elementwise_efficiency;
}

MessageTime table_time(const AllReduceTable& table, Bytes size) {
  constexpr double kMebibyte = 1048576.0;
  const double mebibytes = size.value / kMebibyte;
  const bool extrapolated = mebibytes < static_cast<double>(table.entries().front().mebibytes) ||
                            mebibytes > static_cast<double>(table.entries().back().mebibytes);
  return {table.interpolate(size), extrapolated};
}

/// Ring all-reduce: every GPU sends and receives 2 (n - 1) / n of the message.
Nanoseconds ring_time(Bytes size, std::int64_t num_gpus, BytesPerSecond rate) {
  const auto gpus = static_cast<double>(num_gpus);
  return size * (2 * (gpus - 1) / gpus) / rate;
}

/// The tile model of `gemm_time`.
Nanoseconds tiled_gemm_time(const GpuProfile& profile, const GemmShape& shape) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto batch = static_cast<double>(shape.batch);
  const auto multiprocessors = static_cast<double>(profile.num_multiprocessors);
  // Tile elements that the busiest multiprocessor computes, divided by their efficiency.
  double elements = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch;
    const double waves = std::ceil(tiles / multiprocessors);
    elements = std::min(elements, waves * tile.m * tile.n / profile.gemm_tile_efficiency[tile.efficiency]);
  }
  const double rate_of_one = profile.gemm_rate.value / multiprocessors;
  const Seconds compute(2 * elements * (k + profile.gemm_depth_overhead) / rate_of_one);
  const Bytes traffic(kHalfPrecision * (m * k + n * k + m * n) * batch);
  const Nanoseconds memory = traffic / (profile.memory_bandwidth * profile.gemm_memory_efficiency);
  return std::max<Nanoseconds>(compute, memory) + profile.kernel_overhead;
}

/// FLOPs of a forward pass over the lower half of the scores.
double attention_flops(const AttentionShape& shape) {
  return static_cast<double>(shape.heads) * static_cast<double>(shape.sequence) *
         static_cast<double>(shape.queries) * static_cast<double>(shape.head_size + shape.value_head_size);
}

/// FLOP/s, from the peak: FlashAttention-2 reaches 0.6 of it on the A100 (arXiv 2307.08691), the first
/// version 0.55 of that; the third generation 0.6 of a newer GPU's peak.
FlopsPerSecond attention_rate(const GpuProfile& profile, AttentionKernel kernel) {
  constexpr double kFlash2 = 0.6;
  constexpr double kFlash1 = 0.55 * kFlash2;
  if (kernel == AttentionKernel::Unfused) throw std::logic_error("attention: unfused kernels have no time");
  return profile.peak_rate * (kernel == AttentionKernel::Flash1 ? kFlash1 : kFlash2);
}

/// Volume that each GPU sends in a ring, as a fraction of the tensor, and the steps it takes.
struct RingShape {
  double volume;
  double steps;
};

RingShape ring_shape(Collective collective, std::int64_t num_gpus) {
  const auto gpus = static_cast<double>(num_gpus);
  const double rounds = collective == Collective::AllReduce ? 2 : 1;
  return {rounds * (gpus - 1) / gpus, rounds * (gpus - 1)};
}

}  // namespace

KernelTime gemm_time(const GpuProfile& profile, Precision /*precision*/, const GemmShape& shape) {
  return {tiled_gemm_time(profile, shape), Evidence::Modelled};
}

KernelTime weight_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward) {
  constexpr double kAccumulating = 1.07;
  KernelTime result =
      gemm_time(profile, precision, {.m = forward.n, .n = forward.k, .k = forward.m, .batch = forward.batch});
  result.time *= kAccumulating;
  return result;
}

KernelTime grouped_gemm_time(const GpuProfile& profile, Precision precision, const GroupedGemmShape& shape) {
  constexpr double kLostRows = 160;  // per expert
  const double rows_of_one = static_cast<double>(shape.rows) / static_cast<double>(shape.num_experts);
  KernelTime result = gemm_time(profile, precision, {.m = shape.rows, .n = shape.n, .k = shape.k});
  result.time *= (rows_of_one + kLostRows) / rows_of_one;
  result.evidence = Evidence::Modelled;
  return result;
}

KernelTime grouped_weight_gradient_time(const GpuProfile& profile, Precision precision,
                                        const GroupedGemmShape& forward) {
  constexpr double kGradientTraffic = 8;  // bytes read and written per weight
  KernelTime result = grouped_gemm_time(profile, precision, forward);
  const double weights = static_cast<double>(forward.num_experts) * static_cast<double>(forward.n) *
                         static_cast<double>(forward.k);
  result.time += memory_kernel_time(profile, MemoryKernel::Elementwise, Bytes(kGradientTraffic * weights), 0);
  return result;
}

KernelTime attention_forward_time(const GpuProfile& profile, AttentionKernel kernel,
                                  const AttentionShape& shape) {
  return {Flops(attention_flops(shape)) / attention_rate(profile, kernel), Evidence::Modelled};
}

KernelTime attention_backward_time(const GpuProfile& profile, AttentionKernel kernel,
                                   const AttentionShape& shape) {
  constexpr double kProducts = 2.5;  // five products, two of them recomputed scores, over the forward's two
  constexpr double kRelativeRate = 0.85;  // SimuMax, A100 and B200, 64 heads at sequence 4096
  const KernelTime forward = attention_forward_time(profile, kernel, shape);
  return {forward.time * (kProducts / kRelativeRate), forward.evidence};
}

Nanoseconds memory_kernel_time(const GpuProfile& profile, MemoryKernel kind, Bytes traffic, int num_kernels) {
  return traffic / (profile.memory_bandwidth * memory_efficiency(profile, kind)) +
         profile.kernel_overhead * num_kernels;
}

MessageTime tensor_all_reduce_time(const GpuProfile& profile, std::int64_t tensor, Bytes size) {
  if (tensor <= 1) return {};
  if (tensor <= profile.gpus_per_node) return table_time(profile.all_reduce.at(tensor), size);
  return {ring_time(size, tensor, profile.network_rate()), false};
}

MessageTime gradient_all_reduce_time(const GpuProfile& profile, std::int64_t tensor, std::int64_t data,
                                     Bytes size) {
  if (data <= 1) return {};
  if (tensor * data <= profile.gpus_per_node) return table_time(profile.all_reduce.at(data), size);
  const auto sharing = static_cast<double>(std::min(tensor, profile.gpus_per_node));
  const BytesPerSecond share(profile.network_rate().value / sharing);
  return {ring_time(size, data, std::min(share, profile.nvlink_bandwidth)), false};
}

Nanoseconds send_time(const GpuProfile& profile, std::int64_t tensor, std::int64_t data, Bytes activations) {
  const Bytes part(activations.value / static_cast<double>(tensor));
  const BytesPerSecond network_share(profile.network_rate().value /
                                     static_cast<double>(profile.gpus_per_node));
  const bool within_node = tensor * data < profile.gpus_per_node;
  Nanoseconds time = part / (within_node ? profile.nvlink_bandwidth : network_share) + profile.send_latency;
  if (tensor > 1) time += activations / profile.gather_bandwidth;
  return time;
}

KernelTime collective_time(const GpuProfile& profile, Collective collective, GpuGroup group, Bytes total) {
  constexpr Nanoseconds kStepLatency(5000);
  if (group.size <= 1) return {};
  const RingShape ring = ring_shape(collective, group.size);
  if (group.size <= group.per_node) {
    const auto table = profile.all_reduce.find(group.size);
    if (table == profile.all_reduce.end())
      return {total * ring.volume / profile.nvlink_bandwidth + kStepLatency * ring.steps, Evidence::Modelled};
    const MessageTime time = table_time(table->second, total);
    // The other collectives are half an all-reduce.
    const double part = collective == Collective::AllReduce ? 1 : 0.5;
    return {time.time * part, time.extrapolated ? Evidence::Extrapolated : Evidence::Interpolated};
  }
  const auto gpus_per_node = static_cast<double>(profile.gpus_per_node);
  const double sharing = std::min(static_cast<double>(group.per_node), gpus_per_node) / gpus_per_node;
  const BytesPerSecond rate = std::min(profile.network_rate() * sharing, profile.nvlink_bandwidth);
  return {total * ring.volume / rate + kStepLatency * ring.steps, Evidence::Modelled};
}

KernelTime send_time(const GpuProfile& profile, bool within_node, Bytes size) {
  const BytesPerSecond network_share(profile.network_rate().value /
                                     static_cast<double>(profile.gpus_per_node));
  return {size / (within_node ? profile.nvlink_bandwidth : network_share) + profile.send_latency,
          Evidence::Modelled};
}

}  // namespace vtrain
