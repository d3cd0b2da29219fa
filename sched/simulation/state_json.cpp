#include "sched/simulation/state_json.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/io/json_members.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kStateVersion = 1;
/// Latest time of a state, and its earliest past with the sign changed. 73 years.
constexpr std::int64_t kStateTimes = std::int64_t{1} << 61;
constexpr std::int64_t kMostIterations = std::int64_t{1} << 62;

bool is_past(SimTime time) {
  const std::int64_t ns = time.time_since_epoch().count();
  return -kStateTimes <= ns && ns <= kStateTimes;
}

}  // namespace

template <class Archive>
void members(Archive& archive, NodeShare& share) {
  archive("node", share.node);
  archive("gpus", share.gpus);
  archive("first_gpu", share.first_gpu, 0);
  archive.check(share.gpus.value >= 1, "gpus", "at least 1");
}

template <class Archive>
void members(Archive& archive, JobOutcome& outcome) {
  archive("start_ns", outcome.start, SimTime{});
  archive("end_ns", outcome.end, SimTime{});
  archive("finished_ns", outcome.finished, SimTime{});
  archive("attained_ns", outcome.attained, SimDuration(0));
  archive("gpu_time", outcome.gpu_time, GpuTime{});
  archive("preemptions", outcome.preemptions, 0);
  archive("resizes", outcome.resizes, 0);
  archive("failures", outcome.failures, 0);
  archive("promised_ns", outcome.promised, JobOutcome::kNoPromise);
  archive.choice("state", outcome.state, JobState::Cancelled);
  archive("rejected_by_policy", outcome.rejected_by_policy, false);
  archive.check(outcome.state == JobState::Waiting || outcome.state == JobState::Running, "state",
                "the number of a job that waits or runs");
  archive.check(outcome.attained.count() >= 0 && outcome.attained.count() <= kStateTimes, "attained_ns",
                "0 to 2^61");
}

template <class Archive>
void members(Archive& archive, JobOverhead& overhead) {
  archive("plan", overhead.plan, SegmentTiming{});
  archive("predicted", overhead.predicted, SegmentTiming{});
  archive("lost_ns", overhead.lost, SimDuration(0));
  archive("planned_time_ns", overhead.planned_time, SimDuration(0));
  archive("planned_end_ns", overhead.planned_end, SimTime{});
  archive.check(std::abs(overhead.lost.count()) <= kStateTimes, "lost_ns", "-2^61 to 2^61");
}

template <class Archive>
void members(Archive& archive, SegmentAccounting::State& state) {
  archive("overhead", state.overhead);
  archive.choice("start", state.start, SegmentAccounting::Start::AfterFailure);
}

template <class Archive>
void members(Archive& archive, LiveJob& job) {
  archive("outcome", job.outcome);
  archive("iterations", job.iterations, 0);
  archive("accounting", job.accounting);
  archive("has_started", job.has_started, false);
  archive("resumed_ns", job.resumed, SimTime{});
  archive("num_gpus", job.num_gpus, GpuCount(0));
  archive("gang", job.gang, {});
  std::int64_t gpus = 0;
  for (const NodeShare& share : job.gang)
    gpus += share.gpus.value;
  archive.check(gpus <= std::numeric_limits<std::int32_t>::max(), "gang", "less than 2^31 GPUs");
  archive.check(std::abs(job.iterations) <= static_cast<double>(kMostIterations), "iterations",
                "-2^62 to 2^62");
  archive.check(is_past(job.resumed), "resumed_ns", "-2^61 to 2^61");
  archive.check(job.accounting.overhead.lost <= job.outcome.attained, "accounting",
                "no more time lost than held");
}

namespace {

/// A document with a state.
struct StateDocument {
  SimulationState state{};
  const nlohmann::json* memory = nullptr;  ///< memory of the policy; null: none
  std::int64_t version = kStateVersion;

  template <class Archive>
  void members(Archive& archive) {
    archive("version", version);
    archive.check(version == kStateVersion, "version", "1");
    archive("now_ns", state.now);
    archive.check(state.now >= SimTime{} && is_past(state.now), "now_ns", "0 to 2^61");
    archive("jobs", state.jobs);
    archive("out_of_service", state.out_of_service);
    archive("memory", memory, nullptr);
  }
};

}  // namespace

nlohmann::json to_json(const SimulationState& state) {
  const nlohmann::json memory = state.memory != nullptr ? state.memory->to_json() : nlohmann::json();
  return json_of_members(StateDocument{state, state.memory != nullptr ? &memory : nullptr});
}

Result<SimulationState> state_from_json(const nlohmann::json& from, const Policy& policy) {
  StateDocument read;
  if (auto done = read_members(from, read); !done) return fail(std::move(done.error()));
  if (read.memory == nullptr) return std::move(read.state);
  auto memory = policy.read_memory(*read.memory, read.state);
  if (!memory) {
    Error error = std::move(memory.error());
    error.field = error.field.empty() ? "memory" : "memory." + error.field;
    return fail(std::move(error));
  }
  read.state.memory = *std::move(memory);
  return std::move(read.state);
}

}  // namespace vtrain
