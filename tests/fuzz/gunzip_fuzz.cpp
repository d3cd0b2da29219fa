#include <cstdint>
#include <cstdlib>

#include "core/io/decompress.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const auto content = vtrain::gunzip({reinterpret_cast<const char*>(data), size}, "input", kLimit);
  if (content ? content->size() > kLimit : content.error().message.empty()) std::abort();
  return 0;
}
