#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "profiler/error.hpp"
#include "profiler/kernel_table.hpp"

/// Any bytes are refused with a message, or are a table that reads back as what it is written as.
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
