#include "policies/list/gittins_index.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

std::string error_of(const std::string& spec) {
  const auto policy = make_policy(spec);
  REQUIRE_FALSE(policy);
  return policy.error().describe();
}

}  // namespace

TEST_CASE("gittins: the index by hand") {
  // Sample 10, 20, 100, 200; delta 50. In units of 1e-4.
  const GittinsIndex index({200, 10, 100, 20}, 50);
  // Up to 10: v = 10, a = 9, i = 0, k = #(d <= 59) = 2. P = 2/4, E = (10 + 20 + 50 x 2) / 4 = 32.5, G = 0.5e6
  // / 32.5 = 15384.6154.
  CHECK(index.rank(0) == 153'846'154);
  CHECK(index.rank(9.5) == 153'846'154);
  // v = 20, a = 19, i = 1, k = #(d <= 69) = 2. P = 1/3 = 0.33333, E = (20 + 50 x 2) / 3 = 40, G = 8333.25.
  CHECK(index.rank(10) == 83'332'500);
  // v = 100, a = 99, i = 2, k = #(d <= 149) = 3. P = 1/2, E = (100 + 50) / 2 = 75, G = 6666.6667.
  CHECK(index.rank(20) == 66'666'667);
  // v = 200, a = 199, i = 3; 249 > 199, so k = n - 1 = 3. P = 0.
  CHECK(index.rank(100) == 0);
  CHECK(index.rank(200) == 0);
  CHECK(index.rank(1e12) == 0);
}

TEST_CASE("gittins: the rank of a growing service is that of the service") {
  RandomStream random(1);
  std::vector<double> sample;
  for (int i = 0; i < 300; ++i)
    sample.push_back(static_cast<double>(1 + random.below(1000)));
  const GittinsIndex index(sample, 50);
  for (int job = 0; job < 100; ++job) {
    std::uint32_t passed = 0;
    const auto most = 1 + random.below(200);
    for (double service = 0; service < 1200; service += static_cast<double>(random.below(most)))
      CHECK(index.rank(service, passed) == index.rank(service));
  }
}

TEST_CASE("gittins: a job about to end goes before one that has outlived the sample") {
  const TemporaryFolder folder;
  // Jobs take 10 s or very long. Threshold far away, so that all stay in queue 0.
  const std::string sample = folder.write("sample.csv", "duration\n10\n10\n10\n100000\n").string();
  const std::string spec = "gittins:delta=20,queues=1000000,distribution=" + sample;
  // By 20 the first job has run for 20 s and its index has fallen; the second, fresh, takes the GPUs when it
  // arrives.
  const auto result = replay(make_workload({{0, 50, 1}, {20, 10, 1}}), "1x1", spec);
  CHECK(result.outcomes[1].start == at(20));
  CHECK(result.outcomes[0].preemptions == 1);
  CHECK(result.outcomes[0].end == at(60));
}

TEST_CASE("gittins: within equal indices the earlier submission goes first") {
  const TemporaryFolder folder;
  const std::string sample = folder.write("sample.csv", "5\n").string();
  const auto result =
      replay(make_workload({{0, 50, 1}, {20, 10, 1}, {21, 10, 1}}), "1x1", "gittins:distribution=" + sample);
  CHECK(result.outcomes[0].end == at(50));
  CHECK(result.outcomes[1].end == at(60));
  CHECK(result.outcomes[2].end == at(70));
}

TEST_CASE("gittins: jobs that came together and tie stand as they did when they last differed") {
  const TemporaryFolder folder;
  const std::string sample = folder.write("sample.csv", "10\n20\n100\n200\n").string();
  // At 5, when job 2 comes, job 0 has held 10 GPU-seconds and its index is below that of job 1. At 110 both
  // have outlived the sample: job 3 and job 1 take GPUs before job 0, for which there are too few.
  const auto result = replay(make_workload({{0, 1000, 2}, {0, 1000, 1}, {5, 1, 1}, {110, 10, 2}}), "1x4",
                             "gittins:timer=exact,queues=1000000,delta=50,distribution=" + sample);
  CHECK(result.outcomes[0].preemptions == 1);
  CHECK(result.outcomes[1].preemptions == 0);
  CHECK(result.outcomes[3].start == at(110));
}

TEST_CASE("gittins: the same if they left a queue meanwhile") {
  const TemporaryFolder folder;
  const std::string sample = folder.write("sample.csv", "10\n20\n100\n200\n").string();
  // Job 1 leaves the first queue at 10 and job 0 at 20; at 60, when job 2 comes, job 1 has outlived the
  // sample and job 0 has not; at 110 both have.
  const auto result = replay(make_workload({{0, 1000, 1}, {0, 1000, 2}, {60, 1, 1}, {110, 10, 2}}), "1x4",
                             "gittins:queues=20,delta=50,distribution=" + sample);
  CHECK(result.outcomes[0].preemptions == 0);
  CHECK(result.outcomes[1].preemptions == 1);
}

TEST_CASE("gittins: passes in which all jobs find room may be skipped") {
  const TemporaryFolder folder;
  RandomStream random(2);
  std::string sample;
  for (int i = 0; i < 200; ++i)
    sample += std::to_string(1 + random.below(400)) + "\n";
  const std::string spec =
      "gittins:delta=30,queues=50;200,distribution=" + folder.write("sample.csv", sample).string();
  for (std::uint64_t seed = 1; seed <= rounds(20); ++seed) {
    CAPTURE(seed);
    std::vector<JobLine> lines;
    std::int64_t submit_s = 0;
    for (int i = 0; i < 300; ++i) {
      submit_s += static_cast<std::int64_t>(random.below(3) == 0 ? random.below(60) : 0);
      lines.push_back({submit_s, static_cast<std::int64_t>(1 + random.below(100)),
                       static_cast<std::int32_t>(1 + random.below(5))});
    }
    Workload workload = make_workload(lines);
    const SimulationResult skipping = replay(workload, "4x8:a", spec);
    // No pass is skipped where jobs ask for types of GPUs.
    for (Job& job : workload.jobs)
      job.gpu_type = workload.gpu_type("a");
    check_same_outcomes(skipping, replay(workload, "4x8:a+1x8:b", spec));
  }
}

TEST_CASE("gittins: the sample must be there and hold positive numbers") {
  CHECK(error_of("gittins").find("gittins:distribution: expected a file") == 0);
  CHECK(error_of("gittins:distribution=/nonexistent").find("/nonexistent") != std::string::npos);
  CHECK(error_of("gittins:delta=0,distribution=x").find("gittins:delta: expected") == 0);
  CHECK(error_of("gittins:delta=nan,distribution=x").find("gittins:delta: expected") == 0);
  const TemporaryFolder folder;
  for (const std::string content :
       {"duration\n5\nx\n", "duration\n5\n-1\n", "duration\n5\n0\n", "5\n6\nnan\n"}) {
    const std::string sample = folder.write("sample.csv", content).string();
    const std::string error = error_of("gittins:distribution=" + sample);
    CAPTURE(error);
    CHECK(error.find(sample + ":3: duration: expected a number above 0, found '") == 0);
  }
  const std::string marked = folder
                                 .write("marked.csv",
                                        "\xef\xbb\xbf"
                                        "duration\r\n\n5\n")
                                 .string();
  CHECK(make_policy("gittins:distribution=" + marked));
  const std::string empty = folder.write("empty.csv", "duration\n").string();
  CHECK(error_of("gittins:distribution=" + empty).find("at least one duration") != std::string::npos);
}

}  // namespace vtrain::testing
