#include "profiler/bus_bandwidth.hpp"

#include <cstddef>

namespace vtrain::profiler {

std::string_view name_of(Collective collective) {
  constexpr std::string_view kNames[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                                         "send_recv"};
  return kNames[static_cast<std::size_t>(collective)];
}

double algorithm_bandwidth(double bytes, double time_ns) {
  return bytes / time_ns * 1e9;
}

double bus_bandwidth(Collective collective, std::int64_t num_gpus, double bytes, double time_ns) {
  const auto gpus = static_cast<double>(num_gpus);
  const double share = (gpus - 1) / gpus;
  const double factor = collective == Collective::SendRecv    ? 1
                        : collective == Collective::AllReduce ? 2 * share
                                                              : share;
  return factor * algorithm_bandwidth(bytes, time_ns);
}

}  // namespace vtrain::profiler
