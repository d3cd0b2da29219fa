#include <doctest/doctest.h>

#include <vector>

#include "policies/registry.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/backfill_references.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {

TEST_CASE("conservative: nobody overtakes at the cost of any reservation") {
  // 8 GPUs. Job 0 holds 6 until 10, job 1 is promised 8 for 10-15, job 2 is promised 7 for 15-25. Job 3 (1
  // GPU, 12 s) would fit until 14 but for job 1; from 15 on it fits beside job 2. Job 4 fits until 10.
  const std::vector<JobLine> jobs = {{0, 10, 6}, {1, 5, 8}, {1, 10, 7}, {2, 12, 1}, {3, 7, 2}};
  CHECK(start_times_s(jobs, "conservative") == std::vector<double>{0, 10, 15, 15, 3});
}

TEST_CASE("conservative: an early end moves reservations forward") {
  // Job 0 may run until 100 and ends at 10. Job 1 was promised 100 and starts at 10; job 2 was promised 105
  // and starts at 15.
  const std::vector<JobLine> jobs = {
      {.duration_s = 10, .num_gpus = 8, .requested_s = 100}, {1, 5, 8}, {2, 5, 8}};
  CHECK(start_times_s(jobs, "conservative") == std::vector<double>{0, 10, 15});
}

TEST_CASE("conservative: the same schedules as renewing every reservation at every end") {
  std::vector<SimTime> promises;
  check_against_reference("conservative:planning=hosts",
                          [&promises] { return reference_conservative(promises); });
}

TEST_CASE("conservative: the schedules of the textbook, computed anew in every pass") {
  std::vector<SimTime> promises;
  check_against_reference(
      "conservative", [&promises] { return textbook_conservative(promises); }, 150);
}

TEST_CASE("conservative: the same schedules where the queue is often empty") {
  for (const Walltimes walltimes : {Walltimes::Exact, Walltimes::Over}) {
    for (std::uint64_t seed = 1; seed <= rounds(10); ++seed) {
      CAPTURE(seed);
      Workload workload = random_workload(seed, 200, 32, walltimes);
      for (Job& job : workload.jobs)
        job.submit = SimTime(job.submit.time_since_epoch() * 4);
      const ClusterSpec cluster = ClusterSpec::parse("8x8").value();
      std::vector<SimTime> promises;
      check_same_outcomes(replay(workload, cluster, "conservative:planning=hosts"),
                          replay(workload, cluster, *reference_conservative(promises)));
      check_same_outcomes(replay(workload, cluster, "conservative"),
                          replay(workload, cluster, *textbook_conservative(promises)));
    }
  }
}

TEST_CASE("conservative: no job starts later than first promised") {
  for (const Walltimes walltimes : {Walltimes::Exact, Walltimes::Over}) {
    int num_waits = 0;
    for (std::uint64_t seed = 1; seed <= rounds(10); ++seed) {
      CAPTURE(seed);
      const Workload workload = random_workload(seed, 150, 64, walltimes);
      std::vector<SimTime> promises;
      replay(workload, ClusterSpec::parse("8x8").value(), *textbook_conservative(promises));
      const SimulationResult result = replay(workload, "8x8", "conservative");
      REQUIRE(promises.size() == workload.jobs.size());
      for (std::size_t i = 0; i < promises.size(); ++i) {
        // With exact time limits nothing ever frees a place before its time, so a promise is also never
        // bettered.
        const bool kept = walltimes == Walltimes::Exact ? result.outcomes[i].start == promises[i]
                                                        : result.outcomes[i].start <= promises[i];
        CHECK(kept);
        if (promises[i] > workload.jobs[i].submit) ++num_waits;
      }
    }
    CHECK(num_waits >= 100);
  }
}

TEST_CASE("conservative: every job ends though gangs find no room among enough free GPUs") {
  check_all_end_under_yarn("conservative");
  check_all_end_under_yarn("conservative:planning=hosts");
}

TEST_CASE("conservative: nothing is promised on GPUs that are out of service") {
  // While node 1 is out job 1 has no slot, and job 2 is promised node 0 from the end of job 0 on.
  const Workload workload = make_workload({{0, 100, 1}, {20, 10, 2}, {30, 50, 1}});
  Disruptions disruptions;
  disruptions.outages = {{NodeId(1), OutageKind::Failure, at(10), at(1000)}};
  const auto result = replay(workload, "2x1", "conservative",
                             {.placement = PlacementKind::Yarn, .disruptions = &disruptions});
  CHECK(result.outcomes[2].start == at(100));
  CHECK(result.outcomes[1].start == at(1000));
}

TEST_CASE("conservative: time limits beyond the end of time are no obstacle") {
  Workload workload = make_workload({{0, 10, 8}, {0, 10, 8}, {1, 10, 8}, {2, 10, 1}});
  for (Job& job : workload.jobs)
    job.requested_time = SimDuration::max();
  const SimulationResult result = replay(workload, "1x8", "conservative");
  CHECK(all_ended(result));
}

}  // namespace vtrain::testing
