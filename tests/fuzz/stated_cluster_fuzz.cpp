/// States of clusters: any bytes are refused with a reason, or read as a state from which a simulation runs
/// to its end.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/utf8.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/stated_cluster.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A cluster may be the name of a file, which is not to be read here.
  if (text.find_first_of("/\\") != std::string_view::npos || text.find("\"-\"") != std::string_view::npos)
    return 0;
  auto stated = vtrain::parse_stated_cluster(std::string(text), "state.json");
  if (!stated) {
    require(!stated.error().message.empty() && vtrain::is_printable(stated.error().describe()));
    return 0;
  }
  const std::size_t num_jobs = stated->workload.jobs.size();
  require(stated->state.jobs.size() == num_jobs);
  if (stated->cluster.total_gpus().value > 10'000) return 0;
  for (const char* const name : {"fifo", "srtf", "easy"}) {
    // A simulation takes the workload.
    auto again = vtrain::parse_stated_cluster(std::string(text), "state.json");
    const auto policy = vtrain::make_policy(name);
    auto simulation =
        vtrain::Simulation::begin(std::move(again->workload), again->cluster, **policy,
                                  {.placement = again->placement, .policy_name = name}, again->state);
    require(simulation.has_value());
    // Jobs one after another may take longer than the clock can tell.
    const auto result = simulation->finish();
    require(!result || result->outcomes.size() == num_jobs);
  }
  return 0;
}
