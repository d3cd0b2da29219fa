#include "profiler/cuda/attention.hpp"
#include "profiler/cuda/row_kernels.hpp"

namespace vtrain::profiler {
namespace {

/// Sizes of the products: `batch` groups of queries, each with its own keys and values.
struct Sizes {
  std::int64_t groups = 1;
  std::int64_t queries = 1;  ///< queries of a group: tokens times heads that share keys
  std::int64_t keys = 1;
  std::int64_t head_size = 1;

  std::int64_t rows() const { return groups * queries; }
};

Sizes sizes_of(const Operator& op) {
  const std::int64_t shared = op.size("heads") / op.size("key_value_heads");
  return {op.size("batch") * op.size("key_value_heads"), shared * op.size("sequence"), op.size("sequence"),
          op.size("head_size")};
}

MatmulShape product(const Operator& op, Pass pass, std::int64_t m, std::int64_t n, std::int64_t k) {
  MatmulShape shape{.pass = pass, .format = op.format, .m = m, .n = n, .k = k};
  shape.batch = sizes_of(op).groups;
  return shape;
}

/// queries x keys, and context from probabilities and values.
class Forward : public PreparedOperator {
 public:
  Forward(const CublasHandle& handle, const Operator& op, cudaStream_t stream)
      : op_(op),
        sizes_(sizes_of(op)),
        buffers_(make_buffers(op)),
        stream_(stream),
        scores_(handle, product(op, Pass::Forward, sizes_.queries, sizes_.keys, sizes_.head_size)),
        context_(handle, product(op, Pass::DataGradient, sizes_.queries, sizes_.head_size, sizes_.keys)) {}

  void launch() override {
    void* const probabilities = buffers_[4].data();
    scores_.run(buffers_[0].data(), buffers_[1].data(), probabilities, stream_);
    launch_causal_softmax(op_.format, probabilities, probabilities, sizes_.rows(), sizes_.keys, stream_);
    context_.run(probabilities, buffers_[2].data(), buffers_[3].data(), stream_);
  }

 private:
  Operator op_;
  Sizes sizes_;
  Buffers buffers_;
  cudaStream_t stream_;
  Matmul scores_;
  Matmul context_;
};

class Backward : public PreparedOperator {
 public:
  Backward(const CublasHandle& handle, const Operator& op, cudaStream_t stream)
      : op_(op),
        sizes_(sizes_of(op)),
        buffers_(make_buffers(op)),
        stream_(stream),
        values_(handle, product(op, Pass::WeightGradient, sizes_.keys, sizes_.head_size, sizes_.queries)),
        probabilities_(handle, product(op, Pass::Forward, sizes_.queries, sizes_.keys, sizes_.head_size)),
        queries_(handle, product(op, Pass::DataGradient, sizes_.queries, sizes_.head_size, sizes_.keys)),
        keys_(handle, product(op, Pass::WeightGradient, sizes_.keys, sizes_.head_size, sizes_.queries)) {}

  void launch() override {
    // Queries, keys, values, outputs, probabilities; gradients of outputs, queries, keys, values, scores.
    const auto at = [this](std::size_t position) { return buffers_[position].data(); };
    values_.run(at(4), at(5), at(8), stream_);
    probabilities_.run(at(5), at(2), at(9), stream_);
    launch_causal_softmax_backward(op_.format, at(4), at(9), at(9), sizes_.rows(), sizes_.keys, stream_);
    queries_.run(at(9), at(1), at(6), stream_);
    keys_.run(at(9), at(0), at(7), stream_);
  }

 private:
  Operator op_;
  Sizes sizes_;
  Buffers buffers_;
  cudaStream_t stream_;
  Matmul values_;  ///< product for the gradient of the values; the others likewise
  Matmul probabilities_;
  Matmul queries_;
  Matmul keys_;
};

}  // namespace

std::unique_ptr<PreparedOperator> prepare_unfused_attention(const CublasHandle& handle, const Operator& op,
                                                            cudaStream_t stream) {
  if (op.pass == Pass::Forward) return std::make_unique<Forward>(handle, op, stream);
  return std::make_unique<Backward>(handle, op, stream);
}

}  // namespace vtrain::profiler
