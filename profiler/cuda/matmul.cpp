#include "profiler/cuda/matmul.hpp"

#include <memory>
#include <string>

#include "profiler/cuda/cuda_call.hpp"
#include "profiler/device.hpp"

namespace vtrain::profiler {
namespace {

/// Workspace that PyTorch and Transformer Engine give cuBLASLt on Hopper.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

/// A descriptor of cuBLASLt, destroyed by `destroy`.
template <typename Handle, cublasStatus_t (*destroy)(Handle)>
struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { (void)destroy(handle); }
};
using OperationDescriptor =
    std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>>;
using LayoutDescriptor = std::unique_ptr<cublasLtMatrixLayoutOpaque_t,
                                         Destroy<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>>;
using PreferenceDescriptor =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                    Destroy<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>;

cudaDataType_t type_of(Format format, bool is_gradient) {
  if (format == Format::Fp8) return is_gradient ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3;
  return format == Format::Fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

LayoutDescriptor make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                             std::int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  VTRAIN_CUDA_CALL(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), rows));
  LayoutDescriptor made(layout);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    VTRAIN_CUDA_CALL(
        cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    VTRAIN_CUDA_CALL(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                      &stride, sizeof stride));
  }
  return made;
}

}  // namespace

CublasHandle::CublasHandle() {
  VTRAIN_CUDA_CALL(cublasLtCreate(&handle_));
}

CublasHandle::~CublasHandle() {
  (void)cublasLtDestroy(handle_);
}

/// A planned product. cuBLASLt is column-major: our row-major product is its product of the transposed
/// operands in the other order, n x k times k x m.
struct Matmul::State {
  cublasLtHandle_t handle = nullptr;
  OperationDescriptor operation;
  LayoutDescriptor right;
  LayoutDescriptor left;
  LayoutDescriptor result;
  cublasLtMatmulAlgo_t algorithm{};
  DeviceBuffer workspace{kWorkspaceBytes};
  float beta = 0;

  void describe(const MatmulShape& shape) {
    // fp8 is multiplied along k on both sides only: there the operands have been transposed beforehand.
    const bool right_along_k = shape.pass == Pass::Forward || shape.format == Format::Fp8;
    const bool left_along_k = shape.pass != Pass::WeightGradient || shape.format == Format::Fp8;
    cublasLtMatmulDesc_t made = nullptr;
    VTRAIN_CUDA_CALL(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    operation.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA, right_along_k ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, left_along_k ? CUBLAS_OP_N : CUBLAS_OP_T);
    // Transformer Engine sums up forward passes in fp8 with fewer bits.
    if (shape.format == Format::Fp8) {
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(shape.pass == Pass::Forward));
    }
    const cudaDataType_t right_type = type_of(shape.format, false);
    const cudaDataType_t left_type = type_of(shape.format, shape.pass != Pass::Forward);
    right = right_along_k ? make_layout(right_type, shape.k, shape.n, shape.batch)
                          : make_layout(right_type, shape.n, shape.k, shape.batch);
    left = left_along_k ? make_layout(left_type, shape.k, shape.m, shape.batch)
                        : make_layout(left_type, shape.m, shape.k, shape.batch);
    const Format plain = shape.format == Format::Fp8 ? Format::Bf16 : shape.format;
    result =
        make_layout(shape.adds_to_fp32 ? CUDA_R_32F : type_of(plain, false), shape.n, shape.m, shape.batch);
    beta = shape.adds_to_fp32 ? 1.0F : 0.0F;
  }

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    VTRAIN_CUDA_CALL(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
  }

  void choose_algorithm() {
    cublasLtMatmulPreference_t made = nullptr;
    VTRAIN_CUDA_CALL(cublasLtMatmulPreferenceCreate(&made));
    const PreferenceDescriptor preference(made);
    VTRAIN_CUDA_CALL(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                          &kWorkspaceBytes, sizeof kWorkspaceBytes));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation.get(), right.get(), left.get(), result.get(), result.get(), made, 1, &best, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
      throw NotMeasurable(std::string("cuBLASLt has no algorithm for it on this GPU: ") + message_of(status));
    }
    algorithm = best.algo;
  }
};

Matmul::Matmul(const CublasHandle& handle, const MatmulShape& shape) : state_(std::make_unique<State>()) {
  state_->handle = handle.get();
  state_->describe(shape);
  state_->choose_algorithm();
}

Matmul::~Matmul() = default;

void Matmul::run(const void* left, const void* right, void* result, cudaStream_t stream) const {
  const float alpha = 1;
  VTRAIN_CUDA_CALL(cublasLtMatmul(state_->handle, state_->operation.get(), &alpha, right, state_->right.get(),
                                  left, state_->left.get(), &state_->beta, result, state_->result.get(),
                                  result, state_->result.get(), &state_->algorithm, state_->workspace.data(),
                                  state_->workspace.size(), stream));
}

}  // namespace vtrain::profiler
