#include "profiler/cuda/cudnn_graph.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "profiler/device.hpp"

namespace vtrain::profiler {
namespace {

/// Turns cuDNN's rejection into `NotMeasurable`: this version cannot run the shape, and the recording
/// continues.
void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw NotMeasurable(std::string("cuDNN: ") + call + ": " + cudnnGetErrorString(status));
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check_cudnn(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  held_ =
      std::shared_ptr<void>(made, [](void* descriptor) { (void)cudnnBackendDestroyDescriptor(descriptor); });
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
  const cudnnBackendDescriptor_t raw = other.get();
  set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  return *this;
}

void CudnnDescriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              std::int64_t count, const void* values) {
  check_cudnn(cudnnBackendSetAttribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

void CudnnDescriptor::finalize() {
  check_cudnn(cudnnBackendFinalize(get()), "cudnnBackendFinalize");
}

CudnnDims packed_strides(const CudnnDims& dims) {
  CudnnDims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

CudnnGraph::Tensor CudnnGraph::make_tensor(const CudnnDims& dims, const CudnnDims& strides,
                                           cudnnDataType_t type, bool is_virtual, bool is_by_value) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{type})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims)
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::vector{next_id_++})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector{std::int64_t{16}})
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, std::vector{static_cast<char>(is_virtual)})
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, std::vector{static_cast<char>(is_by_value)});
  tensor.finalize();
  return {tensor, dims};
}

CudnnGraph::Tensor CudnnGraph::inner(const CudnnDims& dims, cudnnDataType_t type) {
  return make_tensor(dims, packed_strides(dims), type, true);
}

CudnnGraph::Tensor CudnnGraph::input(const CudnnDims& dims, const CudnnDims& strides, void* address) {
  ids_.push_back(next_id_);
  addresses_.push_back(address);
  return make_tensor(dims, strides, type_, false);
}

CudnnGraph::Tensor CudnnGraph::input_fp32(const CudnnDims& dims, void* address) {
  ids_.push_back(next_id_);
  addresses_.push_back(address);
  return make_tensor(dims, packed_strides(dims), CUDNN_DATA_FLOAT, false);
}

CudnnGraph::Tensor CudnnGraph::constant(float value) {
  constants_.push_back(std::make_unique<float>(value));
  ids_.push_back(next_id_);
  addresses_.push_back(constants_.back().get());
  return make_tensor({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, false, true);
}

void CudnnGraph::add(CudnnDescriptor operation) {
  operation.finalize();
  operations_.push_back(std::move(operation));
}

CudnnGraph::Tensor CudnnGraph::matmul(const Tensor& a, const Tensor& b, const std::optional<Tensor>& result) {
  const Tensor made = result ? *result : inner({a.dims[0], a.dims[1], a.dims[2], b.dims[3]});
  CudnnDescriptor kind(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT}).finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, made.descriptor)
      .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
  add(operation);
  return made;
}

CudnnDescriptor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type, const Tensor& x,
                                      const Tensor& result) {
  CudnnDescriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, std::vector{mode})
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, std::vector{type})
      .finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result.descriptor);
  return operation;
}

CudnnGraph::Tensor CudnnGraph::unary(cudnnPointwiseMode_t mode, const Tensor& x,
                                     const std::optional<Tensor>& result) {
  const Tensor made = result ? *result : inner(x.dims);
  add(pointwise(mode, CUDNN_DATA_FLOAT, x, made));
  return made;
}

CudnnGraph::Tensor CudnnGraph::binary(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b,
                                      const std::optional<Tensor>& result) {
  const Tensor made = result ? *result : inner(x.dims);
  CudnnDescriptor operation = pointwise(mode, CUDNN_DATA_FLOAT, x, made);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b.descriptor);
  add(operation);
  return made;
}

CudnnGraph::Tensor CudnnGraph::reduce(cudnnReduceTensorOp_t mode, const Tensor& x, const CudnnDims& dims,
                                      const std::optional<Tensor>& result) {
  const Tensor made = result ? *result : inner(dims);
  CudnnDescriptor kind(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, std::vector{mode})
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT})
      .finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, made.descriptor)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
  add(operation);
  return made;
}

CudnnGraph::Tensor CudnnGraph::transposed(const Tensor& x, const CudnnDims& strides) {
  const CudnnDims dims{x.dims[0], x.dims[1], x.dims[3], x.dims[2]};
  const Tensor made = make_tensor(dims, strides, type_, true);
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor)
      .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, made.descriptor);
  add(operation);
  return made;
}

CudnnGraph::Tensor CudnnGraph::index_along(std::int64_t axis, const Tensor& x) {
  const Tensor made = inner(x.dims, CUDNN_DATA_INT32);
  CudnnDescriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, std::vector{CUDNN_POINTWISE_GEN_INDEX})
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_INT32})
      .set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, std::vector{axis})
      .finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, made.descriptor);
  add(operation);
  return made;
}

CudnnGraph::Tensor CudnnGraph::mask_causally(const Tensor& x) {
  const Tensor row = index_along(2, x);
  const Tensor column = index_along(3, x);
  const Tensor is_visible = inner(x.dims, CUDNN_DATA_BOOLEAN);
  CudnnDescriptor compare = pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, is_visible);
  compare.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, column.descriptor);
  add(compare);
  const Tensor made = inner(x.dims);
  CudnnDescriptor select = pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, x, made);
  // The largest negative number: infinity minus infinity would be no number.
  const Tensor hidden = constant(std::numeric_limits<float>::lowest());
  select.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, hidden.descriptor)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, is_visible.descriptor);
  add(select);
  return made;
}

void CudnnGraph::choose_engine(const CudnnDescriptor& heuristic) {
  constexpr std::int64_t kMostEngines = 8;
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < kMostEngines; ++i)
    raw.push_back(configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  std::int64_t found = 0;
  check_cudnn(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostEngines, &found, raw.data()),
              "heuristic");
  // The best first; one that does not fit this GPU after all shows when its plan is made.
  for (std::int64_t i = 0; i < std::min(found, kMostEngines); ++i) {
    try {
      plan_ = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle_})
          .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs[static_cast<std::size_t>(i)])
          .finalize();
      return;
    } catch (const NotMeasurable&) {
      if (i + 1 == std::min(found, kMostEngines)) throw;
    }
  }
  throw NotMeasurable("cuDNN has no engine for it");
}

void CudnnGraph::plan() {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& operation : operations_)
    raw.push_back(operation.get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle_})
      .finalize();
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{CUDNN_HEUR_MODE_A})
      .finalize();
  choose_engine(heuristic);
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &count, &bytes),
              "workspace size");
  workspace_ = DeviceBuffer(static_cast<std::size_t>(bytes));
  arguments_ = CudnnDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  arguments_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids_)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses_)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, std::vector{workspace_.data()})
      .finalize();
}

void CudnnGraph::run(cudaStream_t stream) const {
  check_cudnn(cudnnSetStream(handle_, stream), "cudnnSetStream");
  check_cudnn(cudnnBackendExecute(handle_, plan_.get(), arguments_.get()), "cudnnBackendExecute");
}

}  // namespace vtrain::profiler
