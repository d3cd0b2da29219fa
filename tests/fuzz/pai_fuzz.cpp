#include "tests/fuzz/check_trace.hpp"
#include "traces/formats/formats.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [jobs, tasks, tags] = vtrain::split_tables<3>(data, size);
  return vtrain::check_joined(vtrain::join_pai_tables(
      {.text = jobs, .file = "jobs"}, {.text = tasks, .file = "tasks"}, {.text = tags, .file = "tags"}));
}
