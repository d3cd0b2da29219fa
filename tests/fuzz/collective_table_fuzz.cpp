#include <cstdint>
#include <cstdlib>

#include "core/kernels/collective_cost.hpp"

/// Checks that any bytes give an error with a message, or a table with a time for every size.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = vtrain::AllReduceTable::parse({reinterpret_cast<const char*>(data), size}, "input");
  if (!table) {
    if (table.error().message.empty()) std::abort();
    return 0;
  }
  for (const double bytes : {0.0, 1.0, 1.5e6, 1073741824.0, 1e15}) {
    if (!(vtrain::vtrain_release::table_time(*table, vtrain::Bytes(bytes)).time.count() >= 0)) std::abort();
  }
  return 0;
}
