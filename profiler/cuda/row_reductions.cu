#include <cstdint>

#include "profiler/cuda/element.cuh"
#include "profiler/cuda/row_kernels.hpp"

namespace vtrain::profiler {
namespace {

constexpr int kThreads = 256;
constexpr float kEpsilon = 1e-5F;

/// Visits the first packs of this block's row.
template <typename Visit>
__device__ void for_each_pack(std::int64_t packs, Visit visit) {
  for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x)
    visit(i);
}

/// Pairs of scale and shift for the columns of a pack, read 16 bytes at a time.
struct alignas(16) WeightPack {
  float2 values[kPackSize];
};

/// Layer norm, or RMS norm without the mean. `statistics` are pairs of mean and reciprocal deviation.
template <typename T, bool has_mean>
__global__ void norm_kernel(const Pack<T>* in, Pack<T>* out, const WeightPack* weights, float2* statistics,
                            std::int64_t row_packs) {
  __shared__ float scratch[32];
  const Pack<T>* const row = in + blockIdx.x * row_packs;
  float sum = 0;
  float squares = 0;
  for_each_pack(row_packs, [&](std::int64_t i) {
    const Pack<T> pack = row[i];
#pragma unroll
    for (const T value : pack.values) {
      const float x = to_float(value);
      sum += x;
      squares += x * x;
    }
  });
  const auto columns = static_cast<float>(row_packs * kPackSize);
  const float mean = has_mean ? block_sum(sum, scratch) / columns : 0.0F;
  const float scale = rsqrtf(block_sum(squares, scratch) / columns - mean * mean + kEpsilon);
  if (threadIdx.x == 0) statistics[blockIdx.x] = {mean, scale};
  for_each_pack(row_packs, [&](std::int64_t i) {
    Pack<T> pack = row[i];
    const WeightPack weight_pack = weights[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const float2 weight = weight_pack.values[j];
      pack.values[j] = from_float<T>((to_float(pack.values[j]) - mean) * scale * weight.x + weight.y);
    }
    out[blockIdx.x * row_packs + i] = pack;
  });
}

template <typename T, bool has_mean>
__global__ void norm_backward_kernel(const Pack<T>* in, const Pack<T>* gradient, const WeightPack* weights,
                                     const float2* statistics, Pack<T>* out, std::int64_t row_packs) {
  __shared__ float scratch[32];
  const std::int64_t first = blockIdx.x * row_packs;
  const float2 of_row = statistics[blockIdx.x];
  float sum = 0;
  float product = 0;
  for_each_pack(row_packs, [&](std::int64_t i) {
    const Pack<T> x = in[first + i];
    const Pack<T> dy = gradient[first + i];
    const WeightPack weight_pack = weights[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const float weighted = to_float(dy.values[j]) * weight_pack.values[j].x;
      sum += weighted;
      product += weighted * (to_float(x.values[j]) - of_row.x) * of_row.y;
    }
  });
  const auto columns = static_cast<float>(row_packs * kPackSize);
  const float mean_sum = has_mean ? block_sum(sum, scratch) / columns : 0.0F;
  const float mean_product = block_sum(product, scratch) / columns;
  for_each_pack(row_packs, [&](std::int64_t i) {
    const Pack<T> x = in[first + i];
    Pack<T> dy = gradient[first + i];
    const WeightPack weight_pack = weights[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const float normal = (to_float(x.values[j]) - of_row.x) * of_row.y;
      const float weighted = to_float(dy.values[j]) * weight_pack.values[j].x;
      dy.values[j] = from_float<T>((weighted - mean_sum - normal * mean_product) * of_row.y);
    }
    out[first + i] = dy;
  });
}

constexpr int kStripRows = 128;
constexpr int kStripPacks = 32;
constexpr int kStripLines = 8;

/// Gradients of scale and shift: each block sums a strip of 128 rows of 256 columns and adds it to the
/// result. The lines of the block are summed in shared memory first, so that a column costs one atomic pair.
template <typename T>
__global__ void norm_weights_backward_kernel(const Pack<T>* in, const Pack<T>* gradient,
                                             const float2* statistics, float2* weight_gradients,
                                             std::int64_t rows, std::int64_t row_packs) {
  __shared__ float2 sums[kStripLines][kPackSize][kStripPacks];
  const std::int64_t pack = std::int64_t{blockIdx.x} * kStripPacks + threadIdx.x;
  float2 own[kPackSize] = {};
  const std::int64_t begin = std::int64_t{blockIdx.y} * kStripRows;
  const std::int64_t end = begin + kStripRows < rows ? begin + kStripRows : rows;
  for (std::int64_t row = begin + threadIdx.y; row < end && pack < row_packs; row += kStripLines) {
    const Pack<T> x = in[row * row_packs + pack];
    const Pack<T> dy = gradient[row * row_packs + pack];
    const float2 of_row = statistics[row];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      own[j].x += to_float(dy.values[j]) * (to_float(x.values[j]) - of_row.x) * of_row.y;
      own[j].y += to_float(dy.values[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < kPackSize; ++j)
    sums[threadIdx.y][j][threadIdx.x] = own[j];
  __syncthreads();
  static_assert(kStripLines == kPackSize, "each line of threads adds up one column of every pack");
  if (pack >= row_packs) return;
  float2 total = {};
#pragma unroll
  for (int line = 0; line < kStripLines; ++line) {
    const float2 part = sums[line][threadIdx.y][threadIdx.x];
    total.x += part.x;
    total.y += part.y;
  }
  float2& result = weight_gradients[pack * kPackSize + threadIdx.y];
  atomicAdd(&result.x, total.x);
  atomicAdd(&result.y, total.y);
}

/// Number of unmasked columns of a causal row.
__device__ std::int64_t visible_columns(std::int64_t columns) {
  return static_cast<std::int64_t>(blockIdx.x) % columns + 1;
}

/// The running maximum of values and the sum of their exponentials relative to it.
struct LogSum {
  float most = -INFINITY;
  float sum = 0;

  __device__ void add(float x) {
    if (x > most) {
      sum *= __expf(most - x);
      most = x;
    }
    sum += __expf(x - most);
  }

  /// Combines the values over the block, in every thread.
  __device__ void combine(float* scratch) {
    const float all = block_max(most, scratch);
    sum = block_sum(most == -INFINITY ? 0.0F : sum * __expf(most - all), scratch);
    most = all;
  }
};

template <typename T>
__global__ void softmax_kernel(const Pack<T>* in, Pack<T>* out, std::int64_t row_packs, float scale) {
  __shared__ float scratch[32];
  const std::int64_t first = blockIdx.x * row_packs;
  const std::int64_t visible = visible_columns(row_packs * kPackSize);
  LogSum total;
  for_each_pack((visible + kPackSize - 1) / kPackSize, [&](std::int64_t i) {
    const Pack<T> pack = in[first + i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      if (i * kPackSize + j < visible) total.add(scale * to_float(pack.values[j]));
    }
  });
  total.combine(scratch);
  for_each_pack(row_packs, [&](std::int64_t i) {
    Pack<T> pack{};
    if (i * kPackSize < visible) pack = in[first + i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const bool is_visible = i * kPackSize + j < visible;
      const float x = scale * to_float(pack.values[j]);
      pack.values[j] = from_float<T>(is_visible ? __expf(x - total.most) / total.sum : 0.0F);
    }
    out[first + i] = pack;
  });
}

template <typename T>
__global__ void softmax_backward_kernel(const Pack<T>* probabilities, const Pack<T>* gradient, Pack<T>* out,
                                        std::int64_t row_packs, float scale) {
  __shared__ float scratch[32];
  const std::int64_t first = blockIdx.x * row_packs;
  const std::int64_t visible = visible_columns(row_packs * kPackSize);
  const std::int64_t visible_packs = (visible + kPackSize - 1) / kPackSize;
  float product = 0;
  for_each_pack(visible_packs, [&](std::int64_t i) {
    const Pack<T> p = probabilities[first + i];
    const Pack<T> dp = gradient[first + i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j)
      product += to_float(p.values[j]) * to_float(dp.values[j]);
  });
  const float mean = block_sum(product, scratch);
  for_each_pack(row_packs, [&](std::int64_t i) {
    Pack<T> made{};
    if (i < visible_packs) {
      const Pack<T> p = probabilities[first + i];
      const Pack<T> dp = gradient[first + i];
#pragma unroll
      for (int j = 0; j < kPackSize; ++j)
        made.values[j] = from_float<T>(scale * to_float(p.values[j]) * (to_float(dp.values[j]) - mean));
    }
    out[first + i] = made;
  });
}

/// Losses of rows of logits, and the statistics of each row that their gradients need.
template <typename T>
__global__ void cross_entropy_kernel(const Pack<T>* logits, const std::int64_t* labels, float2* statistics,
                                     float* losses, std::int64_t row_packs) {
  __shared__ float scratch[32];
  const Pack<T>* const row = logits + blockIdx.x * row_packs;
  LogSum total;
  for_each_pack(row_packs, [&](std::int64_t i) {
    const Pack<T> pack = row[i];
#pragma unroll
    for (const T value : pack.values)
      total.add(to_float(value));
  });
  total.combine(scratch);
  if (threadIdx.x != 0) return;
  const std::int64_t label = labels[blockIdx.x];
  statistics[blockIdx.x] = {total.most, total.sum};
  losses[blockIdx.x] =
      logf(total.sum) + total.most - to_float(row[label / kPackSize].values[label % kPackSize]);
}

template <typename T>
__global__ void cross_entropy_backward_kernel(Pack<T>* logits, const std::int64_t* labels,
                                              const float2* statistics, std::int64_t row_packs, float scale) {
  Pack<T>* const row = logits + blockIdx.x * row_packs;
  const float2 of_row = statistics[blockIdx.x];
  const std::int64_t label = labels[blockIdx.x];
  for_each_pack(row_packs, [&](std::int64_t i) {
    Pack<T> pack = row[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const float probability = __expf(to_float(pack.values[j]) - of_row.x) / of_row.y;
      pack.values[j] = from_float<T>(scale * (probability - (i * kPackSize + j == label ? 1.0F : 0.0F)));
    }
    row[i] = pack;
  });
}

/// The kernels on the buffers of one operator, a block for each row.
template <typename T>
class RowReduction {
 public:
  RowReduction(const Operator& op, const Buffers& buffers, cudaStream_t stream)
      : buffers_(buffers),
        stream_(stream),
        rows_(op.size("rows")),
        row_packs_(op.size("columns") / kPackSize) {}

  template <bool has_mean>
  void norm() const {
    run(norm_kernel<T, has_mean>, at(0), at(1), as<WeightPack>(2), as<float2>(3), row_packs_);
  }

  template <bool has_mean>
  void norm_backward() const {
    run(norm_backward_kernel<T, has_mean>, at(0), at(1), as<WeightPack>(2), as<float2>(3), at(4), row_packs_);
    const auto strips = [](std::int64_t size, std::int64_t each) {
      return static_cast<unsigned>((size + each - 1) / each);
    };
    const dim3 grid(strips(row_packs_, kStripPacks), strips(rows_, kStripRows));
    norm_weights_backward_kernel<T><<<grid, dim3(kStripPacks, kStripLines), 0, stream_>>>(
        at(0), at(1), as<float2>(3), as<float2>(5), rows_, row_packs_);
    check_launch();
  }

  void cross_entropy() const {
    run(cross_entropy_kernel<T>, at(0), as<std::int64_t>(1), as<float2>(2), as<float>(3), row_packs_);
  }

  void cross_entropy_backward() const {
    run(cross_entropy_backward_kernel<T>, at(0), as<std::int64_t>(1), as<float2>(2), row_packs_,
        1.0F / static_cast<float>(rows_));
  }

 private:
  template <typename Element>
  Element* as(std::size_t position) const {
    return static_cast<Element*>(buffers_.at(position).data());
  }
  Pack<T>* at(std::size_t position) const { return as<Pack<T>>(position); }

  template <typename Kernel, typename... Arguments>
  void run(Kernel kernel, Arguments... arguments) const {
    kernel<<<static_cast<unsigned>(rows_), kThreads, 0, stream_>>>(arguments...);
    check_launch();
  }

  const Buffers& buffers_;
  cudaStream_t stream_;
  std::int64_t rows_;
  std::int64_t row_packs_;
};

template <typename T>
void launch(const Operator& op, const Buffers& buffers, cudaStream_t stream) {
  const RowReduction<T> kernels(op, buffers, stream);
  const bool is_forward = op.pass == Pass::Forward;
  switch (op.kind) {
    case OperatorKind::LayerNorm:
      return is_forward ? kernels.template norm<true>() : kernels.template norm_backward<true>();
    case OperatorKind::RmsNorm:
      return is_forward ? kernels.template norm<false>() : kernels.template norm_backward<false>();
    case OperatorKind::CrossEntropy:
      return is_forward ? kernels.cross_entropy() : kernels.cross_entropy_backward();
    default:
      throw std::logic_error("no kernel for " + key_of(op));
  }
}

/// Scale of the scores for heads of 128; its value does not change the time.
constexpr float kScoreScale = 0.088388F;

}  // namespace

void launch_causal_softmax(Format format, const void* in, void* out, std::int64_t rows, std::int64_t columns,
                           cudaStream_t stream) {
  with_element_type(format, [&](auto type) {
    using T = decltype(type);
    softmax_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
        static_cast<const Pack<T>*>(in), static_cast<Pack<T>*>(out), columns / kPackSize, kScoreScale);
  });
  check_launch();
}

void launch_causal_softmax_backward(Format format, const void* probabilities, const void* gradient, void* out,
                                    std::int64_t rows, std::int64_t columns, cudaStream_t stream) {
  with_element_type(format, [&](auto type) {
    using T = decltype(type);
    softmax_backward_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
        static_cast<const Pack<T>*>(probabilities), static_cast<const Pack<T>*>(gradient),
        static_cast<Pack<T>*>(out), columns / kPackSize, kScoreScale);
  });
  check_launch();
}

void launch_row_reduction(const Operator& op, const Buffers& buffers, cudaStream_t stream) {
  if (op.kind == OperatorKind::Softmax) {
    const std::int64_t rows = op.size("rows");
    const std::int64_t columns = op.size("columns");
    if (op.pass == Pass::Forward) {
      return launch_causal_softmax(op.format, buffers[0].data(), buffers[1].data(), rows, columns, stream);
    }
    return launch_causal_softmax_backward(op.format, buffers[0].data(), buffers[1].data(), buffers[2].data(),
                                          rows, columns, stream);
  }
  with_element_type(op.format, [&](auto type) { launch<decltype(type)>(op, buffers, stream); });
}

}  // namespace vtrain::profiler
