/// Policies that promise deadlines keep them when a simulation goes on from a state.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/replay_checks.hpp"

namespace vtrain::testing {
namespace {

const std::vector<ElasticShape> kShapes = {
    {.num_jobs = 80, .gap_s = 60},
    {.num_jobs = 80, .gap_s = 100, .best_effort_of_4 = 0, .rigid_of_4 = 4},
    {.num_jobs = 80, .gap_s = 40, .rigid_of_4 = 2},
    {.num_jobs = 80, .gap_s = 60, .best_effort_of_4 = 0, .rigid_of_4 = 2, .short_of_4 = 3}};

constexpr const char* kSpecs[] = {"deadline", "deadline:late=run", "deadline:margin=0.5", "elasticflow",
                                  "elasticflow:slot=7s"};

/// A simulation with what it refers to.
struct Begun {
  std::unique_ptr<Policy> policy;
  Disruptions disruptions{};
  std::optional<Simulation> simulation{};

  Begun(Workload workload, const std::string& spec, const std::string& cluster, PlacementKind placement,
        const std::string& cost, const SimulationState& state = {})
      : policy(*make_policy(spec)) {
    const ClusterSpec nodes = *ClusterSpec::parse(cluster);
    disruptions.interruption_cost = InterruptionCost(*InterruptionRule::parse(cost), nodes.total_gpus());
    auto begun =
        Simulation::begin(std::move(workload), nodes, *policy,
                          {.placement = placement, .policy_name = spec, .disruptions = &disruptions}, state);
    REQUIRE_MESSAGE(begun, begun.error().describe());
    simulation.emplace(*std::move(begun));
  }
  void run_until(SimTime time) {
    const auto ran = simulation->run_until(time);
    REQUIRE_MESSAGE(ran, ran.error().describe());
  }
  SimulationResult finish() {
    auto result = simulation->finish();
    REQUIRE_MESSAGE(result, result.error().describe());
    return *std::move(result);
  }
};

/// The live jobs of a simulation and those that are to come, and their ids.
std::pair<Workload, std::vector<JobId>> rest_of(const Begun& first, SimTime middle) {
  const Workload& all = first.simulation->workload();
  std::vector<JobId> kept = first.simulation->live();
  for (std::uint32_t i = 0; i < all.jobs.size(); ++i) {
    if (all.jobs[i].submit > middle) kept.emplace_back(i);
  }
  Workload rest = all.copy_with_texts_of_this();
  rest.jobs.clear();
  for (const JobId job : kept)
    rest.jobs.push_back(all.jobs[job.value]);
  return {std::move(rest), std::move(kept)};
}

}  // namespace

TEST_CASE("promises: a simulation that begins in the middle of a replay goes on exactly like it") {
  std::int64_t promises = 0;
  for (const std::string spec : kSpecs) {
    for (const char* const cluster : {"4x4:a100", "2x4:a100+2x4:h100"}) {
      for (const PlacementKind placement :
           {PlacementKind::Count, PlacementKind::Consolidate, PlacementKind::Yarn}) {
        for (const char* const cost : {"none", "30s"}) {
          for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
            for (std::uint64_t seed = 1; seed <= rounds(2); ++seed) {
              CAPTURE(spec);
              CAPTURE(cluster);
              CAPTURE(info_of(placement).name);
              CAPTURE(cost);
              CAPTURE(shape);
              CAPTURE(seed);
              const Workload workload = random_elastic_workload(seed, kShapes[shape]);
              const SimulationResult whole =
                  Begun(workload.copy_with_texts_of_this(), spec, cluster, placement, cost).finish();
              RandomStream random(seed, "middle");
              const SimTime middle = workload.jobs[random.below(workload.jobs.size())].submit +
                                     SimDuration(static_cast<std::int64_t>(random.below(90'000'000'000)));
              Begun first(workload.copy_with_texts_of_this(), spec, cluster, placement, cost);
              first.run_until(middle);
              const SimulationState state = first.simulation->state();
              auto [rest, kept] = rest_of(first, middle);
              const SimulationResult result =
                  Begun(std::move(rest), spec, cluster, placement, cost, state).finish();
              for (std::size_t i = 0; i < kept.size(); ++i) {
                const JobOutcome& expected = whole.outcomes[kept[i].value];
                const JobOutcome& found = result.outcomes[i];
                const std::uint32_t number = kept[i].value;
                CAPTURE(number);
                REQUIRE(found.state == expected.state);
                REQUIRE(found.start == expected.start);
                REQUIRE(found.end == expected.end);
                REQUIRE(found.finished == expected.finished);
                REQUIRE(found.promised == expected.promised);
                REQUIRE(found.preemptions == expected.preemptions);
                REQUIRE(found.resizes == expected.resizes);
                REQUIRE(found.gpu_time == expected.gpu_time);
                promises += found.has_promise() ? 1 : 0;
              }
            }
          }
        }
      }
    }
  }
  CHECK(promises > enough(1'000));
}

TEST_CASE("promises: a state without memory still has nearly all of its promises kept") {
  // Nothing says how the GPUs were planned, so that new plans may not fit all promises.
  std::int64_t promises = 0;
  std::int64_t broken = 0;
  for (const std::string spec : kSpecs) {
    for (const char* const cost : {"none", "30s"}) {
      for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
        for (std::uint64_t seed = 1; seed <= rounds(4); ++seed) {
          CAPTURE(spec);
          CAPTURE(cost);
          CAPTURE(shape);
          CAPTURE(seed);
          const Workload workload = random_elastic_workload(seed, kShapes[shape]);
          const SimTime middle = workload.jobs[40].submit;
          Begun first(workload.copy_with_texts_of_this(), spec, "4x4:a100", PlacementKind::Count, cost);
          first.run_until(middle);
          SimulationState state = first.simulation->state();
          state.memory.reset();
          auto [rest, kept] = rest_of(first, middle);
          Begun second(std::move(rest), spec, "4x4:a100", PlacementKind::Count, cost, state);
          const SimulationResult result = second.finish();
          for (std::size_t i = 0; i < state.jobs.size(); ++i) {
            CAPTURE(i);
            REQUIRE(result.outcomes[i].state != JobState::Unfinished);
            if (!state.jobs[i].outcome.has_promise()) continue;
            ++promises;
            const bool kept_it = result.outcomes[i].state == JobState::Completed &&
                                 result.outcomes[i].finished <= workload.jobs[kept[i].value].deadline;
            broken += kept_it ? 0 : 1;
          }
        }
      }
    }
  }
  CAPTURE(broken);
  CAPTURE(promises);
  CHECK(promises > enough(300));
  CHECK(broken * 50 <= promises);
}

TEST_CASE("promises: with running=keep no job that runs without a deadline is stopped or resized") {
  std::int64_t kept_jobs = 0;
  std::int64_t promises = 0;
  for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Consolidate}) {
    for (const std::uint64_t rigid_of_4 : {0, 2}) {
      for (std::uint64_t seed = 1; seed <= rounds(10); ++seed) {
        CAPTURE(rigid_of_4);
        CAPTURE(seed);
        const Workload workload = random_elastic_workload(
            seed, {.num_jobs = 80, .gap_s = 60, .best_effort_of_4 = 3, .rigid_of_4 = rigid_of_4});
        const SimTime middle = workload.jobs[40].submit;
        Begun first(workload.copy_with_texts_of_this(), "deadline", "4x4:a100", placement, "30s");
        first.run_until(middle);
        SimulationState state = first.simulation->state();
        state.memory.reset();
        auto [rest, kept] = rest_of(first, middle);
        const SimulationResult result =
            Begun(std::move(rest), "deadline:running=keep", "4x4:a100", placement, "30s", state).finish();
        for (std::size_t i = 0; i < kept.size(); ++i) {
          CAPTURE(i);
          const JobOutcome& outcome = result.outcomes[i];
          if (i >= state.jobs.size() && outcome.has_promise()) {
            ++promises;
            REQUIRE(outcome.finished <= workload.jobs[kept[i].value].deadline);
          }
          if (i >= state.jobs.size() || state.jobs[i].outcome.state != JobState::Running) continue;
          if (workload.jobs[kept[i].value].has_deadline()) continue;
          ++kept_jobs;
          REQUIRE(outcome.state == JobState::Completed);
          REQUIRE(outcome.preemptions == state.jobs[i].outcome.preemptions);
          REQUIRE(outcome.resizes == state.jobs[i].outcome.resizes);
        }
        check_gpus_in_use(result, 16);
      }
    }
  }
  CHECK(kept_jobs > enough(60));
  CHECK(promises > enough(100));
}

TEST_CASE("promises: facts about other jobs break none") {
  std::int64_t promises = 0;
  std::int64_t facts = 0;
  for (const std::string spec : kSpecs) {
    for (const char* const cost : {"none", "30s"}) {
      for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
        for (std::uint64_t seed = 1; seed <= rounds(4); ++seed) {
          CAPTURE(spec);
          CAPTURE(cost);
          CAPTURE(shape);
          CAPTURE(seed);
          const Workload workload = random_elastic_workload(seed, kShapes[shape]);
          Begun run(workload.copy_with_texts_of_this(), spec, "4x4:a100", PlacementKind::Count, cost);
          RandomStream random(seed, "facts");
          std::vector<JobId> told;
          for (std::size_t i = 10; i < workload.jobs.size(); i += 5) {
            const SimTime time = workload.jobs[i].submit + SimDuration(1'234'567);
            run.run_until(time);
            const std::vector<JobId> live = run.simulation->live();
            if (live.empty()) continue;
            const JobId job = live[random.below(live.size())];
            const bool runs = run.simulation->outcome(job).state == JobState::Running;
            const Fact fact = runs && random.below(2) == 0 ? Fact(JobEnded{job}) : Fact(JobCancelled{job});
            REQUIRE(run.simulation->tell(time, fact));
            told.push_back(job);
            ++facts;
          }
          const SimulationResult result = run.finish();
          for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
            CAPTURE(i);
            const JobOutcome& outcome = result.outcomes[i];
            REQUIRE(outcome.state != JobState::Unfinished);
            const bool was_told = std::ranges::find(told, JobId(static_cast<std::uint32_t>(i))) != told.end();
            if (!outcome.has_promise() || was_told) continue;
            ++promises;
            REQUIRE(outcome.state == JobState::Completed);
            REQUIRE(outcome.finished <= workload.jobs[i].deadline);
          }
          check_gpus_in_use(result, 16);
        }
      }
    }
  }
  CHECK(facts > enough(500));
  CHECK(promises > enough(1'000));
}

}  // namespace vtrain::testing
