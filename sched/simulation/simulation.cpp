#include "sched/simulation/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "sched/simulation/checks.hpp"
#include "sched/simulation/engine.hpp"

namespace vtrain {
namespace {

std::string seconds_text(SimTime time) {
  std::string text;
  append_ns_as_seconds(text, time.time_since_epoch().count());
  return text + " s";
}

/// The error for an input that is too late for the simulation.
Error time_too_early_error(std::string field, SimTime earliest, SimTime found) {
  return {
      .field = std::move(field),
      .message = expected_found(fmt::format("none before {}", seconds_text(earliest)), seconds_text(found))};
}

/// The job of a fact, if it has one.
std::optional<JobId> job_of(const Fact& fact) {
  return std::visit(
      [](const auto& each) -> std::optional<JobId> {
        if constexpr (requires { each.job; }) return each.job;
        return std::nullopt;
      },
      fact);
}

/// The node of a fact, if it has one.
std::optional<NodeId> node_of(const Fact& fact) {
  return std::visit(
      [](const auto& each) -> std::optional<NodeId> {
        if constexpr (requires { each.node; }) return each.node;
        return std::nullopt;
      },
      fact);
}

Error bad_state(const Workload& workload, std::size_t job, std::string field, std::string message) {
  return job_error(workload, workload.jobs[job], std::move(field), std::move(message));
}

/// Checks a state before its gangs are placed.
Result<void> check_state(const SimulationState& state, const Workload& workload, const ClusterSpec& cluster) {
  if (state.jobs.size() > workload.jobs.size()) {
    return fail(
        {.field = "jobs",
         .message = expected_found(fmt::format("at most {}, the jobs of the workload", workload.jobs.size()),
                                   std::to_string(state.jobs.size()))});
  }
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const bool is_live = i < state.jobs.size();
    if (is_live == (workload.jobs[i].submit > state.now)) {
      return fail(
          bad_state(workload, i, "submit_s",
                    expected_found(fmt::format("{} than {}, the time of the state",
                                               is_live ? "none later" : "one later", seconds_text(state.now)),
                                   seconds_text(workload.jobs[i].submit))));
    }
    if (!is_live) continue;
    const LiveJob& live = state.jobs[i];
    if (live.outcome.state != JobState::Running && live.outcome.state != JobState::Waiting)
      return fail(bad_state(workload, i, "state", "expected that the job runs or waits"));
    if (live.outcome.state == JobState::Running && live.num_gpus.value < 1)
      return fail(bad_state(workload, i, "num_gpus",
                            expected_found("at least 1", std::to_string(live.num_gpus.value))));
    if (live.resumed > state.now)
      return fail(
          bad_state(workload, i, "resumed", time_too_early_error("", state.now, live.resumed).message));
  }
  const auto is_node = [&](NodeId node) {
    return node.value < static_cast<std::uint32_t>(cluster.total_nodes());
  };
  for (const NodeId node : state.out_of_service) {
    if (!is_node(node)) {
      return fail({.field = "out_of_service",
                   .message = expected_found(fmt::format("nodes below {}", cluster.total_nodes()),
                                             std::to_string(node.value))});
    }
  }
  return {};
}

}  // namespace

Result<SimulationResult> simulate(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                  const SimulationOptions& options) {
  if (auto checked = check_simulation(workload, cluster, policy, options); !checked)
    return fail(checked.error());
  try {
    SimulationEngine engine(workload, cluster, policy, options, nullptr);
    engine.begin();
    for (SimTime next = engine.next(); next != SimulationEngine::kNever; next = engine.next())
      engine.step(next);
    return engine.finish();
  } catch (const SimulationFault& fault) {
    return fail(fault.error());
  }
}

struct Simulation::Parts {
  Parts(Workload all_jobs, const ClusterSpec& of, Policy& policy, const SimulationOptions& how)
      : workload(std::move(all_jobs)),
        cluster(of),
        options(how),
        rule(policy.progress_rule()),
        takes_facts(rule != ProgressRule::Policy || policy.can_begin_with_jobs()),
        engine(workload, cluster, policy, options, &workload) {}

  Workload workload;
  const ClusterSpec cluster;
  const SimulationOptions options;
  const ProgressRule rule;
  const bool takes_facts;  ///< facts about jobs may be told
  SimulationEngine engine;
  SimTime reached = SimTime::min();    ///< time that `run_until` has reached
  SimTime last_fact = SimTime::min();  ///< time of the last fact
  std::optional<Error> broken{};       ///< error that ended the simulation early

  /// Runs `work`; its failure ends the simulation.
  template <class Work>
  Result<void> attempt(Work work) {
    if (broken) return fail(*broken);
    try {
      work();
      return {};
    } catch (const SimulationFault& fault) {
      broken = fault.error();
      return fail(fault.error());
    }
  }
};

Simulation::Simulation(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;
Simulation::~Simulation() = default;

Result<Simulation> Simulation::begin(Workload workload, const ClusterSpec& cluster, Policy& policy,
                                     const SimulationOptions& options, const SimulationState& state) {
  if (auto checked = check_simulation(workload, cluster, policy, options); !checked)
    return fail(checked.error());
  const bool from_state = state.now != SimTime{} || !state.jobs.empty() || !state.out_of_service.empty();
  if (from_state) {
    if (auto checked = check_state(state, workload, cluster); !checked) return fail(checked.error());
    if (!state.out_of_service.empty() && !info_of(options.placement).knows_nodes) {
      return fail({.field = "out_of_service",
                   .message = fmt::format("'{}' knows no nodes that could be out of service",
                                          info_of(options.placement).name)});
    }
  }
  auto parts = std::make_unique<Parts>(std::move(workload), cluster, policy, options);
  auto begun = parts->attempt([&] {
    if (from_state) {
      parts->engine.restore(state);
      parts->reached = state.now;
    }
    parts->engine.begin();
  });
  if (!begun) return fail(std::move(begun.error()));
  return Simulation(std::move(parts));
}

Result<JobId> Simulation::submit(std::string_view name, Job job) {
  if (parts_->broken) return fail(*parts_->broken);
  Workload& workload = parts_->workload;
  job.name = workload.keep(name);
  SimTime earliest = parts_->reached;
  if (!workload.jobs.empty()) earliest = std::max(earliest, workload.jobs.back().submit);
  if (job.submit < earliest)
    return fail(job_error(workload, job, time_too_early_error("submit_s", earliest, job.submit)));
  auto checked = check_job(job, workload, parts_->cluster, parts_->engine.placement(), parts_->rule,
                           parts_->options.strict);
  if (!checked) return fail(std::move(checked.error()));
  const JobId id(static_cast<std::uint32_t>(workload.jobs.size()));
  workload.jobs.push_back(job);
  parts_->engine.grow();
  return id;
}

Result<void> Simulation::tell(SimTime time, const Fact& fact) {
  if (parts_->broken) return fail(*parts_->broken);
  const SimTime earliest = std::max(parts_->reached, parts_->last_fact);
  if (time < earliest) return fail(time_too_early_error("time", earliest, time));
  if (const auto job = job_of(fact)) {
    if (job->value >= parts_->workload.jobs.size()) {
      return fail({.field = "job",
                   .message = expected_found(fmt::format("a number below {}", parts_->workload.jobs.size()),
                                             std::to_string(job->value))});
    }
    if (!parts_->takes_facts) {
      return fail({.field = fmt::format("policy '{}'", parts_->options.policy_name),
                   .message = "ends jobs itself, so that nothing can be told of them"});
    }
  }
  if (const auto* const changed = std::get_if<JobChanged>(&fact)) {
    if (changed->duration && changed->duration->count() <= 0)
      return fail({.field = "duration", .message = "expected more than 0 s"});
    if (changed->iterations && *changed->iterations <= 0)
      return fail({.field = "iterations", .message = "expected more than 0"});
    if (changed->requested_time && changed->requested_time->count() < 0)
      return fail({.field = "requested_time", .message = "expected at least 0 s"});
    const Job& job = parts_->workload.jobs[changed->job.value];
    if (changed->num_gpus && (changed->num_gpus->value < 1 ||
                              !parts_->engine.placement().fits_empty(request_of(job, *changed->num_gpus)))) {
      return fail(job_error(parts_->workload, job, "num_gpus",
                            expected_found("a gang for which the placement has room on the empty cluster",
                                           std::to_string(changed->num_gpus->value))));
    }
  }
  if (const auto node = node_of(fact)) {
    if (!parts_->engine.placement().info().knows_nodes)
      return fail({.field = "placement",
                   .message = fmt::format("'{}' knows no nodes", parts_->engine.placement().info().name)});
    if (node->value >= static_cast<std::uint32_t>(parts_->cluster.total_nodes())) {
      return fail({.field = "node",
                   .message = expected_found(fmt::format("a number below {}", parts_->cluster.total_nodes()),
                                             std::to_string(node->value))});
    }
  }
  parts_->last_fact = time;
  parts_->engine.tell(time, fact);
  return {};
}

Result<void> Simulation::run_until(SimTime time) {
  return parts_->attempt([&] {
    for (SimTime next = parts_->engine.next(); next != SimulationEngine::kNever && next <= time;
         next = parts_->engine.next())
      parts_->engine.step(next);
    parts_->reached = std::max(parts_->reached, time);
  });
}

Job Simulation::adopt(const Workload& from, const Job& job) {
  return parts_->workload.adopt(from, job);
}

LiveJob Simulation::live_job(JobId job) const {
  return parts_->engine.live_job(job);
}

double Simulation::part_done(JobId job, SimTime time) const {
  return parts_->engine.part_done(job, time);
}

std::optional<SimTime> Simulation::next_event() {
  const SimTime next = parts_->engine.next();
  if (parts_->broken || next == SimulationEngine::kNever) return std::nullopt;
  return next;
}

const Workload& Simulation::workload() const {
  return parts_->workload;
}

JobOutcome Simulation::outcome(JobId job) const {
  return parts_->engine.outcome(job);
}

std::vector<JobId> Simulation::live() const {
  std::vector<JobId> live;
  for (std::uint32_t i = 0; i < parts_->engine.jobs().size(); ++i) {
    if (parts_->engine.is_live(JobId(i))) live.emplace_back(i);
  }
  return live;
}

SimulationState Simulation::state() const {
  SimulationState state{.now = std::max(parts_->reached, parts_->engine.now()),
                        .out_of_service = parts_->engine.out_of_service()};
  const std::vector<JobId> ids = live();
  for (const JobId job : ids)
    state.jobs.push_back(parts_->engine.live_job(job));
  state.memory = parts_->engine.policy_memory(ids);
  return state;
}

Result<SimulationResult> Simulation::finish() {
  std::optional<SimulationResult> result;
  auto finished = parts_->attempt([&] {
    parts_->engine.expect_no_more();
    for (SimTime next = parts_->engine.next(); next != SimulationEngine::kNever; next = parts_->engine.next())
      parts_->engine.step(next);
    result = parts_->engine.finish();
  });
  if (!finished) return fail(std::move(finished.error()));
  parts_->broken = Error{.kind = ErrorKind::Failed, .message = "the simulation is over"};
  return *std::move(result);
}

}  // namespace vtrain
