/// The memory of `ElasticFlow` as JSON.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/io/json_members.hpp"
#include "policies/elasticflow/plans_memory.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {
namespace {

/// Latest time that is read: sums of a few stay in range.
constexpr WholeSeconds kLatestSecond = std::int64_t{1} << 60;
constexpr double kMostIterationsLeft = 1e18;

bool is_second(WholeSeconds time) {
  constexpr WholeSeconds kEarliest = -(WholeSeconds{1} << 32);  // which the simulated clock can tell
  return kEarliest <= time && time <= kLatestSecond;
}

bool is_number_of_gpus(std::int64_t gpus) {
  return gpus >= 0 && gpus <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

template <class Archive>
void SlottedJob::members(Archive& archive) {
  archive("job", job);
  archive("type", type);
  archive("run_time_ns", run_time);
  archive("iterations_left", iterations_left);
  archive("deadline_s", deadline);
  archive("best_effort", best_effort, false);
  archive("disrupted", disrupted, false);
  archive("planned", planned, false);
  archive("gpus", gpus, 0);
  archive("overhead_s", overhead, 0);
  archive("work_booked_ns", work_booked, SimDuration(0));
  archive("end_s", end, 0);
  archive("finished_s", finished);
  archive.check(std::abs(iterations_left) <= kMostIterationsLeft, "iterations_left", "at most 1e18");
  archive.check(is_second(deadline), "deadline_s", "at most 2^60");
  archive.check(is_second(end), "end_s", "at most 2^60");
  archive.check(is_second(finished.value_or(0)), "finished_s", "at most 2^60");
  archive.check(is_number_of_gpus(gpus), "gpus", "0 or more");
}

template <class Archive>
void members(Archive& archive, SharePlan& plan) {
  archive("gpus", plan.gpus);
  archive("end_s", plan.end);
  archive("finished_s", plan.finished);
  archive.check(!plan.gpus.empty(), "gpus", "at least one step");
  archive.check(std::ranges::all_of(plan.gpus.steps(),
                                    [](const GpuTimeline::Step& step) {
                                      return is_second(step.time) && is_number_of_gpus(step.gpus);
                                    }),
                "gpus", "times up to 2^60 and 0 or more GPUs");
  archive.check(is_second(plan.end), "end_s", "at most 2^60");
  archive.check(is_second(plan.finished), "finished_s", "at most 2^60");
}

template <class Archive>
void members(Archive& archive, SharePlanner::Plans& plans) {
  archive("jobs", plans.jobs);
  archive("slots_from_s", plans.slots_from);
  archive.check(is_second(plans.slots_from), "slots_from_s", "at most 2^60");
}

template <class Archive>
void SlottedPolicy::Memory::members(Archive& archive) {
  archive("total_gpus", total, {});
  archive("disrupted", disrupted, false);
  archive("jobs", jobs);
  archive("live", live);
  archive("planned", planned);
  archive("arrivals", arrivals);
  archive("last_decision_s", last_decision);
  archive("disrupted_at_s", disrupted_at);
  archive("refused", refused, {});
  archive("refused_again", refused_again, false);
  archive("standstill_s", standstill);
}

template <class Archive>
void ElasticFlow::PlansMemory::members(Archive& archive) {
  archive("kind", kind);
  archive.check(kind == "elasticflow", "kind", "elasticflow");
  Memory::members(archive);
  archive("plans", plans);
  archive("next_change_s", next_change);
  archive.check(is_second(next_change.value_or(0)), "next_change_s", "at most 2^60");
}

nlohmann::json ElasticFlow::PlansMemory::to_json() const {
  return json_of_members(*this);
}

std::optional<Error> SlottedPolicy::Memory::contradiction(const SimulationState& state) const {
  const auto error = [](const char* field, const char* expected) {
    return Error{.field = field, .message = std::string("expected ") + expected};
  };
  enum : std::uint8_t { kUnknown, kKnown, kLive };
  std::vector<std::uint8_t> is(state.jobs.size(), kUnknown);
  for (const SlottedJob& job : jobs) {
    if (job.job.value >= is.size() || is[job.job.value] != kUnknown)
      return error("jobs", "numbers of live jobs, each once");
    is[job.job.value] = kKnown;
    if (job.type && *job.type >= total.size()) return error("jobs", "types of the cluster");
  }
  for (const std::uint32_t id : live) {
    if (id >= is.size() || is[id] != kKnown) return error("live", "known jobs, each once");
    is[id] = kLive;
  }
  for (const std::uint32_t id : planned) {
    if (id >= is.size() || is[id] != kLive) return error("planned", "jobs of `live`");
  }
  for (const JobId job : arrivals.jobs()) {
    if (job.value >= is.size() || is[job.value] == kLive) return error("arrivals", "jobs not in `live`");
  }
  const WholeSeconds now = whole_seconds_passed(state.now);
  if (!is_second(arrivals.due().value_or(0))) return error("arrivals", "times up to 2^60");
  if (last_decision && (!is_second(*last_decision) || *last_decision > now))
    return error("last_decision_s", "a time up to that of the state");
  if (!last_decision && (!live.empty() || standstill)) return error("last_decision_s", "a time");
  if (!is_second(disrupted_at.value_or(0))) return error("disrupted_at_s", "at most 2^60");
  if (standstill && (*standstill < 1 || !is_second(*standstill))) return error("standstill_s", "1 to 2^60");
  return std::nullopt;
}

Result<std::shared_ptr<const PolicyMemory>> ElasticFlow::read_memory(const nlohmann::json& from,
                                                                     const SimulationState& state) const {
  auto memory = std::make_shared<PlansMemory>(slot());
  if (auto done = read_members(from, *memory); !done) return fail(std::move(done.error()));
  if (auto error = memory->contradiction(state)) return fail(*std::move(error));
  const WholeSeconds now = whole_seconds_passed(state.now);
  const std::size_t most = std::max<std::size_t>(memory->total.size(), 1);
  const auto is_plan = [&](const auto& plan) {
    return plan.first < state.jobs.size() && plan.second.gpus.steps().front().time <= now;
  };
  for (const SharePlanner::Plans& plans : memory->plans) {
    if (memory->plans.size() > most || !std::ranges::all_of(plans.jobs, is_plan))
      return fail({.field = "plans", .message = "expected plans of live jobs by type that have begun"});
  }
  return memory;
}

}  // namespace vtrain
