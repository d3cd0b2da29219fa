/// Backfilling schedules of Batsim 4.1.0 with batsched 1.4. All times are whole seconds, so that the
/// tolerance is 0.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/shared_data.hpp"
#include "tests/unit/policies/golden_support.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {
namespace {

/// What batsched makes of the 480 synthetic jobs on 64 hosts.
struct PeerRun {
  std::string variant;  ///< batsched's variant and queue order, as in the names of the files
  std::string policy;   ///< the policy that reproduces it
  double mean_jct_s;    ///< to two decimals, with wall times 1 s above the durations ("tight")
  double makespan_s;    ///< the same
};

const std::vector<PeerRun> kPeerRuns = {
    {"easy_bf_fast-fcfs", "easy-fast", 25804.32, 416540},
    {"easy_bf-fcfs", "easy", 24965.15, 421128},
    {"easy_bf-asc_walltime", "easy:order=asc-walltime", 11643.60, 424745},
    {"conservative_bf-fcfs", "conservative", 23904.86, 410665},
};

}  // namespace

TEST_CASE("batsim golden: start and end of every job of every backfilling schedule on file") {
  if (!have(golden_folder() / "batsim")) return;
  const auto folder = golden_folder() / "batsim";
  int num_schedules = 0;
  for (const std::string wall_times : {"over", "tight"}) {
    const auto trace = folder / ("syn480_" + wall_times + ".json");
    if (!std::filesystem::exists(trace)) continue;
    const Workload workload = read_batsim_workload(trace);
    for (const PeerRun& peer : kPeerRuns) {
      const auto file = folder / "out" / (wall_times + "-" + peer.variant + "_jobs.csv");
      if (!std::filesystem::exists(file)) continue;
      CAPTURE(file.string());
      const auto schedule = read_schedule(file, "job_id", "starting_time", "finish_time");
      CHECK(schedule.size() == 480);
      CHECK(count_mismatches(workload, replay(workload, "8x8", peer.policy), schedule) == 0);
      ++num_schedules;
    }
  }
  CHECK(num_schedules >= 4);
}

TEST_CASE("batsim golden: mean JCT and makespan with wall times 1 s above the durations") {
  if (!have(golden_folder() / "batsim")) return;
  Workload workload = read_tiresias_trace(golden_folder() / "tiresias" / "syn480.csv");
  for (Job& job : workload.jobs)
    job.requested_time = job.duration + std::chrono::seconds(1);
  for (const PeerRun& peer : kPeerRuns) {
    CAPTURE(peer.policy);
    const SimulationResult result = replay(workload, "8x8", peer.policy);
    SimDuration sum{0};
    SimTime last_end{};
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      sum += result.outcomes[i].end - workload.jobs[i].submit;
      last_end = std::max(last_end, result.outcomes[i].end);
    }
    const double mean_jct_s = to_seconds(sum) / static_cast<double>(workload.jobs.size());
    CHECK(std::round(mean_jct_s * 100) / 100 == doctest::Approx(peer.mean_jct_s).epsilon(1e-12));
    // The first job is submitted at 0.
    CHECK(to_seconds(last_end) == peer.makespan_s);
  }
}

}  // namespace vtrain::testing
