/// Device memory that frees itself.
#pragma once

#include <cstddef>
#include <vector>

#include "profiler/operator.hpp"

namespace vtrain::profiler {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Allocates `bytes`; `NotMeasurable` if there is not enough memory.
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The buffers of an operator in the order of `buffers_of`, filled with numbers between -1 and 1 in the
/// operator's format. A GPU computes zeros faster than other numbers, because it draws less power.
std::vector<DeviceBuffer> make_buffers(const Operator& op);

}  // namespace vtrain::profiler
