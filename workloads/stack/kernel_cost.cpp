#include "workloads/stack/kernel_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "core/kernels/measured_products.hpp"

namespace vtrain {
namespace {

/// A tile of the output that one multiprocessor computes; `efficiency` indexes `TileModel::efficiency`.
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

/// True if the profile has a tile model for products of a precision.
bool has_tile_model(const GpuProfile& profile, Precision precision) {
  if (precision == Precision::Fp32) return profile.tiles_fp32.rate.value > 0;
  const bool is_half = precision == Precision::Fp16 || precision == Precision::Bf16;
  return is_half && profile.tiles.rate.value > 0;
}

/// The tile model of `gemm_time`; the profile must have it.
Nanoseconds tiled_gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape) {
  const bool is_single = precision == Precision::Fp32;
  const TileModel& model = is_single ? profile.tiles_fp32 : profile.tiles;
  const double memory_efficiency =
      is_single ? profile.elementwise_efficiency : profile.gemm_memory_efficiency;
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto batch = static_cast<double>(shape.batch);
  const auto multiprocessors = static_cast<double>(profile.num_multiprocessors);
  // Tile elements that the busiest multiprocessor computes, divided by their efficiency.
  double elements = std::numeric_limits<double>::infinity();
  const double least_side = shape.batch > 1 ? static_cast<double>(model.batched_side) : 1;
  for (const Tile& tile : kTiles) {
    if (std::min(tile.m, tile.n) < least_side) continue;
    const double tiles = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch;
    const double waves = std::ceil(tiles / multiprocessors);
    elements = std::min(elements, waves * tile.m * tile.n / model.efficiency[tile.efficiency]);
  }
  const double rate_of_one = model.rate.value / multiprocessors;
  const Seconds compute(2 * elements * (k + model.depth_overhead) / rate_of_one);
  const Bytes traffic(element_bytes(precision) * (m * k + n * k + m * n) * batch);
  const Nanoseconds memory = traffic / (profile.memory_bandwidth * memory_efficiency);
  return std::max<Nanoseconds>(compute, memory) + profile.kernel_overhead;
}

/// Time of a product on a GPU that has reached its power limit; 0 if its rate there is unknown.
Nanoseconds sustained_time(const GpuProfile& profile, Precision precision, const GemmShape& shape) {
  const FlopsPerSecond rate = profile.sustained_rate_of(precision);
  if (rate.value == 0) return Nanoseconds{0};
  const double multiplications = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                                 static_cast<double>(shape.k) * static_cast<double>(shape.batch);
  return Flops(2 * multiplications) / rate;
}

/// Over the time of a product in the forward pass, that of one in the backward pass.
double backward_factor(const GpuProfile& profile, Precision precision) {
  return precision == Precision::Fp8 ? profile.split_accumulation_factor : 1;
}

/// FLOPs of a forward pass over the lower half of the scores, or over all.
Flops attention_flops(const AttentionShape& shape) {
  return Flops((shape.is_bidirectional ? 2 : 1) * static_cast<double>(shape.heads) *
               static_cast<double>(shape.sequence) * static_cast<double>(shape.queries) *
               static_cast<double>(shape.head_size + shape.value_head_size));
}

/// Ratio of the time of attention with a window to that over the whole sequence.
double window_share(const AttentionShape& shape) {
  constexpr double kFixedScores = 512;  // of each token, in parts of tiles, at the start and the end
  if (shape.window == 0 || shape.window >= shape.sequence) return 1;
  const auto sequence = static_cast<double>(shape.sequence);
  const auto window = static_cast<double>(shape.window);
  return std::min(1.0, (window - window * window / (2 * sequence) + kFixedScores) / (sequence / 2));
}

bool is_latent(const AttentionShape& shape) {
  return shape.head_size != shape.value_head_size;
}

/// Distance of a reading from its grid, in the unit of the axis that is farthest outside.
Reach reach_of(const KernelSurface::Reading& reading,
               const std::array<std::string_view, KernelSurface::kNumAxes>& units) {
  Reach reach = reading.reach;
  reach.unit = units[reading.axis];
  return reach;
}

/// The rates of a generation, or of its replacement.
const AttentionRates& rates_of(const GpuProfile& profile, AttentionKernel kernel) {
  if (kernel == AttentionKernel::Unfused)
    throw std::logic_error("attention: unfused kernels have no one time");
  const auto& all = profile.attention;
  const auto wanted = all.begin() + static_cast<std::ptrdiff_t>(kernel);
  const auto known = [](const AttentionRates& rates) { return rates.log_rate != nullptr; };
  const auto older = std::find_if(std::make_reverse_iterator(wanted + 1), all.rend(), known);
  if (older != all.rend()) return *older;
  const auto newer = std::find_if(wanted, all.end(), known);
  return newer == all.end() ? *wanted : *newer;
}

/// The time of a product whose very shape was measured on this GPU.
std::optional<Nanoseconds> measured_time(const GpuProfile& profile, Precision precision, ProductKind kind,
                                         const GemmShape& shape) {
  if (profile.products == nullptr) return std::nullopt;
  const Precision table = precision == Precision::Fp16 ? Precision::Bf16 : precision;
  return profile.products->time(table, kind, {shape.m, shape.n, shape.k});
}

/// A product of the backward pass: what its very shape was measured to take, else one of the forward pass
/// times `slowdown` and `backward_factor`.
KernelTime backward_gemm_time(const GpuProfile& profile, Precision precision, ProductKind kind,
                              const GemmShape& shape, double slowdown) {
  if (shape.batch == 1) {
    if (const auto time = measured_time(profile, precision, kind, shape)) return {*time, Evidence::Measured};
  }
  KernelTime result = gemm_time(profile, precision, shape);
  result.time *= slowdown * backward_factor(profile, precision);
  return result;
}

/// Slowdown factor of a ring that leaves each node by the network adapter through which it came in. NCCL's
/// rings do so (NCCL_CROSS_NIC) unless they can first pass data to the GPU next to that adapter (PXN, since
/// NCCL 2.12). Every two GPUs share a switch with an adapter. Neighbours in the group that are neighbours in
/// the node stay on it; otherwise data cross one CPU or both.
double ring_detour(const GpuProfile& profile, GpuGroup group) {
  // Of 200 Gbit/s A100 reach 24 GB/s through a switch, 16 where the adapter is at the CPU (NVIDIA/nccl, issue
  // 412); 16 is also what NCCL assumes between two AMD CPUs (AMD_BW in src/graph/topo.h).
  constexpr double kThroughCpu = 24.0 / 16;
  const std::int64_t distance = profile.gpus_per_node / group.per_node;
  // 0: the NVLink domain is larger than a node.
  return group.per_node == 1 || distance <= 1 ? 1 : kThroughCpu;
}

}  // namespace

KernelTime gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape, double share) {
  if (profile.peak_rate_of(precision).value == 0) {
    return {gemm_time(profile, Precision::Bf16, shape, share).time, Evidence::Modelled};
  }
  const KernelSurface* const surface = profile.gemm[static_cast<std::size_t>(precision)].get();
  if (surface == nullptr || shape.batch > 1) return modelled_gemm_time(profile, precision, shape);
  if (const auto time = measured_time(profile, precision, ProductKind::Plain, shape))
    return {*time / share, Evidence::Measured};
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const KernelSurface::Reading slowdown = surface->at({m, n, k});
  const Nanoseconds burst = gemm_roofline(profile, precision, m, n, k) * (std::exp(slowdown.value) / share);
  return {std::max(burst, sustained_time(profile, precision, shape)), slowdown.evidence,
          reach_of(slowdown, {"rows", "columns", "inner columns"})};
}

KernelTime modelled_gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape) {
  if (has_tile_model(profile, precision))
    return {tiled_gemm_time(profile, precision, shape), Evidence::Modelled};
  if (profile.peak_rate_of(precision).value == 0) return modelled_gemm_time(profile, Precision::Bf16, shape);
  const Nanoseconds roofline = gemm_roofline(profile, precision, static_cast<double>(shape.m),
                                             static_cast<double>(shape.n), static_cast<double>(shape.k));
  const double efficiency = shape.batch == 1 ? profile.gemm_efficiency : profile.batched_gemm_efficiency;
  const Nanoseconds burst = roofline * (static_cast<double>(shape.batch) / efficiency);
  return {std::max(burst, sustained_time(profile, precision, shape)) + profile.kernel_overhead,
          Evidence::Modelled};
}

KernelTime input_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward) {
  return backward_gemm_time(profile, precision, ProductKind::Plain,
                            {forward.m, forward.k, forward.n, forward.batch}, 1);
}

KernelTime weight_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward) {
  // On CUDA cores the layout of the inputs does not matter as it does on tensor cores.
  const double accumulating = precision == Precision::Fp32 ? 1 : 1.07;
  return backward_gemm_time(profile, precision, ProductKind::WeightGradient,
                            {forward.n, forward.k, forward.m, forward.batch}, accumulating);
}

KernelTime grouped_gemm_time(const GpuProfile& profile, Precision precision, const GroupedGemmShape& shape) {
  constexpr std::int64_t kLostRows = 160;  // per expert
  const std::int64_t rows = shape.rows + kLostRows * shape.num_experts;
  KernelTime result = gemm_time(profile, precision, {.m = rows, .n = shape.n, .k = shape.k});
  result.evidence = Evidence::Modelled;
  return result;
}

KernelTime grouped_input_gradient_time(const GpuProfile& profile, Precision precision,
                                       const GroupedGemmShape& forward) {
  KernelTime result =
      grouped_gemm_time(profile, precision, {forward.rows, forward.k, forward.n, forward.num_experts});
  result.time *= backward_factor(profile, precision);
  return result;
}

KernelTime grouped_weight_gradient_time(const GpuProfile& profile, Precision precision,
                                        const GroupedGemmShape& forward) {
  constexpr double kGradientTraffic = 8;  // bytes read and written per weight
  KernelTime result = grouped_gemm_time(profile, precision, forward);
  result.time *= backward_factor(profile, precision);
  const double weights = static_cast<double>(forward.num_experts) * static_cast<double>(forward.n) *
                         static_cast<double>(forward.k);
  result.time += memory_kernel_time(profile, MemoryKernel::Elementwise, Bytes(kGradientTraffic * weights), 0);
  return result;
}

KernelTime attention_forward_time(const GpuProfile& profile, AttentionKernel kernel,
                                  const AttentionShape& shape) {
  const AttentionRates& rates = rates_of(profile, kernel);
  const bool stands_in = &rates != &profile.attention[static_cast<std::size_t>(kernel)];
  const double latent_rate = is_latent(shape) ? profile.latent_attention_forward_rate : 1;
  const Flops flops = attention_flops(shape) * window_share(shape);
  if (rates.log_rate == nullptr) {
    const FlopsPerSecond rate = profile.peak_rate * (profile.batched_gemm_efficiency * latent_rate);
    return {flops / rate, Evidence::Modelled};
  }
  // The first generation (and Triton's) does not lose rate with small heads as the second does: threads 307
  // and 1556 of Dao-AILab/flash-attention compare both at head sizes 64 and 128 on the A100.
  constexpr std::int64_t kLargeHead = 128;
  const std::int64_t head_size =
      kernel == AttentionKernel::Flash1 ? std::max(kLargeHead, shape.value_head_size) : shape.value_head_size;
  const KernelSurface::Reading reading = rates.log_rate->at(
      {static_cast<double>(head_size), static_cast<double>(shape.queries), static_cast<double>(shape.heads)});
  const bool modelled = rates.assumed || stands_in || is_latent(shape) || window_share(shape) < 1;
  return {flops / FlopsPerSecond(std::exp(reading.value) * latent_rate),
          modelled ? Evidence::Modelled : reading.evidence,
          reach_of(reading, {"columns of a head", "tokens", "heads"})};
}

KernelTime attention_backward_time(const GpuProfile& profile, AttentionKernel kernel,
                                   const AttentionShape& shape) {
  constexpr double kProducts = 2.5;  // five products, two of them to compute the scores again, over two
  AttentionShape forward_shape = shape;
  forward_shape.head_size = shape.value_head_size;
  const KernelTime forward = attention_forward_time(profile, kernel, forward_shape);
  const double work = static_cast<double>(shape.heads) * static_cast<double>(shape.queries);
  const double latent_rate = is_latent(shape) ? profile.latent_attention_backward_rate : 1;
  const double rate = profile.attention_backward.relative_rate(work) * latent_rate;
  const double flops = attention_flops(shape).value / attention_flops(forward_shape).value;
  return {forward.time * (kProducts * flops / rate), worse(forward.evidence, Evidence::Interpolated),
          forward.reach};
}

Nanoseconds memory_kernel_time(const GpuProfile& profile, MemoryKernel kind, Bytes traffic, int num_kernels) {
  return traffic / (profile.memory_bandwidth * memory_efficiency(profile, kind)) +
         profile.kernel_overhead * num_kernels;
}

Nanoseconds eager_kernel_time(const GpuProfile& profile, double elements, const EagerWork& work) {
  const double passed = elements * work.strided_passes;
  Nanoseconds strided =
      memory_kernel_time(profile, MemoryKernel::Elementwise, Bytes(passed * work.strided_traffic), 0);
  if (profile.strided_element_rate > 0) {
    const double rate = profile.strided_element_rate * static_cast<double>(profile.num_multiprocessors);
    strided = std::max<Nanoseconds>(strided, Seconds(passed / rate));
  }
  return strided + memory_kernel_time(profile, MemoryKernel::Elementwise, Bytes(elements * work.traffic),
                                      work.num_kernels);
}

Nanoseconds scan_kernel_time(const GpuProfile& profile, Bytes traffic, int num_kernels) {
  // Traffic of a multiprocessor. Fitted, see docs/predictor/constants.md.
  constexpr BytesPerSecond kRate(9.5e9);
  const Nanoseconds bound = traffic / (kRate * static_cast<double>(profile.num_multiprocessors));
  return std::max(memory_kernel_time(profile, MemoryKernel::Elementwise, traffic, 0), bound) +
         profile.kernel_overhead * num_kernels;
}

KernelTime collective_time(const GpuProfile& profile, Collective collective, GpuGroup group, Bytes total,
                           Libraries libraries) {
  if (group.size <= 1) return {};
  const BytesPerSecond nvlink = profile.nvlink_bandwidth * profile.nvlink_efficiency;
  BytesPerSecond rate = nvlink;
  Nanoseconds least(0);
  if (group.size <= group.per_node) {
    if (libraries == Libraries::Old) {
      const auto old = profile.old_collectives.at(collective, group.size, total);
      if (old && old->evidence != Evidence::Extrapolated) return *old;
    }
    if (const auto measured = profile.collectives.at(collective, group.size, total)) return *measured;
  } else {
    const double share = static_cast<double>(group.per_node) / static_cast<double>(profile.gpus_per_node);
    const double detour = libraries == Libraries::Old ? ring_detour(profile, group) : 1;
    rate = std::min(nvlink, profile.network_rate() * (share / detour));
    // A group that leaves the domain is no faster than its part within one.
    const auto within = profile.collectives.at(collective, group.per_node, total);
    if (within && libraries == Libraries::Current) least = within->time;
  }
  const Nanoseconds latency = profile.network_step_latency * collective_steps(collective, group.size);
  const Nanoseconds ring = total * collective_volume(collective, group.size) / rate + latency;
  if (collective != Collective::AllReduce || group.size != 2 * group.per_node)
    return {std::max(ring, least), Evidence::Modelled};
  // Between two nodes NCCL's trees cross the network once each way instead of 2 (n - 1) / n times.
  const Nanoseconds within = total * collective_volume(collective, group.per_node) / nvlink;
  return {std::max(least, std::min(ring, total / rate + within + latency)), Evidence::Modelled};
}

KernelTime send_time(const GpuProfile& profile, bool within_node, Bytes size) {
  const BytesPerSecond network_share(profile.network_rate().value /
                                     static_cast<double>(profile.gpus_per_node));
  const BytesPerSecond nvlink = profile.nvlink_bandwidth * profile.nvlink_send_efficiency;
  return {size / (within_node ? nvlink : network_share) + profile.send_latency, Evidence::Modelled};
}

}  // namespace vtrain
