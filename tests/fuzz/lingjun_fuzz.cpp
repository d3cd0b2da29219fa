#include "tests/fuzz/check_trace.hpp"
#include "traces/formats/formats.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [jobs, workers] = vtrain::split_tables<2>(data, size);
  return vtrain::check_joined(
      vtrain::join_lingjun_tables({.text = jobs, .file = "jobs"}, workers, "workers"));
}
