// Any bytes give an error with a message, or reservations that end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policies/tenants/slurm/reservation_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  vtrain::slurm::Configuration conf;
  conf.nodes = {{.name = "n0"}, {.name = "n1"}};
  const auto read = vtrain::slurm::parse_reservations(text, "input", conf);
  if (!read && read.error().message.empty()) std::abort();
  return 0;
}
