/// Lists of outages: any bytes are read or refused. Outages that were read are equal after writing and
/// reading them.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sched/disruption/outage.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int32_t kNodes = 100;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto outages = vtrain::parse_outages(text, "outages.csv", kNodes);
  if (!outages) {
    if (outages.error().message.empty()) std::abort();
    return 0;
  }
  for (const vtrain::Outage& outage : *outages) {
    if (outage.node.value >= kNodes || outage.end <= outage.begin) std::abort();
  }
  const auto again = vtrain::parse_outages(vtrain::outages_to_csv(*outages), "again.csv", kNodes);
  if (!again || *again != *outages) std::abort();
  return 0;
}
