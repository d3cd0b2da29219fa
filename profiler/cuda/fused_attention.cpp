#include "profiler/cuda/attention.hpp"

#ifdef VTRAIN_CUDNN

#include <cmath>

#include "profiler/cuda/cudnn_graph.hpp"

namespace vtrain::profiler {
namespace {

class CudnnHandle {
 public:
  CudnnHandle() {
    if (cudnnCreate(&handle_) != CUDNN_STATUS_SUCCESS) throw NotMeasurable("cuDNN does not start");
  }
  ~CudnnHandle() { (void)cudnnDestroy(handle_); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// Sizes of attention, and tensors as frameworks store them: batch, token, head, column.
struct Layout {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t key_value_heads = 1;
  std::int64_t sequence = 1;
  std::int64_t head_size = 1;

  explicit Layout(const Operator& op)
      : batch(op.size("batch")),
        heads(op.size("heads")),
        key_value_heads(op.size("key_value_heads")),
        sequence(op.size("sequence")),
        head_size(op.size("head_size")) {}

  CudnnDims dims(std::int64_t num_heads) const { return {batch, num_heads, sequence, head_size}; }
  CudnnDims strides(std::int64_t num_heads) const {
    return {sequence * num_heads * head_size, head_size, num_heads * head_size, 1};
  }
  /// Tensor with rows and columns exchanged.
  CudnnDims transposed_dims(std::int64_t num_heads) const { return {batch, num_heads, head_size, sequence}; }
  CudnnDims transposed_strides(std::int64_t num_heads) const {
    return {sequence * num_heads * head_size, head_size, 1, num_heads * head_size};
  }
  CudnnDims row_dims() const { return {batch, heads, sequence, 1}; }
  CudnnDims score_dims() const { return {batch, heads, sequence, sequence}; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_size)); }
};

/// Graphs of fused flash attention from cuDNN's documentation: its engines recognise them by their
/// operations.
class FusedAttention : public PreparedOperator {
 public:
  FusedAttention(const Operator& op, cudaStream_t stream)
      : layout_(op),
        buffers_(make_buffers(op)),
        stream_(stream),
        graph_(handle_.get(), op.format == Format::Fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16) {
    if (op.pass == Pass::Forward) {
      add_forward();
    } else {
      add_backward();
    }
    graph_.plan();
  }

  void launch() override { graph_.run(stream_); }

 private:
  using Tensor = CudnnGraph::Tensor;

  Tensor tensor(std::size_t position, std::int64_t num_heads) {
    return graph_.input(layout_.dims(num_heads), layout_.strides(num_heads), buffers_[position].data());
  }
  Tensor transposed_tensor(std::size_t position, std::int64_t num_heads) {
    return graph_.input(layout_.transposed_dims(num_heads), layout_.transposed_strides(num_heads),
                        buffers_[position].data());
  }

  void add_forward() {
    const Tensor queries = tensor(0, layout_.heads);
    const Tensor keys = transposed_tensor(1, layout_.key_value_heads);
    const Tensor values = tensor(2, layout_.key_value_heads);
    const Tensor outputs = tensor(3, layout_.heads);
    const Tensor statistics = graph_.input_fp32(layout_.row_dims(), buffers_[4].data());
    const Tensor scores = graph_.matmul(queries, keys);
    const Tensor scaled = graph_.binary(CUDNN_POINTWISE_MUL, scores, graph_.constant(layout_.scale()));
    const Tensor masked = graph_.mask_causally(scaled);
    const Tensor most = graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, masked, layout_.row_dims());
    const Tensor shifted = graph_.binary(CUDNN_POINTWISE_SUB, masked, most);
    const Tensor exponentials = graph_.unary(CUDNN_POINTWISE_EXP, shifted);
    const Tensor sum = graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, layout_.row_dims());
    const Tensor log_sum = graph_.unary(CUDNN_POINTWISE_LOG, sum);
    graph_.binary(CUDNN_POINTWISE_ADD, most, log_sum, statistics);
    const Tensor probabilities =
        graph_.binary(CUDNN_POINTWISE_DIV, exponentials, sum, graph_.inner_half(layout_.score_dims()));
    graph_.matmul(probabilities, values, outputs);
  }

  void add_backward() {
    const Tensor queries = tensor(0, layout_.heads);
    const Tensor keys = transposed_tensor(1, layout_.key_value_heads);
    const Tensor values = transposed_tensor(2, layout_.key_value_heads);
    const Tensor outputs = tensor(3, layout_.heads);
    const Tensor statistics = graph_.input_fp32(layout_.row_dims(), buffers_[4].data());
    const Tensor incoming = tensor(5, layout_.heads);
    const Tensor scale = graph_.constant(layout_.scale());

    // What the softmax's gradient subtracts from each row.
    row_sums_ = DeviceBuffer(buffers_[4].size());
    const Tensor row_sums = graph_.input_fp32(layout_.row_dims(), row_sums_.data());
    const Tensor products = graph_.binary(CUDNN_POINTWISE_MUL, incoming, outputs);
    const Tensor sums = graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, products, layout_.row_dims());
    graph_.binary(CUDNN_POINTWISE_MUL, sums, graph_.constant(1), row_sums);

    // The probabilities once more, and the gradient of the values.
    const Tensor scores = graph_.binary(CUDNN_POINTWISE_MUL, graph_.matmul(queries, keys), scale);
    const Tensor masked = graph_.mask_causally(graph_.binary(CUDNN_POINTWISE_SUB, scores, statistics));
    const Tensor probabilities = graph_.unary(CUDNN_POINTWISE_EXP, masked);
    add_key_gradient(probabilities, incoming, 8);

    // The gradient of the scores, and from it those of keys and queries.
    const Tensor probability_gradient = graph_.matmul(incoming, values);
    const Tensor centred = graph_.binary(CUDNN_POINTWISE_SUB, probability_gradient, row_sums);
    const Tensor plain = graph_.binary(CUDNN_POINTWISE_MUL, centred, probabilities);
    const Tensor score_gradient = graph_.binary(CUDNN_POINTWISE_MUL, plain, scale);
    add_key_gradient(score_gradient, queries, 7);
    query_sums_ = DeviceBuffer(2 * buffers_[0].size());  // fp32
    const Tensor query_sums = graph_.input_fp32(layout_.dims(layout_.heads), query_sums_.data());
    const Tensor plain_keys = graph_.transposed(keys, layout_.strides(layout_.key_value_heads));
    graph_.matmul(score_gradient, plain_keys, query_sums);
    graph_.unary(CUDNN_POINTWISE_IDENTITY, query_sums, tensor(6, layout_.heads));
  }

  /// The transposed scores times rows of queries or outputs; heads that share keys are summed.
  void add_key_gradient(const Tensor& scores, const Tensor& rows, std::size_t position) {
    const std::int64_t square = layout_.sequence * layout_.sequence;
    const Tensor exchanged = graph_.transposed(scores, {layout_.heads * square, square, 1, layout_.sequence});
    if (layout_.heads == layout_.key_value_heads) {
      graph_.matmul(exchanged, rows, tensor(position, layout_.heads));
      return;
    }
    const Tensor of_all_heads =
        graph_.matmul(exchanged, rows, graph_.inner_half(layout_.dims(layout_.heads)));
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, of_all_heads, {}, tensor(position, layout_.key_value_heads));
  }

  Layout layout_;
  std::vector<DeviceBuffer> buffers_;
  DeviceBuffer row_sums_;
  DeviceBuffer query_sums_;
  cudaStream_t stream_;
  CudnnHandle handle_;
  CudnnGraph graph_;
};

}  // namespace

std::unique_ptr<PreparedOperator> prepare_fused_attention(const Operator& op, cudaStream_t stream) {
  return std::make_unique<FusedAttention>(op, stream);
}

}  // namespace vtrain::profiler

#else

namespace vtrain::profiler {

std::unique_ptr<PreparedOperator> prepare_fused_attention(const Operator&, cudaStream_t) {
  throw NotMeasurable("built without cuDNN");
}

}  // namespace vtrain::profiler

#endif
