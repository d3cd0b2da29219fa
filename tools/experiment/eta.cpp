#include "tools/experiment/eta.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "tools/experiment/decision.hpp"
#include "tools/experiment/in_parallel.hpp"

namespace vtrain {
namespace {

/// Keeps the first reason of each job.
class FirstReasons final : public ReasonObserver {
 public:
  explicit FirstReasons(std::size_t jobs) : reasons_(jobs) {}
  void take(std::span<const ReasonChange> changes) override {
    for (const ReasonChange& change : changes) {
      std::optional<ReasonChange>& first = reasons_[change.job.value];
      if (!first) first = change;
    }
  }
  ReasonChange of(std::size_t job) const {
    return reasons_[job].value_or(
        ReasonChange{.job = JobId(static_cast<std::uint32_t>(job)), .reason = WaitReason::None});
  }

 private:
  std::vector<std::optional<ReasonChange>> reasons_;
};

/// Start and end of each job in one simulation; none: it did not start.
using Times = std::vector<std::optional<std::pair<SimTime, SimTime>>>;

SimDuration held_of(const EtaQuestion& question, std::size_t job) {
  if (job >= question.state.jobs.size()) return {};
  const LiveJob& live = question.state.jobs[job];
  SimDuration held = live.outcome.attained;
  if (live.outcome.state == JobState::Running) held += question.state.now - live.resumed;
  return held;
}

/// Simulates until a job starts, or never will.
Result<void> run_to_start(Simulation& simulation, JobId job) {
  while (true) {
    const JobState state = simulation.outcome(job).state;
    if (state != JobState::Waiting && state != JobState::NotSubmitted) return {};
    const auto next = simulation.next_event();
    if (!next) return {};
    if (auto done = simulation.run_until(*next); !done) return done;
  }
}

Result<std::unique_ptr<Policy>> make_policy_of(const EtaQuestion& question,
                                               const PolicyArguments& arguments) {
  return question.make_policy ? question.make_policy(arguments) : arguments.policy().make(arguments);
}

/// Reasons for which jobs wait after the first pass.
struct FirstLook {
  explicit FirstLook(std::size_t jobs) : reasons(jobs), words(jobs) {}

  FirstReasons reasons;
  std::vector<PolicyWords> words;  ///< [job]
};

/// One simulation. `look` may be null.
Result<Times> simulate_once(const EtaQuestion& question, Policy& policy, std::int64_t sample,
                            FirstLook* look) {
  Workload workload = question.workload.copy_with_texts_of_this();
  RandomStream random(question.seed, fmt::format("eta {}", sample));
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    Job& job = workload.jobs[i];
    job.duration = question.run_times[i].draw(random, held_of(question, i));
    if (job.requested_time.count() > 0) job.requested_time = std::max(job.requested_time, job.duration);
  }
  SimulationOptions options{.placement = question.placement, .policy_name = question.policy};
  if (look != nullptr) options.reasons.all = &look->reasons;
  auto simulation = Simulation::begin(std::move(workload), question.cluster, policy, options, question.state);
  if (!simulation) return fail(std::move(simulation.error()));
  for (std::uint32_t i = 0; look != nullptr && i < question.state.jobs.size(); ++i) {
    if (simulation->outcome(JobId(i)).state == JobState::Waiting) look->words[i] = policy.words_on(JobId(i));
  }
  Times times(question.workload.jobs.size());
  if (question.only) {
    if (auto done = run_to_start(*simulation, question.only); !done) return fail(std::move(done.error()));
    const JobOutcome outcome = simulation->outcome(question.only);
    if (outcome.state == JobState::Running || outcome.state == JobState::Completed)
      times[question.only.value] = std::pair(outcome.start, outcome.start);
    return times;
  }
  const auto result = simulation->finish();
  if (!result) return fail(result.error());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const JobOutcome& outcome = result->outcomes[i];
    if (outcome.state == JobState::Completed || outcome.state == JobState::Failed)
      times[i] = std::pair(outcome.start, outcome.end);
  }
  return times;
}

LikelyTime likely(std::vector<SimTime>& times, std::size_t samples) {
  std::ranges::sort(times);
  LikelyTime found;
  if (const auto at = quantile_position(times.size(), samples, 0.5)) found.p50 = times[*at];
  if (const auto at = quantile_position(times.size(), samples, 0.9)) found.p90 = times[*at];
  return found;
}

bool has_started(const EtaQuestion& question, std::size_t job) {
  return job < question.state.jobs.size() && question.state.jobs[job].outcome.state == JobState::Running;
}

}  // namespace

SimDuration RunTimes::draw(RandomStream& random, SimDuration held) const {
  const double part = random.uniform();
  const auto first = std::ranges::upper_bound(values, held) - values.begin();
  const auto left = std::ssize(values) - first;
  if (left == 0) return longest(held);
  const auto position = first + static_cast<std::ptrdiff_t>(part * static_cast<double>(left));
  return values[static_cast<std::size_t>(std::min(position, std::ssize(values) - 1))];
}

SimDuration RunTimes::longest(SimDuration held) const {
  if (values.back() > held) return values.back();
  return held + std::max<SimDuration>(held / 10, std::chrono::minutes(1));
}

std::optional<std::size_t> quantile_position(std::size_t values, std::size_t count, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(count)));
  if (rank == 0 || rank > values) return std::nullopt;
  return rank - 1;
}

Result<EtaAnswer> estimate_starts(const EtaQuestion& question, const PolicyRegistry& registry) {
  const auto arguments = registry.parse(question.policy);
  if (!arguments) return fail(arguments.error());
  const auto policy = make_policy_of(question, *arguments);
  if (!policy) return fail(policy.error());
  if (auto checked = check_begins_with_jobs(**policy, *arguments, registry); !checked)
    return fail(checked.error());
  const auto follows = (*policy)->follow(question.calendar);
  if (!follows) return fail(follows.error());
  // Files of policies are read once, where the policy can do with that.
  const auto new_policy = [&]() -> Result<std::unique_ptr<Policy>> {
    if (auto made = std::as_const(**policy).fresh()) return made;
    return make_policy_of(question, *arguments);
  };

  const auto samples = static_cast<std::size_t>(question.samples);
  std::vector<Times> found(samples);
  FirstLook look(question.workload.jobs.size());
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first_error;
  do_in_parallel(question.threads, samples, [&](std::size_t sample) {
    const auto own = new_policy();
    auto times =
        own ? simulate_once(question, **own, static_cast<std::int64_t>(sample), sample == 0 ? &look : nullptr)
            : Result<Times>(fail(own.error()));
    if (times) {
      found[sample] = *std::move(times);
      return true;
    }
    const std::scoped_lock lock(mutex);
    if (!first_error || sample < first_error->first) first_error.emplace(sample, std::move(times.error()));
    return false;
  });
  if (first_error) return fail(std::move(first_error->second));

  EtaAnswer answer{.samples = question.samples, .follows_calendar = *follows};
  for (std::size_t i = 0; i < question.workload.jobs.size(); ++i) {
    if (has_started(question, i) || (question.only && question.only.value != i)) continue;
    std::vector<SimTime> starts;
    std::vector<SimTime> ends;
    for (const Times& times : found) {
      if (!times[i]) continue;
      starts.push_back(times[i]->first);
      ends.push_back(times[i]->second);
    }
    answer.jobs.push_back({.job = JobId(static_cast<std::uint32_t>(i)),
                           .start = likely(starts, samples),
                           .end = likely(ends, samples),
                           .starts = static_cast<double>(starts.size()) / static_cast<double>(samples),
                           .now = look.reasons.of(i),
                           .words = look.words[i]});
  }
  // A job that never starts in half of the simulations is ahead of nobody.
  std::vector<const JobEta*> by_start;
  for (const JobEta& each : answer.jobs) {
    if (each.start.p50) by_start.push_back(&each);
  }
  std::ranges::stable_sort(by_start, {}, [](const JobEta* each) { return *each->start.p50; });
  for (JobEta& each : answer.jobs) {
    if (!each.start.p50) continue;
    for (const JobEta* other : by_start) {
      if (*other->start.p50 >= *each.start.p50) break;
      each.ahead.push_back(other->job);
    }
  }
  return answer;
}

}  // namespace vtrain
