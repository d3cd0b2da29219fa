/// Makes the tables of a GPU profile from measured kernels, and says how far off they are. Measurements come
/// as `stacks`: the samples of each software stack that they were made with.
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

/// ln(time / roofline) of the GEMMs of one precision. Each stack's points (m a multiple of 64, n and k at
/// least 256; of several times of a shape the shortest) span a grid, whose few holes take the value of the
/// point before on k, then n, then m; the result is the mean of the stacks on the union of their grids. Of
/// 16-bit products, which all stacks take from one library, a time of more than 1.5 times the shortest one of
/// a shape does not count. The left-out error counts shapes as they occur in training: m at least 2048, n and
/// k 1024 to 16384. An error if the shapes are scattered rather than on a grid. `device` gives peak and
/// bandwidth.
Result<SurfaceFit> fit_gemm(const GpuProfile& device, Precision precision,
                            std::span<const std::vector<GemmSample>> stacks);

/// How fast the matrix products of a machine are relative to those of a profile.
struct RelativeRate {
  double median = 1;
  double low = 1;   ///< a tenth of the products is below
  double high = 1;  ///< a tenth is above
  std::int64_t num_points = 0;
};

/// Time that `base` gives the bf16 products of a forward pass or of an input's gradient (`matmul` without
/// accumulation) over the time measured, of all shapes. An error without such products, or if `base` has no
/// table of bf16 products.
Result<RelativeRate> fit_relative_rate(const GpuProfile& base, std::span<const OperatorSample> operators);

/// ln(FLOP/s) of the forward pass by head size, sequence, and heads x batch, like `fit_gemm`. Counted are
/// sequences from 256, head sizes to 256, at least 4 query heads to a key head (with as many key heads as
/// query heads the tables time the writing of a cache too), and heads x batch that are powers of 2; a point
/// is the mean rate of all its combinations of heads and batch.
Result<SurfaceFit> fit_attention(std::span<const std::vector<AttentionSample>> stacks);

/// Rate of the backward pass relative to the forward pass by heads x sequence, for one head size of queries
/// and values; the geometric mean of the shapes with as much work. An error without a pair of passes.
Result<AttentionBackward> fit_attention_backward(std::span<const OperatorSample> operators);

/// Tables of collectives by message size, and how well they say what was measured.
struct CollectiveFit {
  CollectiveTables tables;
  std::array<std::int64_t, kCollectives.size()> num_points{};          ///< by `Collective`
  std::array<double, kCollectives.size()> compaction_error_percent{};  ///< of interpolation between the sizes
};

/// The tables by message sizes that are powers of 2 or eighths of the way from one to the next, as far as
/// these were measured. Of the tables of a collective and number of GPUs the first counts; times of one size
/// are averaged.
CollectiveFit fit_collectives(std::span<const std::vector<CollectiveSample>> stacks);

/// Mean difference of two surfaces of logarithms at the nodes of `full`, in per cent.
double compaction_error_percent(const KernelSurface& full, const KernelSurface& compact);

}  // namespace vtrain
