/// A graph of cuDNN's backend interface: tensors and operations between them. A graph is built, planned and
/// run.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "profiler/cuda/device_memory.hpp"

namespace vtrain::profiler {

/// A descriptor of the backend, shared by its users.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return held_.get(); }

  /// Sets an attribute to values of plain types.
  template <typename Value>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       const std::vector<Value>& values) {
    set_raw(name, type, static_cast<std::int64_t>(values.size()), values.data());
    return *this;
  }
  /// Sets an attribute to another descriptor.
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  void finalize();

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
               const void* values);

  std::shared_ptr<void> held_;
};

/// A 4-dimensional tensor: batch, head, row, column.
using CudnnDims = std::vector<std::int64_t>;

/// Strides of a tensor without gaps, the last dimension fastest.
CudnnDims packed_strides(const CudnnDims& dims);

class CudnnGraph {
 public:
  CudnnGraph(cudnnHandle_t handle, cudnnDataType_t type) : handle_(handle), type_(type) {}

  struct Tensor {
    CudnnDescriptor descriptor;
    CudnnDims dims;
  };

  /// A tensor in the graph's type at an address.
  Tensor input(const CudnnDims& dims, const CudnnDims& strides, void* address);
  Tensor input_fp32(const CudnnDims& dims, void* address);
  /// A number known to the graph.
  Tensor constant(float value);

  /// A tensor within the graph, in the graph's type.
  Tensor inner_half(const CudnnDims& dims) { return inner(dims, type_); }

  // Operations whose result stays within the graph (fp32 unless said otherwise) or goes to `result`.
  Tensor matmul(const Tensor& a, const Tensor& b, const std::optional<Tensor>& result = {});
  Tensor unary(cudnnPointwiseMode_t mode, const Tensor& x, const std::optional<Tensor>& result = {});
  Tensor binary(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b,
                const std::optional<Tensor>& result = {});
  /// Reduces the last dimension, or the heads that share one of `result`.
  Tensor reduce(cudnnReduceTensorOp_t mode, const Tensor& x, const CudnnDims& dims,
                const std::optional<Tensor>& result = {});
  /// `x` with rows and columns exchanged, in the graph's type.
  Tensor transposed(const Tensor& x, const CudnnDims& strides);
  /// `x` where the row is at least the column, minus infinity elsewhere.
  Tensor mask_causally(const Tensor& x);

  /// `NotMeasurable` if cuDNN has no engine for the graph.
  void plan();
  void run(cudaStream_t stream) const;

 private:
  Tensor make_tensor(const CudnnDims& dims, const CudnnDims& strides, cudnnDataType_t type, bool is_virtual,
                     bool is_by_value = false);
  Tensor inner(const CudnnDims& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  Tensor index_along(std::int64_t axis, const Tensor& x);
  CudnnDescriptor pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type, const Tensor& x,
                            const Tensor& result);
  void add(CudnnDescriptor operation);
  void choose_engine(const CudnnDescriptor& heuristic);

  cudnnHandle_t handle_;
  cudnnDataType_t type_;
  std::vector<CudnnDescriptor> operations_;
  std::vector<std::int64_t> ids_;  ///< ids of tensors with an address
  std::vector<void*> addresses_;
  std::vector<std::unique_ptr<float>> constants_;
  std::int64_t next_id_ = 1;
  CudnnDescriptor plan_;
  CudnnDescriptor arguments_;
  DeviceBuffer workspace_;
};

}  // namespace vtrain::profiler
