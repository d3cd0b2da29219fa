#include "profiler/cuda/row_kernels.hpp"

#include <cuda_fp8.h>
#include <curand_kernel.h>

#include "profiler/cuda/element.cuh"

namespace vtrain::profiler {
namespace {

constexpr int kThreads = 256;

/// The thread's first index and the step to its next, for loops over a grid.
__device__ std::int64_t first_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::int64_t index_step() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

/// GELU in its tanh form and its derivative.
constexpr float kGeluScale = 0.7978845608F;  // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715F;

__device__ float gelu(float x) {
  return 0.5F * x * (1.0F + tanhf(kGeluScale * (x + kGeluCubic * x * x * x)));
}

__device__ float gelu_slope(float x) {
  const float t = tanhf(kGeluScale * (x + kGeluCubic * x * x * x));
  const float inner = kGeluScale * (1.0F + 3.0F * kGeluCubic * x * x);
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * inner;
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct GeluBackward {
  __device__ float operator()(float x, float gradient) const { return gelu_slope(x) * gradient; }
};

/// out = f(a, b), element by element.
template <typename T, typename Function>
__global__ void map_kernel(const Pack<T>* a, const Pack<T>* b, Pack<T>* out, std::int64_t packs, Function f) {
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    const Pack<T> left = a[i];
    const Pack<T> right = b[i];
    Pack<T> made;
#pragma unroll
    for (int j = 0; j < kPackSize; ++j)
      made.values[j] = from_float<T>(f(to_float(left.values[j]), to_float(right.values[j])));
    out[i] = made;
  }
}

template <typename T>
__global__ void gelu_kernel(const Pack<T>* in, Pack<T>* out, std::int64_t packs) {
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    Pack<T> pack = in[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j)
      pack.values[j] = from_float<T>(gelu(to_float(pack.values[j])));
    out[i] = pack;
  }
}

/// Rows of gates, then equally many values: out = gate * sigmoid(gate) * value.
template <typename T>
__global__ void swiglu_kernel(const Pack<T>* in, Pack<T>* out, std::int64_t packs, std::int64_t row_packs) {
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    const std::int64_t at = i + i / row_packs * row_packs;
    const Pack<T> gates = in[at];
    Pack<T> values = in[at + row_packs];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const float gate = to_float(gates.values[j]);
      values.values[j] = from_float<T>(gate / (1.0F + __expf(-gate)) * to_float(values.values[j]));
    }
    out[i] = values;
  }
}

template <typename T>
__global__ void swiglu_backward_kernel(const Pack<T>* in, const Pack<T>* gradient, Pack<T>* out,
                                       std::int64_t packs, std::int64_t row_packs) {
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    const std::int64_t at = i + i / row_packs * row_packs;
    Pack<T> gates = in[at];
    Pack<T> values = in[at + row_packs];
    const Pack<T> incoming = gradient[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const float gate = to_float(gates.values[j]);
      const float sigmoid = 1.0F / (1.0F + __expf(-gate));
      const float from_above = to_float(incoming.values[j]);
      const float value = to_float(values.values[j]);
      gates.values[j] = from_float<T>(from_above * value * sigmoid * (1.0F + gate * (1.0F - sigmoid)));
      values.values[j] = from_float<T>(from_above * gate * sigmoid);
    }
    out[at] = gates;
    out[at + row_packs] = values;
  }
}

constexpr float kKeep = 0.9F;

/// Philox numbers, four per call, as in frameworks.
template <typename T>
__global__ void dropout_kernel(const Pack<T>* in, Pack<T>* out, std::uint64_t* mask, std::int64_t packs) {
  curandStatePhilox4_32_10_t random;
  curand_init(1, static_cast<unsigned long long>(first_index()), 0, &random);
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    const float4 first = curand_uniform4(&random);
    const float4 second = curand_uniform4(&random);
    const float draws[kPackSize] = {first.x,  first.y,  first.z,  first.w,
                                    second.x, second.y, second.z, second.w};
    Pack<T> pack = in[i];
    std::uint64_t kept = 0;
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const bool keep = draws[j] < kKeep;
      kept |= static_cast<std::uint64_t>(keep) << (8 * j);
      pack.values[j] = from_float<T>(keep ? to_float(pack.values[j]) / kKeep : 0.0F);
    }
    out[i] = pack;
    mask[i] = kept;
  }
}

template <typename T>
__global__ void dropout_backward_kernel(const Pack<T>* in, Pack<T>* out, const std::uint64_t* mask,
                                        std::int64_t packs) {
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    Pack<T> pack = in[i];
    const std::uint64_t kept = mask[i];
#pragma unroll
    for (int j = 0; j < kPackSize; ++j) {
      const bool keep = (kept >> (8 * j) & 1) != 0;
      pack.values[j] = from_float<T>(keep ? to_float(pack.values[j]) / kKeep : 0.0F);
    }
    out[i] = pack;
  }
}

/// Turns pairs of neighbouring elements by the angles of a table of cosines and sines, [rows][head_size / 2].
template <typename T>
__global__ void rotary_kernel(Pack<T>* data, const float2* angles, std::int64_t packs, std::int64_t row_packs,
                              std::int64_t head_packs) {
  constexpr int kPairs = kPackSize / 2;
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    const float2* const turn = angles + (i / row_packs * head_packs + i % row_packs % head_packs) * kPairs;
    Pack<T> pack = data[i];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float x = to_float(pack.values[2 * j]);
      const float y = to_float(pack.values[2 * j + 1]);
      pack.values[2 * j] = from_float<T>(x * turn[j].x - y * turn[j].y);
      pack.values[2 * j + 1] = from_float<T>(x * turn[j].y + y * turn[j].x);
    }
    data[i] = pack;
  }
}

constexpr int kTile = 64;

/// Conversion to fp8, plain and transposed, through tiles in shared memory. A warp moves 64 bytes per row
/// both ways.
template <typename T>
__global__ void quantize_kernel(const T* in, __nv_fp8_e4m3* out, __nv_fp8_e4m3* transposed, std::int64_t rows,
                                std::int64_t columns) {
  __shared__ __nv_fp8_e4m3 tile[kTile][kTile + 2];
  const std::int64_t row0 = std::int64_t{blockIdx.y} * kTile;
  const std::int64_t column0 = std::int64_t{blockIdx.x} * kTile;
  const int pair = 2 * (static_cast<int>(threadIdx.x) % 32);
  for (int line = static_cast<int>(threadIdx.x) / 32; line < kTile; line += kThreads / 32) {
    for (int j = pair; j < pair + 2; ++j) {
      if (row0 + line >= rows || column0 + j >= columns) continue;
      const std::int64_t at = (row0 + line) * columns + column0 + j;
      const __nv_fp8_e4m3 value(to_float(in[at]));
      out[at] = value;
      tile[line][j] = value;
    }
  }
  __syncthreads();
  for (int line = static_cast<int>(threadIdx.x) / 32; line < kTile; line += kThreads / 32) {
    for (int j = pair; j < pair + 2; ++j) {
      if (column0 + line < columns && row0 + j < rows)
        transposed[(column0 + line) * rows + row0 + j] = tile[j][line];
    }
  }
}

template <typename T>
__global__ void gather_kernel(const std::int64_t* tokens, const Pack<T>* table, Pack<T>* out,
                              std::int64_t packs, std::int64_t row_packs) {
  for (std::int64_t i = first_index(); i < packs; i += index_step())
    out[i] = table[tokens[i / row_packs] * row_packs + i % row_packs];
}

template <typename T>
__global__ void scatter_kernel(const std::int64_t* tokens, float* table, const Pack<T>* rows,
                               std::int64_t packs, std::int64_t row_packs) {
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    const Pack<T> pack = rows[i];
    float* const to = table + (tokens[i / row_packs] * row_packs + i % row_packs) * kPackSize;
#pragma unroll
    for (int j = 0; j < kPackSize; ++j)
      atomicAdd(to + j, to_float(pack.values[j]));
  }
}

/// Adam with decoupled weight decay; the bias corrections are folded into the rate.
template <typename T>
__global__ void adam_kernel(const float4* gradients, float4* weights, float4* means, float4* squares, T* copy,
                            std::int64_t quads) {
  constexpr float kRate = 1e-4F;
  constexpr float kDecay = 0.1F;
  constexpr float kBeta1 = 0.9F;
  constexpr float kBeta2 = 0.95F;
  constexpr float kEpsilon = 1e-8F;
  for (std::int64_t i = first_index(); i < quads; i += index_step()) {
    const float4 gradient = gradients[i];
    float4 weight = weights[i];
    float4 mean = means[i];
    float4 square = squares[i];
    const auto update = [](float g, float& w, float& m, float& v) {
      m = kBeta1 * m + (1.0F - kBeta1) * g;
      v = kBeta2 * v + (1.0F - kBeta2) * g * g;
      w -= kRate * (m / (sqrtf(v) + kEpsilon) + kDecay * w);
    };
    update(gradient.x, weight.x, mean.x, square.x);
    update(gradient.y, weight.y, mean.y, square.y);
    update(gradient.z, weight.z, mean.z, square.z);
    update(gradient.w, weight.w, mean.w, square.w);
    weights[i] = weight;
    means[i] = mean;
    squares[i] = square;
    T* const to = copy + 4 * i;
    to[0] = from_float<T>(weight.x);
    to[1] = from_float<T>(weight.y);
    to[2] = from_float<T>(weight.z);
    to[3] = from_float<T>(weight.w);
  }
}

__global__ void hold_kernel(long long nanoseconds) {
  unsigned long long begin = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < static_cast<unsigned long long>(nanoseconds));
}

/// The buffers of one launch as arrays of packs.
template <typename T>
class Tensors {
 public:
  Tensors(const Operator& op, const Buffers& buffers, cudaStream_t stream)
      : op_(op),
        buffers_(buffers),
        stream_(stream),
        row_packs_(op.size("columns") / kPackSize),
        packs_(op.size("rows") * row_packs_) {}

  void launch() const {
    const bool is_forward = op_.pass == Pass::Forward;
    switch (op_.kind) {
      case OperatorKind::Gelu:
        return is_forward ? run(gelu_kernel<T>, at(0), at(1), packs_) : map(GeluBackward());
      case OperatorKind::ResidualAdd:
        return map(Sum());
      case OperatorKind::Swiglu:
        return is_forward ? run(swiglu_kernel<T>, at(0), at(1), packs_, row_packs_)
                          : run(swiglu_backward_kernel<T>, at(0), at(1), at(2), packs_, row_packs_);
      case OperatorKind::Dropout:
        return is_forward ? run(dropout_kernel<T>, at(0), at(1), as<std::uint64_t>(2), packs_)
                          : run(dropout_backward_kernel<T>, at(0), at(1), as<std::uint64_t>(2), packs_);
      case OperatorKind::Rotary:
        return run(rotary_kernel<T>, at(0), as<float2>(1), packs_, row_packs_,
                   op_.size("head_size") / kPackSize);
      case OperatorKind::Embedding:
        return is_forward
                   ? run(gather_kernel<T>, as<std::int64_t>(0), at(1), at(2), packs_, row_packs_)
                   : run(scatter_kernel<T>, as<std::int64_t>(0), as<float>(1), at(2), packs_, row_packs_);
      case OperatorKind::Quantize:
        return quantize();
      default:
        throw std::logic_error("no kernel for " + key_of(op_));
    }
  }

 private:
  template <typename Element>
  Element* as(std::size_t position) const {
    return static_cast<Element*>(buffers_.at(position).data());
  }
  Pack<T>* at(std::size_t position) const { return as<Pack<T>>(position); }

  template <typename Kernel, typename... Arguments>
  void run(Kernel kernel, Arguments... arguments) const {
    kernel<<<num_blocks(packs_, kThreads), kThreads, 0, stream_>>>(arguments...);
    check_launch();
  }

  template <typename Function>
  void map(Function function) const {
    run(map_kernel<T, Function>, at(0), at(1), at(2), packs_, function);
  }

  void quantize() const {
    const auto tiles = [](std::int64_t size) { return static_cast<unsigned>((size + kTile - 1) / kTile); };
    const dim3 grid(tiles(op_.size("columns")), tiles(op_.size("rows")));
    quantize_kernel<<<grid, kThreads, 0, stream_>>>(as<T>(0), as<__nv_fp8_e4m3>(1), as<__nv_fp8_e4m3>(2),
                                                    op_.size("rows"), op_.size("columns"));
    check_launch();
  }

  const Operator& op_;
  const Buffers& buffers_;
  cudaStream_t stream_;
  std::int64_t row_packs_;
  std::int64_t packs_;
};

template <typename T>
void launch_adam(const Operator& op, const Buffers& buffers, cudaStream_t stream) {
  const std::int64_t quads = op.size("elements") / 4;
  adam_kernel<<<num_blocks(quads, kThreads), kThreads, 0, stream>>>(
      static_cast<const float4*>(buffers[0].data()), static_cast<float4*>(buffers[1].data()),
      static_cast<float4*>(buffers[2].data()), static_cast<float4*>(buffers[3].data()),
      static_cast<T*>(buffers[4].data()), quads);
  check_launch();
}

}  // namespace

void launch_rows(const Operator& op, const Buffers& buffers, cudaStream_t stream) {
  switch (op.kind) {
    case OperatorKind::LayerNorm:
    case OperatorKind::RmsNorm:
    case OperatorKind::Softmax:
    case OperatorKind::CrossEntropy:
      return launch_row_reduction(op, buffers, stream);
    case OperatorKind::Adam:
      return with_element_type(op.format,
                               [&](auto type) { launch_adam<decltype(type)>(op, buffers, stream); });
    default:
      return with_element_type(op.format,
                               [&](auto type) { Tensors<decltype(type)>(op, buffers, stream).launch(); });
  }
}

void launch_hold(double nanoseconds, cudaStream_t stream) {
  hold_kernel<<<1, 1, 0, stream>>>(static_cast<long long>(nanoseconds));
  check_launch();
}

}  // namespace vtrain::profiler
