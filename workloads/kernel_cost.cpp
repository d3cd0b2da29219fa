#include "workloads/kernel_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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

}  // namespace

Nanoseconds gemm_time(const GpuProfile& profile, const GemmShape& shape) {
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

}  // namespace vtrain
