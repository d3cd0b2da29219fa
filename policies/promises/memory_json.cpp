/// The memory of `PromisePolicy` as JSON.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/io/json_members.hpp"
#include "policies/promises/promise_memory.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {
namespace {

constexpr PlanTime kLongestSetup = PlanTime{1} << 61;

/// True if a block has a length, which the clock can tell.
bool is_block(const PlanBlock& block) {
  constexpr PlanTime kLast = std::numeric_limits<PlanTime>::max();
  return block.begin < block.end && (block.begin >= 0 || block.end <= kLast + block.begin);
}

}  // namespace

template <class Archive>
void members(Archive& archive, Gear& gear) {
  archive("gpus", gear.gpus.gpus);
  archive("type", gear.gpus.type);
  archive("pool", gear.pool, 0);
  archive("work_per_s", gear.work_per_s);
  archive("speed", gear.speed);
  archive("sure_speed", gear.sure_speed);
  archive("setup_ns", gear.setup, 0);
  archive("slowest", gear.slowest, SegmentTiming{});
  archive("packed", gear.packed, SegmentTiming{});
  archive.check(gear.gpus.gpus.value >= 1, "gpus", "at least 1");
  archive.check(gear.work_per_s > 0, "work_per_s", "more than 0");
  archive.check(gear.speed >= 0, "speed", "0 or more");
  archive.check(gear.sure_speed >= 0, "sure_speed", "0 or more");
  archive.check(0 <= gear.setup && gear.setup <= kLongestSetup, "setup_ns", "0 to 2^61");
}

template <class Archive>
void members(Archive& archive, PlanBlock& block) {
  archive("begin_ns", block.begin);
  archive("end_ns", block.end);
  archive("gear", block.gear);
}

template <class Archive>
void members(Archive& archive, WorkPlan& plan) {
  const auto after = [](const PlanBlock& one, const PlanBlock& next) { return one.end > next.begin; };
  archive.choice("kind", plan.kind, WorkPlan::Kind::First);
  archive("blocks", plan.blocks, {});
  archive.check(plan.blocks.empty() == (plan.kind == WorkPlan::Kind::None), "blocks",
                "blocks in all plans but the empty one");
  archive.check(std::ranges::all_of(plan.blocks, is_block) &&
                    std::ranges::adjacent_find(plan.blocks, after) == plan.blocks.end(),
                "blocks", "ascending times");
}

template <class Archive>
void PromisePolicy::LiveJob::members(Archive& archive) {
  archive("id", id);
  archive("gears", gears);
  archive("left", left);
  archive("booked_ns", booked, SimDuration(0));
  archive("run_time_ns", run_time);
  archive("deadline_ns", deadline, kNever);
  archive("aim_ns", aim, kNever);
  archive("plan", plan);
  archive("has_started", has_started, false);
  archive("is_kept", is_kept, false);
  archive("is_new", is_new, false);
  archive("gear", gear, kNoGear);
  archive("end_ns", end, kNever);
  archive("speed", speed, 0);
  archive("works_from_ns", works_from, 0);
  archive("left_now", left_now);
  archive.choice("claim", claim, Claim::Late);
  archive("slack_ns", slack, kNever);
  archive("next", next);
  archive("rank", rank, kNoRank);
}

template <class Archive>
void PromisePolicy::Memory::members(Archive& archive) {
  archive("kind", kind);
  archive.check(kind == "promises", "kind", "promises");
  archive("now_ns", now);
  archive("last_pass_ns", last_pass);
  archive("any_gpus", any_gpus);
  archive("total_gpus", total);
  archive("jobs", jobs);
  archive("tenant_gpu_s", tenant_gpu_s);
}

nlohmann::json PromisePolicy::Memory::to_json() const {
  return json_of_members(*this);
}

const char* PromisePolicy::contradiction(const Memory& memory, const LiveJob& job,
                                         const SimulationState& state) {
  const std::size_t num_gears = job.gears.size();
  if (job.id.value >= state.jobs.size()) return "the number of a live job";
  if (num_gears == 0 || job.fastest <= 0) return "gears with a speed";
  for (const Gear& gear : job.gears) {
    if (gear.pool >= memory.total.size() || gear.gpus.type.value_or(gear.pool) != gear.pool)
      return "gears of the cluster's types";
  }
  for (const PlanBlock& block : job.plan.blocks) {
    if (block.gear >= num_gears) return "a plan on gears of the job";
  }
  if (job.next.gear >= num_gears) return "a next block on a gear of the job";
  if (job.slack != kNever && job.slack > kNever - memory.now) return "a time until its plan begins";
  if (job.gear < kNoGear || job.gear >= static_cast<std::int32_t>(num_gears)) return "a gear of its own";
  const vtrain::LiveJob& live = state.jobs[job.id.value];
  const std::int32_t held = job.runs() ? job.gears[static_cast<std::size_t>(job.gear)].gpus.gpus.value : 0;
  if (held != (live.outcome.state == JobState::Running ? live.num_gpus.value : 0))
    return "the GPUs that the job holds in the state";
  if (job.left < 0 || job.left_now < 0) return "work that is left";
  return nullptr;
}

std::optional<Error> PromisePolicy::contradiction(const Memory& memory, const SimulationState& state) {
  const auto error = [](std::string field, std::string expected) {
    return Error{.field = std::move(field), .message = "expected " + std::move(expected)};
  };
  const PlanTime now = state.now.time_since_epoch().count();
  if (memory.now < 0 || memory.now > now) return error("now_ns", "0 up to the time of the state");
  if (memory.last_pass > memory.now) return error("last_pass_ns", "a time up to that of the memory");
  if (memory.total.empty() || std::ranges::any_of(memory.total, [](std::int64_t gpus) {
        return gpus < 0 || gpus > std::numeric_limits<std::int32_t>::max();
      }))
    return error("total_gpus", "numbers of GPUs");
  std::vector<bool> is_known(state.jobs.size());
  std::vector<bool> is_taken(memory.jobs.size());
  for (std::size_t i = 0; i < memory.jobs.size(); ++i) {
    const LiveJob& job = memory.jobs[i];
    const std::string field = "jobs[" + std::to_string(i) + "]";
    if (const char* const expected = contradiction(memory, job, state)) return error(field, expected);
    if (is_known[job.id.value]) return error(field + ".id", "each job once");
    is_known[job.id.value] = true;
    if (job.rank == kNoRank) continue;
    if (job.rank >= is_taken.size() || is_taken[job.rank])
      return error(field + ".rank", "a place of its own");
    is_taken[job.rank] = true;
  }
  return std::nullopt;
}

Result<std::shared_ptr<const PolicyMemory>> PromisePolicy::read_memory(const nlohmann::json& from,
                                                                       const SimulationState& state) const {
  auto memory = std::make_shared<Memory>();
  if (auto done = read_members(from, *memory); !done) return fail(std::move(done.error()));
  for (LiveJob& job : memory->jobs) {
    if (!job.gears.empty()) job.take_gears();
  }
  if (auto error = contradiction(*memory, state)) return fail(*std::move(error));
  return memory;
}

}  // namespace vtrain
