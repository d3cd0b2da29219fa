/// Schedules of the Tiresias simulator (commit 959f9b0) and of Batsim 4.1.0 with batsched 1.4, job by job.
/// All times are whole seconds, so that the tolerance is 0.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sched/metrics.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/unit/policies/golden_support.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {
namespace {

/// A schedule of the peer and the policy that reproduces it. In the order of trial: a longer name before its
/// own ending.
struct PeerSchedule {
  std::string name;
  std::string policy;
};

std::vector<PeerSchedule> peer_schedules() {
  const std::string sample = (golden_folder() / "tiresias" / "yarn-gput1000.csv").string();
  return {{"dlas-gpu-gittins", "gittins:timer=peer,distribution=" + sample},
          {"shortest-gpu", "srsf"},
          {"dlas-gpu", "las:attained=gpu-time,timer=peer"},
          {"shortest", "srtf"},
          {"dlas", "las:attained=time,timer=peer"},
          {"fifo", "fifo"},
          {"fjf", "fit-first"},
          {"sjf", "sjf"}};
}

std::string policy_of(const std::string& peer) {
  for (const PeerSchedule& schedule : peer_schedules()) {
    if (schedule.name == peer) return schedule.policy;
  }
  FAIL("no policy stands for " << peer);
  return {};
}

std::string cluster_of(const std::string& trace) {
  return trace == "60_job" ? "2x8" : "8x8";
}

}  // namespace

TEST_CASE("tiresias golden: start and end of every job of every schedule on file") {
  if (!have(golden_folder() / "tiresias")) return;
  const auto folder = golden_folder() / "tiresias";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  for (const auto& file : files) {
    // <trace>-<cluster>-<schedule>-<placement>.csv
    const std::string name = file.stem().string();
    CAPTURE(name);
    const std::size_t first = name.find('-');
    const std::size_t second = name.find('-', first + 1);
    const std::size_t last = name.rfind('-');
    REQUIRE(last > second);
    const auto placement = parse_placement(name.substr(last + 1));
    REQUIRE(placement);
    const Workload workload = read_tiresias_trace(folder / (name.substr(0, first) + ".csv"));
    const auto schedule = read_schedule(file, "job_id", "start_time", "end_time");
    CHECK(schedule.size() == workload.jobs.size());
    const auto result =
        replay(workload, name.substr(first + 1, second - first - 1) == "n2g8" ? "2x8" : "8x8",
               policy_of(name.substr(second + 1, last - second - 1)), {.placement = *placement});
    CHECK(count_mismatches(workload, result, schedule) == 0);
  }
}

TEST_CASE("tiresias golden: mean JCT and makespan of every case") {
  if (!have(golden_folder() / "tiresias")) return;
  struct Case {
    std::string schedule;
    PlacementKind placement;
    double mean_jct_s[2];  ///< 60_job, syn480; to 0.01 s
    double makespan_s[2];
  };
  constexpr PlacementKind kCount = PlacementKind::Count;
  constexpr PlacementKind kYarn = PlacementKind::Yarn;
  const Case cases[] = {{"fifo", kCount, {200.82, 85287.54}, {3335, 493347}},
                        {"fifo", kYarn, {227.23, 98906.66}, {3357, 524125}},
                        {"fjf", kCount, {190.68, 19472.42}, {3271, 411237}},
                        {"fjf", kYarn, {248.55, 21320.71}, {3271, 425880}},
                        {"sjf", kCount, {198.20, 20015.90}, {3271, 455620}},
                        {"shortest", kCount, {192.12, 9316.36}, {3271, 417279}},
                        {"shortest-gpu", kCount, {195.90, 9855.84}, {3315, 442409}},
                        {"dlas", kCount, {190.68, 12918.65}, {3271, 421461}},
                        {"dlas-gpu", kCount, {190.68, 16969.29}, {3271, 441089}},
                        {"dlas-gpu-gittins", kCount, {219.05, 13540.65}, {3271, 418721}}};
  const std::string traces[] = {"60_job", "syn480"};
  for (int t = 0; t < 2; ++t) {
    const Workload workload = read_tiresias_trace(golden_folder() / "tiresias" / (traces[t] + ".csv"));
    const auto cluster = ClusterSpec::parse(cluster_of(traces[t]));
    REQUIRE(cluster);
    for (const Case& expected : cases) {
      CAPTURE(traces[t]);
      CAPTURE(expected.schedule);
      const auto result = replay(workload, cluster_of(traces[t]), policy_of(expected.schedule),
                                 {.placement = expected.placement});
      const Summary summary = summarize(workload, *cluster, result, expected.schedule);
      constexpr double kRounding = 0.005 + 1e-9;  // of two decimals
      CHECK(std::abs(summary.avg_jct_s - expected.mean_jct_s[t]) <= kRounding);
      CHECK(summary.makespan_s == expected.makespan_s[t]);
    }
  }
}

TEST_CASE("batsim golden: fcfs and filler, start and end of every job") {
  const auto folder = golden_folder() / "batsim";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: " << folder.string() << " absent");
    return;
  }
  for (const std::string variant : {"over", "tight"}) {
    const auto trace = folder / ("syn480_" + variant + ".json");
    if (!std::filesystem::exists(trace)) continue;
    const Workload workload = read_batsim_workload(trace);
    for (const PeerSchedule& peer :
         {PeerSchedule{"fcfs_fast-fcfs", "fifo"}, PeerSchedule{"filler-fcfs", "fit-first"}}) {
      const auto file = folder / "out" / (variant + "-" + peer.name + "_jobs.csv");
      CAPTURE(file.string());
      if (!std::filesystem::exists(file)) continue;
      const auto schedule = read_schedule(file, "job_id", "starting_time", "finish_time");
      CHECK(schedule.size() == workload.jobs.size());
      CHECK(count_mismatches(workload, replay(workload, "64x1", peer.policy), schedule) == 0);
    }
  }
}

}  // namespace vtrain::testing
