/// What the tests of policies ask of whole replays.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "sched/simulator.hpp"

namespace vtrain::testing {

/// The recorded runs never hold more GPUs together than the cluster's `total_gpus`, and give all of them
/// back.
inline void check_gpus_in_use(const SimulationResult& result, std::int64_t total_gpus) {
  std::map<SimTime, std::int64_t> change;  // of GPUs in use
  for (const JobRun& run : result.runs) {
    change[run.begin] += run.num_gpus.value;
    change[run.end] -= run.num_gpus.value;
  }
  std::int64_t in_use = 0;
  for (const auto& [time, gpus] : change) {
    in_use += gpus;
    REQUIRE(in_use >= 0);
    REQUIRE(in_use <= total_gpus);
  }
  REQUIRE(in_use == 0);
}

/// Two replays had the same events and did the same for every job.
inline void check_same(const SimulationResult& a, const SimulationResult& b) {
  REQUIRE(a.events == b.events);
  REQUIRE(a.samples.size() == b.samples.size());
  for (std::size_t i = 0; i < a.outcomes.size(); ++i) {
    REQUIRE(a.outcomes[i].start == b.outcomes[i].start);
    REQUIRE(a.outcomes[i].end == b.outcomes[i].end);
    REQUIRE(a.outcomes[i].gpu_time == b.outcomes[i].gpu_time);
    REQUIRE(a.outcomes[i].preemptions == b.outcomes[i].preemptions);
    REQUIRE(a.outcomes[i].failures == b.outcomes[i].failures);
    REQUIRE(a.outcomes[i].state == b.outcomes[i].state);
  }
}

}  // namespace vtrain::testing
