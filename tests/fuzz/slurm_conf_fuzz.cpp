// Any bytes give an error with a message, or a configuration.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policies/tenants/slurm/configuration.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  vtrain::slurm::TresNames names;
  const auto read = vtrain::slurm::parse_configuration(text, "input", names);
  if (!read && read.error().message.empty()) std::abort();
  return 0;
}
