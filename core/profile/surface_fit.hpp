/// Makes the tables of a GPU profile from measured kernels, with their errors. Measurements are grouped into
/// `stacks`: the samples of each software stack.
#pragma once

#include <span>
#include <vector>

#include "core/kernels/published_samples.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {

/// A surface through measured points, and its errors as in `ProfileTable`.
struct SurfaceFit {
  KernelSurface surface;
  std::int64_t num_points = 0;
  double spread_percent = 0;
  double left_out_error_percent = 0;
};

/// Fits ln(time / roofline) of the GEMMs of one precision. Each stack's points span a grid: m a multiple of
/// 64, n and k at least 256, the shortest of several times of a shape. Its few holes take the value of the
/// previous point on k, then n, then m. The result is the mean of the stacks on the union of their grids. All
/// stacks take 16-bit products from one library, so times above 1.5 times the shortest of a shape are
/// ignored. The left-out error covers shapes of training: m at least 2048, n and k 1024 to 16384. Error:
/// shapes that are scattered, not on a grid. `device` gives peak and bandwidth.
Result<SurfaceFit> fit_gemm(const GpuProfile& device, Precision precision,
                            std::span<const std::vector<GemmSample>> stacks);

/// Speed of a machine's matrix products relative to a profile's.
struct RelativeRate {
  double median = 1;
  double low = 1;   ///< 10th percentile
  double high = 1;  ///< 90th percentile
  std::int64_t num_points = 0;
};

/// Time of bf16 products in `base` over the measured time, for all shapes of forward passes and input
/// gradients (`matmul` without accumulation). Errors: no such products; no table of bf16 products in `base`.
Result<RelativeRate> fit_relative_rate(const GpuProfile& base, std::span<const OperatorSample> operators);

/// Fits ln(FLOP/s) of the forward pass by head size, sequence, and heads x batch, like `fit_gemm`. It uses
/// sequences from 256, head sizes up to 256, and at least 4 query heads per key head; heads x batch are
/// powers of 2. With equally many key and query heads, the tables also time the writing of a cache. A point
/// is the mean rate of all its combinations of heads and batch.
Result<SurfaceFit> fit_attention(std::span<const std::vector<AttentionSample>> stacks);

/// Fits the rate of the backward pass relative to the forward pass by heads x sequence, for one head size of
/// queries and values. Shapes with equal work are averaged geometrically. Error: no pair of passes.
Result<AttentionBackward> fit_attention_backward(std::span<const OperatorSample> operators);

/// Tables of collectives by message size, with their errors.
struct CollectiveFit {
  CollectiveTables tables;
  std::array<std::int64_t, kCollectives.size()> num_points{};  ///< measured times by `Collective`
  std::array<double, kCollectives.size()>
      compaction_error_percent{};  ///< error of interpolation between the sizes
};

/// Makes tables of the measured message sizes that are powers of 2, or eighths of the way to the next power.
/// Among tables of one collective and number of GPUs the first is used; times of one size are averaged.
CollectiveFit fit_collectives(std::span<const std::vector<CollectiveSample>> stacks);

/// Mean difference of two surfaces of logarithms at the nodes of `full`, in per cent.
double compaction_error_percent(const KernelSurface& full, const KernelSurface& compact);

}  // namespace vtrain
