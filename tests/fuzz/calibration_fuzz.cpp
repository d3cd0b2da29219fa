// Any bytes give an error with a message, or a calibration that reads back as it is written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "workloads/calibration/calibration.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const auto calibration = parse_calibration(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!calibration) {
    if (calibration.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text = calibration_json(*calibration);
  const auto again = parse_calibration(text, "input");
  if (!again || again->stacks.size() != calibration->stacks.size()) std::abort();
  for (const CalibratedStack& stack : calibration->stacks) {
    if (again->factors(stack.stack, stack.profile) != calibration->factors(stack.stack, stack.profile))
      std::abort();
  }
  return 0;
}
