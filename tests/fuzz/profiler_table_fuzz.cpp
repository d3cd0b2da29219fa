#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "profiler/error.hpp"
#include "profiler/kernel_table.hpp"

/// Checks that any bytes are refused with a message, or give a table that is equal after writing and reading
/// it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using vtrain::profiler::KernelTable;
  try {
    const KernelTable table = KernelTable::parse({reinterpret_cast<const char*>(data), size});
    const std::string text = table.to_json();
    if (KernelTable::parse(text).to_json() != text) std::abort();
  } catch (const vtrain::profiler::InputError& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
