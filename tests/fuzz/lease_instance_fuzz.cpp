/// Situations of `vtrain decide`: any bytes are read as a program within the limits, or refused with a
/// reason.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/utf8.hpp"
#include "tools/experiment/decision.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  const auto program =
      vtrain::parse_lease_instance({reinterpret_cast<const char*>(data), size}, "instance.json");
  if (!program) {
    require(!program.error().message.empty() && vtrain::is_printable(program.error().describe()));
    return 0;
  }
  require(!program->options.empty() && program->gpus.value >= 0);
  std::int64_t num_variables = 0;
  std::uint32_t last_job = 0;
  for (const vtrain::LeaseOption& option : program->options) {
    require(option.num_gpus.value >= 1 && option.required_leases >= 1 && option.value >= 0);
    require(option.job == last_job || option.job == last_job + 1);
    last_job = option.job;
    num_variables += 1 + (option.max_lease > 0 ? option.max_lease : 0);
  }
  require(num_variables <= vtrain::kMostDecisionVariables);
  // The greedy plan keeps the rules of a program that may leave jobs out.
  vtrain::LeaseProgram relaxed = *program;
  relaxed.must_serve = false;
  if (num_variables <= 10'000) require(vtrain::is_feasible(relaxed, vtrain::pack_leases(relaxed)));
  return 0;
}
