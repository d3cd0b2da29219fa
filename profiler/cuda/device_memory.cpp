#include "profiler/cuda/device_memory.hpp"

#include <algorithm>
#include <utility>

#include "profiler/cuda/cuda_call.hpp"
#include "profiler/cuda/fill.hpp"
#include "profiler/device.hpp"

namespace vtrain::profiler {

DeviceBuffer::DeviceBuffer(std::size_t bytes) : size_(bytes) {
  const cudaError_t status = cudaMalloc(&data_, std::max<std::size_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // or the next call would report it again
    throw NotMeasurable("no " + std::to_string(bytes >> 20) + " MiB of device memory in one piece");
  }
  VTRAIN_CUDA_CALL(status);
}

DeviceBuffer::~DeviceBuffer() {
  (void)cudaFree(data_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::vector<DeviceBuffer> make_buffers(const Operator& op) {
  std::vector<DeviceBuffer> buffers;
  for (const std::size_t bytes : buffers_of(op)) {
    buffers.emplace_back(bytes);
    fill_random(op.format, buffers.back().data(), bytes);
  }
  // Tokens and labels are whole numbers, spread over the vocabulary.
  if (op.kind == OperatorKind::Embedding) {
    fill_tokens(buffers[0].data(), op.size("rows"), op.size("vocabulary"));
  } else if (op.kind == OperatorKind::CrossEntropy) {
    fill_tokens(buffers[1].data(), op.size("rows"), op.size("columns"));
  } else if (op.kind == OperatorKind::Adam) {
    for (std::size_t i = 0; i < 4; ++i)
      fill_floats(static_cast<float*>(buffers[i].data()), op.size("elements"));
  } else if (op.variant == Variant::Fp32Output) {
    fill_floats(static_cast<float*>(buffers[2].data()), op.size("m") * op.size("n"));
  }
  return buffers;
}

}  // namespace vtrain::profiler
