/// One GPU of this node as a `Device`.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "profiler/cuda/attention.hpp"
#include "profiler/cuda/backend.hpp"
#include "profiler/cuda/cuda_call.hpp"
#include "profiler/cuda/cupti_activity.hpp"
#include "profiler/cuda/device_memory.hpp"
#include "profiler/cuda/health.hpp"
#include "profiler/cuda/matmul.hpp"
#include "profiler/cuda/row_kernels.hpp"

namespace vtrain::profiler {
namespace {

class GemmOperator : public PreparedOperator {
 public:
  GemmOperator(const CublasHandle& handle, const Operator& op, cudaStream_t stream)
      : buffers_(make_buffers(op)), stream_(stream), product_(handle, shape_of(op)) {}

  void launch() override {
    product_.run(buffers_[0].data(), buffers_[1].data(), buffers_[2].data(), stream_);
  }

 private:
  static MatmulShape shape_of(const Operator& op) {
    return {.pass = op.pass,
            .format = op.format,
            .adds_to_fp32 = op.variant == Variant::Fp32Output,
            .m = op.size("m"),
            .n = op.size("n"),
            .k = op.size("k"),
            .batch = 1};
  }

  Buffers buffers_;
  cudaStream_t stream_;
  Matmul product_;
};

class RowsOperator : public PreparedOperator {
 public:
  RowsOperator(const Operator& op, cudaStream_t stream)
      : op_(op), buffers_(make_buffers(op)), stream_(stream) {}
  void launch() override { launch_rows(op_, buffers_, stream_); }

 private:
  Operator op_;
  Buffers buffers_;
  cudaStream_t stream_;
};

void check_columns(const Operator& op) {
  for (const std::string_view name : {"columns", "elements", "head_size"}) {
    const auto divides = [&](const Size& size) { return size.name == name && size.value % 8 != 0; };
    if (std::any_of(op.sizes.begin(), op.sizes.end(), divides)) {
      throw NotMeasurable(std::string(name) + " are no multiple of 8");
    }
  }
}

std::string bus_id_of(int device) {
  char text[32] = {};
  VTRAIN_CUDA_CALL(cudaDeviceGetPCIBusId(text, sizeof text, device));
  return text;
}

class Gpu : public Device {
 public:
  explicit Gpu(int device)
      : facts_(device_facts(device)),
        software_(software_facts()),
        health_(bus_id_of(device)),
        // Twice the size: what is overwritten may be in any part of it.
        l2_filler_(2 * static_cast<std::size_t>(std::max<std::int64_t>(facts_.l2_bytes, 1 << 20))) {
    VTRAIN_CUDA_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Gpu() override { (void)cudaStreamDestroy(stream_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  DeviceFacts facts() const override { return facts_; }
  SoftwareFacts software() const override { return software_; }

  std::size_t free_memory() const override {
    std::size_t free = 0;
    std::size_t total = 0;
    VTRAIN_CUDA_CALL(cudaMemGetInfo(&free, &total));
    return free;
  }

  std::optional<HealthSample> sample_health() override { return health_.sample(); }

  std::unique_ptr<PreparedOperator> prepare(const Operator& op) override {
    check_columns(op);
    if (op.kind == OperatorKind::Gemm) return std::make_unique<GemmOperator>(cublas_, op, stream_);
    if (op.kind != OperatorKind::Attention) return std::make_unique<RowsOperator>(op, stream_);
    if (op.variant == Variant::Unfused) return prepare_unfused_attention(cublas_, op, stream_);
    return prepare_fused_attention(op, stream_);
  }

  void begin_range(std::uint64_t range) override { push_range(range); }
  void end_range() override { pop_range(); }

  void overwrite_l2() override {
    VTRAIN_CUDA_CALL(cudaMemsetAsync(l2_filler_.data(), 0, l2_filler_.size(), stream_));
  }

  void hold(double nanoseconds) override { launch_hold(nanoseconds, stream_); }
  void synchronize() override { VTRAIN_CUDA_CALL(cudaStreamSynchronize(stream_)); }
  ActivitySource& activity() override { return activity_; }

 private:
  CuptiActivity activity_;
  DeviceFacts facts_;
  SoftwareFacts software_;
  HealthMonitor health_;
  DeviceBuffer l2_filler_;
  CublasHandle cublas_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> open_gpu(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw std::runtime_error(std::string("no GPU on this machine: ") +
                             (status == cudaSuccess ? "CUDA finds none" : cudaGetErrorString(status)));
  }
  if (device >= count) {
    throw std::runtime_error("no GPU " + std::to_string(device) + " on this machine: it has " +
                             std::to_string(count));
  }
  VTRAIN_CUDA_CALL(cudaSetDevice(device));
  return std::make_unique<Gpu>(device);
}

}  // namespace vtrain::profiler
