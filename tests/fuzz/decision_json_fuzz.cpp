// Any bytes give an error with a message, or values that read back as they are written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sched/simulation/decision_json.hpp"

namespace {

template <class Parse>
void check(Parse parse, const std::string& text) {
  const auto value = parse(text, "input");
  if (!value) {
    if (value.error().message.empty()) std::abort();
    return;
  }
  const auto again = parse(vtrain::to_json(*value), "input");
  if (!again || *again != *value) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(vtrain::parse_pass_events, text);
  check(vtrain::parse_decision, text);
  check(vtrain::parse_cluster_view, text);
  return 0;
}
