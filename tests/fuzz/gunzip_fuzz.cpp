#include <cstdint>
#include <cstdlib>

#include "tests/support/unpack.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const auto content = vtrain::testing::unpack_all({reinterpret_cast<const char*>(data), size}, kLimit);
  if (!content && content.error().message.empty()) std::abort();
  return 0;
}
