#include <cstdint>
#include <cstdlib>

#include "traces/formats/auxiliary_file.hpp"

/// Checks that any bytes give a file with a name and a count, or nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = vtrain::recognise_auxiliary_file({reinterpret_cast<const char*>(data), size});
  if (file && (file->what.empty() || file->count < 0 || file->num_jobs < 0)) std::abort();
  return 0;
}
