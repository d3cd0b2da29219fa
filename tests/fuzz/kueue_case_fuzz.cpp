// Any bytes give an error with a message, or an answer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/experiment/kueue_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document =
      vtrain::JsonDocument::parse(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!document || !vtrain::states_kueue_case(*document)) return 0;
  const auto answer = vtrain::decide_kueue_case(*document);
  if (!answer && answer.error().message.empty()) std::abort();
  if (answer && !answer->is_object()) std::abort();
  return 0;
}
