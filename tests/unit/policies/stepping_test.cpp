/// A simulation that runs in steps, receives facts or starts from a state must equal a replay.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "sched/simulation/stated_cluster.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/policy_specs.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr std::int32_t kTotalGpus = 20;
constexpr const char* kCluster = "2x8+1x4";
constexpr std::uint32_t kNodes = 3;
constexpr int kNumJobs = 120;
constexpr PlacementKind kPlacements[] = {PlacementKind::Count, PlacementKind::Yarn, PlacementKind::Buddy,
                                         PlacementKind::Consolidate};

/// Checks that all results of two simulations are equal.
void check_identical(const SimulationResult& a, const SimulationResult& b) {
  check_same(a, b);
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    REQUIRE(a.samples[i].time == b.samples[i].time);
    REQUIRE(a.samples[i].waiting_jobs == b.samples[i].waiting_jobs);
    REQUIRE(a.samples[i].gpus_in_use == b.samples[i].gpus_in_use);
  }
  REQUIRE(a.segments.size() == b.segments.size());
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    REQUIRE(a.segments[i].job == b.segments[i].job);
    REQUIRE(a.segments[i].begin == b.segments[i].begin);
    REQUIRE(a.segments[i].end == b.segments[i].end);
    REQUIRE(a.segments[i].parts == b.segments[i].parts);
  }
  REQUIRE(a.last_release == b.last_release);
  REQUIRE(a.outages.size() == b.outages.size());
}

SimulationOptions options_of(PlacementKind placement, const Disruptions* disruptions = nullptr) {
  return {
      .placement = placement, .record_segments = true, .policy_name = "tested", .disruptions = disruptions};
}

/// A policy and its simulation.
struct Stepped {
  std::unique_ptr<Policy> policy;
  std::optional<Simulation> simulation;

  Stepped(Workload workload, const std::string& spec, const SimulationOptions& options,
          const SimulationState& state = {})
      : policy(*make_policy(spec)) {
    auto begun =
        Simulation::begin(std::move(workload), *ClusterSpec::parse(kCluster), *policy, options, state);
    REQUIRE_MESSAGE(begun, begun.error().describe());
    simulation.emplace(*std::move(begun));
  }
  void run_until(SimTime time) {
    const auto ran = simulation->run_until(time);
    REQUIRE_MESSAGE(ran, ran.error().describe());
  }
  JobId submit(const Job& job) {
    const auto id = simulation->submit(std::string(job.name), job);
    REQUIRE_MESSAGE(id, id.error().describe());
    return *id;
  }
  void tell(SimTime time, const Fact& fact) {
    const auto told = simulation->tell(time, fact);
    REQUIRE_MESSAGE(told, told.error().describe());
  }
  SimulationResult finish() {
    auto result = simulation->finish();
    REQUIRE_MESSAGE(result, result.error().describe());
    return *std::move(result);
  }
};

Disruptions some_disruptions(std::uint64_t seed) {
  Disruptions disruptions;
  disruptions.seed = seed;
  disruptions.interruption_cost = InterruptionCost(*InterruptionRule::parse("3s"), GpuCount(kTotalGpus));
  disruptions.failures =
      *FailureRates::parse("mtbf=400s,shape=0.8,repair=10s,detect=1s", *ClusterSpec::parse(kCluster));
  return disruptions;
}

/// Random workloads whose times differ to the nanosecond, so that there are no ties.
Workload workload_without_ties(std::uint64_t seed) {
  RandomStream random(seed, "ties");
  Workload workload = random_workload(seed, kNumJobs, kTotalGpus, std::chrono::seconds(1));
  for (Job& job : workload.jobs) {
    job.duration += SimDuration(static_cast<std::int64_t>(random.below(1'000'000)));
    if (job.requested_time.count() > 0)
      job.requested_time += SimDuration(static_cast<std::int64_t>(random.below(1'000'000)));
  }
  return workload;
}

/// An input of a simulation.
struct Input {
  SimTime time{};
  std::variant<Job, Fact> what;
};

/// Makes a random fact that is true of a live job or a node now.
std::optional<Fact> random_fact(RandomStream& random, const Simulation& simulation, std::vector<NodeId>& down,
                                bool knows_nodes) {
  const std::uint64_t choice = random.below(knows_nodes ? 6 : 4);
  if (choice >= 4) {
    if (!down.empty()) {
      const NodeId node = down.back();
      down.pop_back();
      return NodeUp{node};
    }
    down.emplace_back(static_cast<std::uint32_t>(random.below(kNodes)));
    return NodeDown{down.back(), random.below(2) == 0};
  }
  const std::vector<JobId> live = simulation.live();
  if (live.empty()) return std::nullopt;
  const JobId job = live[random.below(live.size())];
  const bool runs = simulation.outcome(job).state == JobState::Running;
  if (choice == 0 && runs) return JobEnded{job};
  if (choice == 1) return JobCancelled{job};
  JobChanged changed{.job = job};
  changed.requested_time = std::chrono::seconds(1 + static_cast<std::int64_t>(random.below(50)));
  if (random.below(2) == 0)
    changed.duration = std::chrono::seconds(1 + static_cast<std::int64_t>(random.below(30)));
  if (!runs && random.below(2) == 0)
    changed.num_gpus = GpuCount(1 + static_cast<std::int32_t>(random.below(8)));
  return changed;
}

nlohmann::json seconds_json(std::int64_t nanoseconds) {
  std::string text;
  append_ns_as_seconds(text, nanoseconds);
  return nlohmann::json::parse(text);
}

/// A state in the format of `vtrain decide`, for a placement that needs no GPU numbers. `live` are its jobs.
std::string state_json(const SimulationState& state, const Workload& workload, const std::vector<JobId>& live,
                       PlacementKind placement) {
  nlohmann::json root{{"version", kStatedClusterVersion},
                      {"cluster", kCluster},
                      {"placement", info_of(placement).name},
                      {"now_s", seconds_json(state.now.time_since_epoch().count())},
                      {"jobs", nlohmann::json::array()}};
  for (std::size_t i = 0; i < live.size(); ++i) {
    const Job& job = workload.jobs[live[i].value];
    const LiveJob& of = state.jobs[i];
    nlohmann::json& object = root["jobs"].emplace_back(
        nlohmann::json{{"name", job.name},
                       {"submit_s", seconds_json(job.submit.time_since_epoch().count())},
                       {"num_gpus", job.num_gpus.value},
                       {"duration_s", seconds_json(job.duration.count())},
                       {"requested_s", seconds_json(job.requested_time.count())},
                       {"attained_s", seconds_json(of.outcome.attained.count())}});
    if (of.outcome.state != JobState::Running) continue;
    object["state"] = "running";
    object["started_s"] = seconds_json(of.resumed.time_since_epoch().count());
    if (!info_of(placement).knows_nodes) continue;
    for (const NodeShare& share : of.gang)
      object["nodes"].push_back({{"node", share.node.value}, {"gpus", share.gpus.value}});
  }
  return root.dump();
}

}  // namespace

TEST_CASE("property: any split of a replay into steps gives what the replay gives") {
  const PolicySpecs specs({"easy:planning=hosts", "elasticflow:slot=5s", "elasticflow-edf:slot=5s"},
                          [](const Policy&) { return true; });
  for (const std::string& spec : specs) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const PlacementKind placement = kPlacements[seed % std::size(kPlacements)];
      const auto policy = *make_policy(spec);
      const bool disrupts = seed >= 4 && policy->supports_disruptions() && placement != PlacementKind::Count;
      const Disruptions disruptions = some_disruptions(seed);
      const SimulationOptions options = options_of(placement, disrupts ? &disruptions : nullptr);
      const auto workload = [&] {
        return random_workload(seed, kNumJobs, kTotalGpus + 1, std::chrono::seconds(1));
      };
      const auto whole = simulate(workload(), *ClusterSpec::parse(kCluster), *policy, options);
      REQUIRE(whole);
      RandomStream random(seed, "steps");
      Stepped stepped(workload(), spec, options);
      SimTime time{};
      while (random.below(60) > 0) {
        time += SimDuration(static_cast<std::int64_t>(random.below(20'000'000'000)));
        stepped.run_until(time);
      }
      check_identical(stepped.finish(), *whole);
    }
  }
}

TEST_CASE("property: jobs may be submitted while the simulation runs") {
  // Policies that end jobs themselves repeat simulators that know whether jobs are to come.
  const PolicySpecs specs({"easy:planning=hosts"}, [](const Policy& policy) {
    return policy.progress_rule() != ProgressRule::Policy;
  });
  for (const std::string& spec : specs) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const SimulationOptions options = options_of(kPlacements[seed % std::size(kPlacements)]);
      const Workload workload = random_workload(seed, kNumJobs, kTotalGpus + 1, std::chrono::seconds(1));
      const auto whole = simulate(workload, *ClusterSpec::parse(kCluster), **make_policy(spec), options);
      REQUIRE(whole);
      RandomStream random(seed, "submissions");
      Stepped stepped({}, spec, options);
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        CHECK(stepped.submit(workload.jobs[i]) == JobId(static_cast<std::uint32_t>(i)));
        const bool more_now =
            i + 1 < workload.jobs.size() && workload.jobs[i + 1].submit == workload.jobs[i].submit;
        if (!more_now && random.below(3) == 0) stepped.run_until(workload.jobs[i].submit);
      }
      check_identical(stepped.finish(), *whole);
    }
  }
}

TEST_CASE("property: a simulation that is restored from its inputs gives what it gave") {
  const PolicySpecs specs({"easy:order=asc-walltime"},
                          [](const Policy& policy) { return policy.can_begin_with_jobs(); });
  std::int64_t facts = 0;
  for (const std::string& spec : specs) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const PlacementKind placement = kPlacements[seed % std::size(kPlacements)];
      SimulationOptions options = options_of(placement);
      options.expects_more = true;  // elasticflow asks for it
      const bool knows_nodes = info_of(placement).knows_nodes;
      const Workload workload = random_workload(seed, kNumJobs, kTotalGpus, std::chrono::seconds(1));
      RandomStream random(seed, "facts");
      Stepped stepped({}, spec, options);
      std::vector<Input> inputs;
      std::vector<NodeId> down;
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        const Job& job = workload.jobs[i];
        stepped.submit(job);
        inputs.push_back({job.submit, job});
        const SimTime next = i + 1 < workload.jobs.size() ? workload.jobs[i + 1].submit : SimTime::max();
        const SimTime time =
            job.submit + SimDuration(1 + static_cast<std::int64_t>(random.below(999'999'999)));
        if (time >= next) continue;
        // One fact at a time: what it is about is as it was seen.
        stepped.run_until(time);
        const auto fact = random_fact(random, *stepped.simulation, down, knows_nodes);
        if (!fact) continue;
        stepped.tell(time, *fact);
        inputs.push_back({time, *fact});
        ++facts;
      }
      const SimTime last = inputs.back().time;
      while (!down.empty()) {
        stepped.tell(last, NodeUp{down.back()});
        inputs.push_back({last, NodeUp{down.back()}});
        down.pop_back();
      }
      stepped.run_until(last);
      const SimulationResult result = stepped.finish();
      for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
        CAPTURE(i);
        REQUIRE(result.outcomes[i].state != JobState::Running);
        REQUIRE(result.outcomes[i].state != JobState::Unfinished);
      }
      check_gpus_in_use(result, kTotalGpus);

      Stepped again({}, spec, options);
      for (const Input& input : inputs) {
        if (const auto* const job = std::get_if<Job>(&input.what))
          again.submit(*job);
        else
          again.tell(input.time, std::get<Fact>(input.what));
      }
      again.run_until(last);
      check_identical(again.finish(), result);
    }
  }
  CHECK(facts > enough(1000));
}

TEST_CASE("property: a simulation that begins in the middle of a replay ends like the replay") {
  for (const std::string spec :
       {"fifo", "fit-first", "sjf", "srtf", "srsf", "easy", "easy:order=asc-walltime", "kueue"}) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      // Where placement refuses gangs, easy remembers for how long its first job has been refused, and kueue
      // who holds quota without a place.
      const bool remembers = spec.starts_with("easy") || spec == "kueue";
      const PlacementKind placement =
          remembers ? PlacementKind::Count : kPlacements[seed % std::size(kPlacements)];
      Disruptions costs;
      costs.interruption_cost = InterruptionCost(*InterruptionRule::parse("3s"), GpuCount(kTotalGpus));
      const SimulationOptions options = options_of(placement, seed % 3 == 0 ? &costs : nullptr);
      const Workload workload = workload_without_ties(seed);
      const auto whole = simulate(workload, *ClusterSpec::parse(kCluster), **make_policy(spec), options);
      REQUIRE(whole);

      RandomStream random(seed, "middle");
      const SimTime middle = workload.jobs[random.below(workload.jobs.size())].submit;
      Stepped first(workload_without_ties(seed), spec, options);
      first.run_until(middle);
      const SimulationState state = first.simulation->state();
      std::vector<JobId> kept = first.simulation->live();
      for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
        if (workload.jobs[i].submit > middle) kept.emplace_back(i);
      }
      Workload rest;
      for (const JobId job : kept) {
        rest.jobs.push_back(workload.jobs[job.value]);
        rest.jobs.back().name = rest.keep(workload.jobs[job.value].name);
      }
      Stepped second(std::move(rest), spec, options, state);
      const SimulationResult result = second.finish();
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const JobOutcome& expected = whole->outcomes[kept[i].value];
        const JobOutcome& found = result.outcomes[i];
        CAPTURE(kept[i].value);
        REQUIRE(found.start == expected.start);
        REQUIRE(found.end == expected.end);
        REQUIRE(found.finished == expected.finished);
        REQUIRE(found.state == expected.state);
        REQUIRE(found.preemptions == expected.preemptions);
        REQUIRE(found.gpu_time == expected.gpu_time);
      }
    }
  }
}

TEST_CASE("property: a simulation that begins with a state written down ends like the replay") {
  for (const std::string spec : {"fifo", "srtf", "easy", "kueue"}) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
      CAPTURE(spec);
      CAPTURE(seed);
      const PlacementKind placement =
          spec == "easy" || spec == "kueue" || seed % 2 == 0 ? PlacementKind::Count : PlacementKind::Yarn;
      const SimulationOptions options = options_of(placement);
      const Workload workload = workload_without_ties(seed);
      const auto whole = simulate(workload, *ClusterSpec::parse(kCluster), **make_policy(spec), options);
      REQUIRE(whole);

      RandomStream random(seed, "written down");
      const SimTime middle = workload.jobs[random.below(workload.jobs.size())].submit;
      Stepped first(workload_without_ties(seed), spec, options);
      first.run_until(middle);
      std::vector<JobId> kept = first.simulation->live();
      auto stated = parse_stated_cluster(state_json(first.simulation->state(), workload, kept, placement),
                                         "state.json");
      REQUIRE_MESSAGE(stated, stated.error().describe());
      Workload& rest = stated->workload;
      for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
        if (workload.jobs[i].submit <= middle) continue;
        kept.emplace_back(i);
        rest.jobs.push_back(workload.jobs[i]);
        rest.jobs.back().name = rest.keep(workload.jobs[i].name);
      }
      Stepped second(std::move(rest), spec, options, stated->state);
      const SimulationResult result = second.finish();
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const JobOutcome& expected = whole->outcomes[kept[i].value];
        CAPTURE(kept[i].value);
        REQUIRE(result.outcomes[i].end == expected.end);
        REQUIRE(result.outcomes[i].finished == expected.finished);
        REQUIRE(result.outcomes[i].state == expected.state);
      }
    }
  }
}

}  // namespace vtrain::testing
