// Whatever a cache file holds, reading it ends in nothing or in a record that is written and read back as it
// is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "workloads/pricing/curve_store.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const TransformerModel model{"", 4, 1024, 16, 512};
  const auto record =
      parse_curve_record(std::string(reinterpret_cast<const char*>(data), size), "key", model, 16);
  if (!record) return 0;
  for (const auto& [num_gpus, found] : *record) {
    if (found && found->plan.num_gpus().value != num_gpus) std::abort();
  }
  const std::string text = format_curve_record("key", *record);
  const auto again = parse_curve_record(text, "key", model, 16);
  if (!again || again->size() != record->size()) std::abort();
  if (format_curve_record("key", *again) != text) std::abort();
  return 0;
}
