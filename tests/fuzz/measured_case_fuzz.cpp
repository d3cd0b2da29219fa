// Any bytes give an error with a message, or cases that say what they lack or can be predicted.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "workloads/physical/memory_model.hpp"
#include "workloads/validation/measured_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const auto cases = parse_measured_cases(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!cases) {
    if (cases.error().message.empty()) std::abort();
    return 0;
  }
  static const GpuProfile profile = load_gpu_profile("a100").value();
  for (const MeasuredCase& measured : cases->cases) {
    if (!std::isfinite(measured.measured.count())) std::abort();
    if (!measured.missing.empty()) continue;
    if (measured.configuration().empty() || !(measured.measured.count() > 0)) std::abort();
    if (!measured.has_micro_batch) continue;
    if (!check_plan(measured.model, measured.plan)) std::abort();
    const auto memory = estimate_memory(measured.model, measured.plan, profile, measured.stack.memory);
    if (!(memory.peak.value > 0) || !std::isfinite(memory.peak.value)) std::abort();
  }
  return 0;
}
