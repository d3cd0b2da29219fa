/// States of simulations that are written as JSON and read again, whole and damaged.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "sched/simulation/state_json.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/elastic_support.hpp"
#include "tests/unit/policies/policy_specs.hpp"
#include "workloads/jobs/job_json.hpp"

namespace vtrain::testing {
namespace {

/// The surroundings of a simulation.
struct Setting {
  std::string spec{};
  std::string cluster{};
  PlacementKind placement{};
  Disruptions disruptions{};

  Setting(std::string of, std::string on, PlacementKind how, const std::string& cost)
      : spec(std::move(of)), cluster(std::move(on)), placement(how) {
    disruptions.interruption_cost =
        InterruptionCost(*InterruptionRule::parse(cost), ClusterSpec::parse(cluster)->total_gpus());
  }
  Result<Simulation> begin(Policy& policy, Workload workload, const SimulationState& state = {}) const {
    return Simulation::begin(
        std::move(workload), *ClusterSpec::parse(cluster), policy,
        {.placement = placement, .record_segments = true, .policy_name = spec, .disruptions = &disruptions},
        state);
  }
  SimulationResult finish(Workload workload, const SimulationState& state = {}) const {
    const auto policy = *make_policy(spec);
    auto simulation = begin(*policy, std::move(workload), state);
    REQUIRE_MESSAGE(simulation, simulation.error().describe());
    auto result = simulation->finish();
    REQUIRE_MESSAGE(result, result.error().describe());
    return *std::move(result);
  }
};

/// A fact that is true now.
std::optional<Fact> random_fact(RandomStream& random, const Simulation& simulation, const Setting& setting) {
  const std::vector<JobId> live = simulation.live();
  const NodeId node(static_cast<std::uint32_t>(random.below(4)));
  const std::vector<NodeId> down = simulation.state().out_of_service;
  const bool is_down = std::ranges::find(down, node) != down.end();
  if (info_of(setting.placement).knows_nodes && random.below(3) == 0)
    return is_down ? Fact(NodeUp{node}) : Fact(NodeDown{node, random.below(2) == 0});
  if (live.empty()) return std::nullopt;
  const JobId job = live[random.below(live.size())];
  const bool runs = simulation.outcome(job).state == JobState::Running;
  if (random.below(2) == 0) return runs ? Fact(JobEnded{job}) : Fact(JobCancelled{job});
  const SimDuration duration = simulation.workload().jobs[job.value].duration;
  return JobChanged{.job = job, .duration = duration + std::chrono::seconds(1 + random.below(500))};
}

/// A simulation that was cut, as the texts that are kept of it.
struct Cut {
  SimulationState state{};      ///< as the simulation gave it
  std::vector<JobId> live{};    ///< numbers of its jobs
  std::string state_text{};     ///< its JSON
  std::string workload_text{};  ///< JSON of its jobs

  /// Cuts a replay at `middle`. `num_facts` are told before, the last one at `middle`.
  Cut(const Setting& setting, const Workload& workload, SimTime middle, int num_facts = 0) {
    const auto policy = *make_policy(setting.spec);
    auto simulation = setting.begin(*policy, workload.copy_with_texts_of_this());
    REQUIRE_MESSAGE(simulation, simulation.error().describe());
    RandomStream random(static_cast<std::uint64_t>(middle.time_since_epoch().count()), "facts");
    for (int i = num_facts; i-- > 0;) {
      const SimTime time = middle - i * std::chrono::seconds(97);
      REQUIRE(simulation->run_until(time));
      if (const auto fact = random_fact(random, *simulation, setting)) REQUIRE(simulation->tell(time, *fact));
    }
    REQUIRE(simulation->run_until(middle));
    state = simulation->state();
    live = simulation->live();
    state_text = to_json(state).dump();
    workload_text = to_json(simulation->workload(), live).dump();
  }
  SimulationState read_state(const std::string& spec) const {
    auto read = state_from_json(nlohmann::json::parse(state_text), **make_policy(spec));
    REQUIRE_MESSAGE(read, read.error().describe());
    return *std::move(read);
  }
  Workload read_workload() const {
    auto read = workload_from_json(nlohmann::json::parse(workload_text));
    REQUIRE_MESSAGE(read, read.error().describe());
    return *std::move(read);
  }
};

/// Adds the jobs that are submitted after `middle`. Returns their numbers.
std::vector<JobId> add_later_jobs(Workload& to, const Workload& all, SimTime middle) {
  std::vector<JobId> added;
  for (std::uint32_t i = 0; i < all.jobs.size(); ++i) {
    if (all.jobs[i].submit <= middle) continue;
    Job job = all.jobs[i];
    job.name = to.keep(job.name);
    if (job.curve) {
      to.curves.push_back(all.curves[job.curve.value]);
      job.curve = CurveId(static_cast<std::uint32_t>(to.curves.size() - 1));
    }
    to.jobs.push_back(job);
    added.emplace_back(i);
  }
  return added;
}

void check_same_outcome(const JobOutcome& found, const JobOutcome& expected) {
  REQUIRE(found.state == expected.state);
  REQUIRE(found.start == expected.start);
  REQUIRE(found.end == expected.end);
  REQUIRE(found.finished == expected.finished);
  REQUIRE(found.attained == expected.attained);
  REQUIRE(found.promised == expected.promised);
  REQUIRE(found.preemptions == expected.preemptions);
  REQUIRE(found.resizes == expected.resizes);
  REQUIRE(found.failures == expected.failures);
  REQUIRE(found.gpu_time == expected.gpu_time);
}

void check_same_segment(const JobSegment& found, const JobSegment& expected) {
  REQUIRE(found.begin == expected.begin);
  REQUIRE(found.end == expected.end);
  REQUIRE(found.num_gpus == expected.num_gpus);
  REQUIRE(found.parts == expected.parts);
  REQUIRE(found.how == expected.how);
}

/// Checks that a simulation from a state goes on as the whole one did after `middle`.
void check_goes_on(const SimulationResult& found, const SimulationResult& whole,
                   const std::vector<JobId>& jobs, SimTime middle) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CAPTURE(i);
    check_same_outcome(found.outcomes[i], whole.outcomes[jobs[i].value]);
  }
  std::vector<JobSegment> later;
  std::ranges::copy_if(whole.segments, std::back_inserter(later),
                       [&](const JobSegment& segment) { return segment.end > middle; });
  REQUIRE(found.segments.size() == later.size());
  for (std::size_t i = 0; i < later.size(); ++i) {
    REQUIRE(jobs[found.segments[i].job.value] == later[i].job);
    check_same_segment(found.segments[i], later[i]);
  }
}

/// Jobs of several tenants and users, on a cluster of two types.
Workload named_jobs(std::uint64_t seed) {
  Workload workload = random_elastic_workload(seed, {.num_jobs = 80, .gap_s = 60, .rigid_of_4 = 2});
  RandomStream random(seed, "names");
  for (Job& job : workload.jobs) {
    job.tenant = workload.tenant("t" + std::to_string(random.below(4)));
    job.user = workload.user("u" + std::to_string(random.below(6)));
    if (random.below(4) == 0) job.priority = static_cast<std::int64_t>(random.below(100));
    if (random.below(4) == 0) job.requested_time = job.duration + std::chrono::minutes(random.below(5));
    if (random.below(8) == 0) workload.add_requirements(job).nice = 3;
  }
  return workload;
}

SimTime random_middle(const Workload& workload, std::uint64_t seed) {
  RandomStream random(seed, "middle");
  return workload.jobs[random.below(workload.jobs.size())].submit +
         SimDuration(static_cast<std::int64_t>(random.below(90'000'000'000)));
}

using Json = nlohmann::json;

/// All numbers of a document.
void find_numbers(Json& document, std::vector<Json*>& numbers) {
  if (document.is_number()) numbers.push_back(&document);
  if (!document.is_structured()) return;
  for (Json& part : document)
    find_numbers(part, numbers);
}

/// A random part of a document; mostly a number, as other damage is seen at once.
Json& random_part(RandomStream& random, Json& document) {
  if (random.below(4) > 0) {
    std::vector<Json*> numbers;
    find_numbers(document, numbers);
    if (!numbers.empty()) return *numbers[random.below(numbers.size())];
  }
  Json* part = &document;
  while (part->is_structured() && !part->empty() && random.below(12) != 0) {
    auto item = part->begin();
    std::advance(item, static_cast<std::ptrdiff_t>(random.below(part->size())));
    part = &*item;
  }
  return *part;
}

/// Damages a document in one place.
void damage(RandomStream& random, Json& document) {
  Json& part = random_part(random, document);
  constexpr std::int64_t kNumbers[] = {
      0,         -1,        1,         2,         7,         1'000,    1LL << 31, (1LL << 32) - 1,
      1LL << 40, 1LL << 60, 1LL << 61, 1LL << 62, INT64_MAX, INT64_MIN};
  const std::uint64_t kind = random.below(10);
  if (part.is_structured() && !part.empty() && kind < 5) {
    auto item = part.begin();
    std::advance(item, static_cast<std::ptrdiff_t>(random.below(part.size())));
    if (kind < 3 || part.is_object())
      part.erase(item);
    else
      part.push_back(Json(*item));
  } else if (part.is_number_integer() && kind < 7) {
    const auto change = static_cast<std::int64_t>(random.below(2'000'000'000'000)) - 1'000'000'000'000;
    part = kind < 2 ? static_cast<std::int64_t>(part.get<std::uint64_t>() + random.below(5) - 2)
           : kind < 4
               ? static_cast<std::int64_t>(part.get<std::uint64_t>() + static_cast<std::uint64_t>(change))
               : kNumbers[random.below(std::size(kNumbers))];
  } else if (part.is_number() && kind < 8) {
    constexpr double kDoubles[] = {0.0, -1.0, 1e-300, 1e300, 1e18, 0.5};
    part = kDoubles[random.below(std::size(kDoubles))];
  } else if (part.is_boolean() && kind < 8) {
    part = !part.get<bool>();
  } else {
    const Json kValues[] = {Json(),
                            true,
                            "text",
                            Json::array(),
                            Json::object(),
                            1.5,
                            kNumbers[random.below(std::size(kNumbers))]};
    part = kValues[random.below(std::size(kValues))];
  }
}

/// Runs to the end, or for some thousands of events where damage has made jobs long. False after an error.
bool runs_on(Simulation& simulation) {
  for (int events = 0; events < 3'000; ++events) {
    const auto next = simulation.next_event();
    if (!next) return simulation.finish().has_value();
    if (!simulation.run_until(*next)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("state JSON: a simulation from it goes on exactly like the one that was cut") {
  std::int64_t promises = 0;
  std::int64_t running = 0;
  for (const std::string spec :
       {"deadline", "deadline:late=run", "deadline:margin=0.5,running=keep", "elasticflow",
        "elasticflow:slot=7s", "elasticflow:costs=free", "fifo", "srtf", "drf", "easy"}) {
    for (const char* const cluster : {"4x4:a100", "2x4:a100+2x4:h100"}) {
      for (const PlacementKind placement :
           {PlacementKind::Count, PlacementKind::Consolidate, PlacementKind::Yarn}) {
        // Where placement refuses gangs, it remembers since when its first job has waited.
        if (placement != PlacementKind::Count && spec == "easy") continue;
        for (const char* const cost : {"none", "30s"}) {
          for (std::uint64_t seed = 1; seed <= rounds(3); ++seed) {
            CAPTURE(spec);
            CAPTURE(cluster);
            CAPTURE(info_of(placement).name);
            CAPTURE(cost);
            CAPTURE(seed);
            const Setting setting(spec, cluster, placement, cost);
            const Workload workload = named_jobs(seed);
            const SimTime middle = random_middle(workload, seed);
            const Cut cut(setting, workload, middle);
            const SimulationState state = cut.read_state(spec);
            REQUIRE(to_json(state).dump() == cut.state_text);
            Workload jobs = cut.read_workload();
            std::vector<JobId> numbers = cut.live;
            const std::vector<JobId> later = add_later_jobs(jobs, workload, middle);
            numbers.insert(numbers.end(), later.begin(), later.end());
            const SimulationResult whole = setting.finish(workload.copy_with_texts_of_this());
            check_goes_on(setting.finish(std::move(jobs), state), whole, numbers, middle);
            for (const LiveJob& job : state.jobs) {
              promises += job.outcome.has_promise() ? 1 : 0;
              running += job.outcome.state == JobState::Running ? 1 : 0;
            }
          }
        }
      }
    }
  }
  CHECK(promises > enough(300));
  CHECK(running > enough(1'000));
}

TEST_CASE("state JSON: every policy goes on from it as from the state itself") {
  const PolicySpecs specs({"deadline:late=run", "elasticflow:costs=free"},
                          [](const Policy& policy) { return policy.can_begin_with_jobs(); });
  for (const std::string& spec : specs) {
    for (const PlacementKind placement :
         {PlacementKind::Count, PlacementKind::Buddy, PlacementKind::Yarn, PlacementKind::Fgd}) {
      for (std::uint64_t seed = 1; seed <= rounds(4); ++seed) {
        CAPTURE(spec);
        CAPTURE(info_of(placement).name);
        CAPTURE(seed);
        Setting setting(spec, "4x4:a100", placement, seed % 2 == 0 ? "none" : "30s");
        const bool may_be_disrupted = (*make_policy(spec))->supports_disruptions();
        if (seed % 4 == 3 && may_be_disrupted) {
          setting.disruptions.checkpoints = *CheckpointRule::parse("120s");
          setting.disruptions.checkpoint_times = CheckpointTimes(std::chrono::seconds(5));
        }
        Workload workload = named_jobs(seed);
        for (Job& job : workload.jobs) {
          if (info_of(placement).shares_gpus && !job.curve && job.num_gpus == GpuCount(1))
            job.gpu_share = 300;
        }
        const Cut cut(setting, workload, random_middle(workload, seed) + std::chrono::minutes(20),
                      static_cast<int>(seed % 3) * 6);
        const SimulationResult expected = setting.finish(cut.read_workload(), cut.state);
        const SimulationResult found = setting.finish(cut.read_workload(), cut.read_state(spec));
        REQUIRE(found.outcomes.size() == expected.outcomes.size());
        for (std::size_t i = 0; i < found.outcomes.size(); ++i)
          check_same_outcome(found.outcomes[i], expected.outcomes[i]);
        REQUIRE(found.segments.size() == expected.segments.size());
        for (std::size_t i = 0; i < found.segments.size(); ++i) {
          REQUIRE(found.segments[i].job == expected.segments[i].job);
          check_same_segment(found.segments[i], expected.segments[i]);
        }
      }
    }
  }
}

TEST_CASE("state JSON: damage is an error, or a state that runs to its end") {
  std::int64_t refused = 0;
  std::int64_t refused_later = 0;
  std::int64_t ran = 0;
  for (const std::string spec : {"deadline", "elasticflow", "elasticflow:costs=free", "easy"}) {
    for (const char* const cluster : {"4x4:a100", "2x4:a100+2x4:h100"}) {
      for (const PlacementKind placement :
           {PlacementKind::Count, PlacementKind::Consolidate, PlacementKind::Buddy}) {
        const std::uint64_t seed = 5;
        const Setting setting(spec, cluster, placement, placement == PlacementKind::Buddy ? "none" : "30s");
        const Workload workload = named_jobs(seed);
        const Cut cut(setting, workload, workload.jobs[40].submit);
        const Json state_json = Json::parse(cut.state_text);
        const Json jobs_json = Json::parse(cut.workload_text);
        RandomStream random(seed, spec + cluster);
        for (std::uint64_t round = 0; round < rounds(200); ++round) {
          CAPTURE(spec);
          CAPTURE(cluster);
          CAPTURE(info_of(placement).name);
          CAPTURE(round);
          Json damaged_state = state_json;
          Json damaged_jobs = jobs_json;
          const std::uint64_t num_edits = 1 + random.below(3);
          for (std::uint64_t edit = 0; edit < num_edits; ++edit)
            damage(random, random.below(4) == 0 ? damaged_jobs : damaged_state);
          const auto policy = *make_policy(spec);
          auto jobs = workload_from_json(damaged_jobs);
          auto state = state_from_json(damaged_state, *policy);
          if (!jobs || !state) {
            ++refused;
            REQUIRE(!(!jobs ? jobs.error() : state.error()).message.empty());
            continue;
          }
          auto simulation = setting.begin(*policy, *std::move(jobs), *state);
          const bool runs = simulation && runs_on(*simulation);
          ++(runs ? ran : refused_later);
        }
      }
    }
  }
  MESSAGE("refused: " << refused << ", refused by the simulation: " << refused_later << ", ran: " << ran);
  CHECK(refused > enough(1'000));
  CHECK(ran > enough(300));
}

TEST_CASE("state JSON: errors name the value") {
  const auto policy = *make_policy("deadline");
  const auto error_of = [&](const char* text) {
    const auto read = state_from_json(Json::parse(text), *policy);
    REQUIRE_FALSE(read);
    return read.error().describe();
  };
  CHECK(error_of("[]") == "expected an object, found 'array'");
  CHECK(error_of("{}") == "version: missing");
  CHECK(error_of(R"({"version": 2})") == "version: expected 1, found '2'");
  CHECK(error_of(R"({"version": 1, "now_ns": -5, "jobs": [], "out_of_service": []})") ==
        "now_ns: expected 0 to 2^61, found '-5'");
  CHECK(error_of(R"({"version": 1, "now_ns": 5, "jobs": [], "out_of_service": ["n1"]})") ==
        "out_of_service[0]: expected a whole number from 0 to 4294967294, found '\"n1\"'");
  CHECK(error_of(R"({"version": 1, "now_ns": 5, "jobs": [], "out_of_service": [], "more": 1})") ==
        "expected no unknown keys");
  CHECK(
      error_of(
          R"({"version": 1, "now_ns": 5, "jobs": [], "out_of_service": [], "memory": {"kind": "plans"}})") ==
      "memory.kind: expected promises, found '\"plans\"'");
  const auto of_fifo = state_from_json(
      Json::parse(R"({"version": 1, "now_ns": 5, "jobs": [], "out_of_service": [], "memory": {}})"),
      **make_policy("fifo"));
  REQUIRE_FALSE(of_fifo);
  CHECK(of_fifo.error().describe() == "memory: the policy keeps no memory");
}

}  // namespace vtrain::testing
