#include "tools/experiment/admission.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <utility>

#include "tools/experiment/decision.hpp"
#include "tools/experiment/in_parallel.hpp"

namespace vtrain {
namespace {

/// Differences of ends that nobody notices.
constexpr SimDuration kUnnoticed = std::chrono::milliseconds(1);

/// Numbers of the jobs of a simulation, by `JobId`. It grows while the simulation runs.
using JobNumbers = std::vector<JobId>;

/// Speeds of jobs that have other numbers in the simulation.
class RenumberedSpeeds final : public GangSpeedModel {
 public:
  RenumberedSpeeds(GangSpeedModel& speeds, const JobNumbers& numbers) : speeds_(speeds), numbers_(numbers) {}
  bool knows(JobId job) const override { return speeds_.knows(numbers_[job.value]); }
  GangSpeed at(JobId job, GpuCount num_gpus, const GangSite& site) override {
    return speeds_.at(numbers_[job.value], num_gpus, site);
  }
  double slowest(JobId job, GpuCount num_gpus, bool may_spread) override {
    return speeds_.slowest(numbers_[job.value], num_gpus, may_spread);
  }

 private:
  GangSpeedModel& speeds_;
  const JobNumbers& numbers_;
};

/// Errors of jobs that have other numbers in the simulation.
class RenumberedErrors final : public RunTimeErrors {
 public:
  RenumberedErrors(std::unique_ptr<RunTimeErrors> errors, const JobNumbers& numbers)
      : errors_(std::move(errors)), numbers_(numbers) {}
  bool knows(JobId job) const override { return errors_->knows(numbers_[job.value]); }
  double time_factor(JobId job, GpuCount num_gpus, std::uint32_t gpu_type) const override {
    return errors_->time_factor(numbers_[job.value], num_gpus, gpu_type);
  }

 private:
  std::unique_ptr<RunTimeErrors> errors_;
  const JobNumbers& numbers_;
};

/// Takes in reasons that nobody reads: a watched job's segments are kept.
class NoReader final : public ReasonObserver {
 public:
  void take(std::span<const ReasonChange> /*changes*/) override {}
};

/// True if a job neither waits nor runs, nor is to come.
bool is_over(JobState state) {
  return state != JobState::NotSubmitted && state != JobState::Waiting && state != JobState::Running;
}

/// True if a job has had its time on GPUs.
bool is_done(const JobOutcome& outcome) {
  return outcome.state == JobState::Completed || outcome.state == JobState::Failed;
}

}  // namespace

/// A simulation with all that it refers to.
struct Admission::Run {
  /// A job that comes later, with its number.
  struct LaterJob {
    std::string name{};
    Job job{};
    JobId number{};
  };

  std::unique_ptr<Policy> policy{};
  JobNumbers numbers{};
  std::unique_ptr<GangSpeedModel> speeds{};
  std::unique_ptr<RunTimeErrors> errors{};
  std::unique_ptr<ReasonObserver> reader{};
  std::vector<LaterJob> later{};  ///< ascending by submission, not submitted yet
  std::optional<Simulation> simulation{};

  /// Submits the later jobs up to a time.
  Result<void> submit_until(SimTime time) {
    const auto behind =
        std::ranges::upper_bound(later, time, {}, [](const LaterJob& each) { return each.job.submit; });
    for (auto each = later.begin(); each != behind; ++each) {
      if (auto id = submit(each->name, each->job, each->number); !id) return fail(std::move(id.error()));
    }
    later.erase(later.begin(), behind);
    return {};
  }
  Result<JobId> submit(std::string_view name, const Job& job, JobId number) {
    numbers.push_back(number);  // the simulation may ask at once
    auto id = simulation->submit(name, job);
    if (!id) numbers.pop_back();
    return id;
  }
  std::optional<SimTime> next_event() {
    const auto next = simulation->next_event();
    if (later.empty()) return next;
    return std::min(next.value_or(SimTime::max()), later.front().job.submit);
  }
  Result<void> run_until(SimTime time) {
    // Each later job is submitted before the time beyond it is reached.
    if (auto done = submit_until(time); !done) return done;
    return simulation->run_until(time);
  }
};

struct Admission::Parts {
  AdmissionSetup setup;
  std::optional<PolicyArguments> arguments{};
  bool is_elastic = false;
  bool gives_promises = false;
  std::function<bool()> is_late{};  ///< empty: questions may take any time
  std::unique_ptr<Run> live{};
  std::vector<SimTime> deadlines{};  ///< by number
  mutable std::mutex mutex{};
  mutable std::shared_ptr<const AdmissionForecast> without{};  ///< null: not known

  Result<std::unique_ptr<Run>> begin(Workload workload, const SimulationState& state, JobNumbers numbers,
                                     std::vector<Run::LaterJob> later, JobId watched,
                                     std::unique_ptr<RunTimeErrors> errors) const;
  /// A copy of the live simulation. It watches a job of this id.
  Result<std::unique_ptr<Run>> fork(JobId watched = {}, std::unique_ptr<RunTimeErrors> errors = {}) const;
  /// A copy in which a job has been submitted, and its id. `watches` keeps its segments.
  Result<std::pair<std::unique_ptr<Run>, JobId>> fork_with(std::string_view name, const Job& job,
                                                           bool watches,
                                                           std::unique_ptr<RunTimeErrors> errors = {}) const;
  Result<std::shared_ptr<const AdmissionForecast>> forecast() const;
  Result<AdmissionForecast> finish(Run& run, std::vector<JobSegment>* segments) const;
  void change() { without.reset(); }
  /// True if the promise of a job counts.
  bool counts(const JobOutcome& outcome, const Job& job) const {
    return outcome.has_promise() && (!setup.promises_at_once || outcome.promised <= job.submit);
  }
  JobId next_number() const { return JobId(static_cast<std::uint32_t>(deadlines.size())); }
};

auto Admission::Parts::begin(Workload workload, const SimulationState& state, JobNumbers numbers,
                             std::vector<Run::LaterJob> later, JobId watched,
                             std::unique_ptr<RunTimeErrors> errors) const -> Result<std::unique_ptr<Run>> {
  auto run = std::make_unique<Run>();
  auto policy = arguments->policy().make(*arguments);
  if (!policy) return fail(policy.error());
  run->policy = *std::move(policy);
  run->numbers = std::move(numbers);
  run->later = std::move(later);
  SimulationOptions options = setup.options;
  options.policy_name = setup.policy;
  options.expects_more = true;
  if (setup.options.gang_speed_model != nullptr) {
    run->speeds = std::make_unique<RenumberedSpeeds>(*setup.options.gang_speed_model, run->numbers);
    options.gang_speed_model = run->speeds.get();
  }
  if (errors != nullptr) {
    run->errors = std::make_unique<RenumberedErrors>(std::move(errors), run->numbers);
    options.run_time_errors = run->errors.get();
  }
  if (watched) {
    run->reader = std::make_unique<NoReader>();
    options.reasons = {.watched = run->reader.get(), .job = watched};
  }
  auto simulation = Simulation::begin(std::move(workload), setup.cluster, *run->policy, options, state);
  if (!simulation) return fail(std::move(simulation.error()));
  run->simulation.emplace(*std::move(simulation));
  return run;
}

auto Admission::Parts::fork(JobId watched, std::unique_ptr<RunTimeErrors> errors) const
    -> Result<std::unique_ptr<Run>> {
  if (is_late && is_late())
    return fail({.kind = ErrorKind::Failed, .message = "the simulations take longer than there is time"});
  const Simulation& simulation = *live->simulation;
  const std::vector<JobId> ids = simulation.live();
  Workload workload = simulation.workload().copy_without_jobs();
  JobNumbers numbers;
  for (const JobId id : ids) {
    workload.jobs.push_back(simulation.workload().jobs[id.value]);
    numbers.push_back(live->numbers[id.value]);
  }
  return begin(std::move(workload), simulation.state(), std::move(numbers), live->later, watched,
               std::move(errors));
}

auto Admission::Parts::fork_with(std::string_view name, const Job& job, bool watches,
                                 std::unique_ptr<RunTimeErrors> errors) const
    -> Result<std::pair<std::unique_ptr<Run>, JobId>> {
  const auto before = std::ranges::count_if(
      live->later, [&](const Run::LaterJob& each) { return each.job.submit <= job.submit; });
  JobId watched;
  if (watches)
    watched =
        JobId(static_cast<std::uint32_t>(live->simulation->live().size() + static_cast<std::size_t>(before)));
  auto run = fork(watched, std::move(errors));
  if (!run) return fail(std::move(run.error()));
  if (auto done = (*run)->submit_until(job.submit); !done) return fail(std::move(done.error()));
  auto id = (*run)->submit(name, job, next_number());
  if (!id) return fail(std::move(id.error()));
  if (auto done = (*run)->run_until(job.submit); !done) return fail(std::move(done.error()));
  return std::pair(*std::move(run), *id);
}

Result<AdmissionForecast> Admission::Parts::finish(Run& run, std::vector<JobSegment>* segments) const {
  if (auto done = run.submit_until(SimTime::max()); !done) return fail(std::move(done.error()));
  auto result = run.simulation->finish();
  if (!result) return fail(std::move(result.error()));
  AdmissionForecast forecast{.outcomes = std::vector<JobOutcome>(deadlines.size() + 1),
                             .gpus = std::move(result->samples)};
  for (std::size_t i = 0; i < result->outcomes.size(); ++i)
    forecast.outcomes[run.numbers[i].value] = result->outcomes[i];
  if (segments != nullptr) *segments = std::move(result->explained_segments);
  return forecast;
}

Result<std::shared_ptr<const AdmissionForecast>> Admission::Parts::forecast() const {
  {
    const std::scoped_lock lock(mutex);
    if (without != nullptr) return without;
  }
  auto run = fork();
  if (!run) return fail(std::move(run.error()));
  auto made = finish(**run, nullptr);
  if (!made) return fail(std::move(made.error()));
  const std::scoped_lock lock(mutex);
  without = std::make_shared<const AdmissionForecast>(*std::move(made));
  return without;
}

Admission::Admission(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Admission::Admission(Admission&&) noexcept = default;
Admission& Admission::operator=(Admission&&) noexcept = default;
Admission::~Admission() = default;

Result<Admission> Admission::begin(AdmissionSetup setup, const PolicyRegistry& registry) {
  auto arguments = registry.parse(setup.policy);
  if (!arguments) return fail(std::move(arguments.error()));
  const auto policy = arguments->policy().make(*arguments);
  if (!policy) return fail(policy.error());
  if (auto checked = check_begins_with_jobs(**policy, *arguments, registry); !checked)
    return fail(checked.error());
  auto parts = std::make_unique<Parts>();
  parts->setup = std::move(setup);
  parts->arguments = *std::move(arguments);
  parts->is_elastic = (*policy)->progress_rule() != ProgressRule::Duration;
  parts->gives_promises = (*policy)->gives_promises();
  Workload workload = std::move(parts->setup.workload);
  const SimulationState state = std::exchange(parts->setup.state, {});
  JobNumbers numbers;
  std::vector<Run::LaterJob> later;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobId number(static_cast<std::uint32_t>(i));
    parts->deadlines.push_back(workload.jobs[i].deadline);
    if (i < state.jobs.size())
      numbers.push_back(number);
    else
      later.push_back({std::string(workload.jobs[i].name), workload.jobs[i], number});
  }
  workload.jobs.resize(state.jobs.size());
  auto run = parts->begin(std::move(workload), state, std::move(numbers), std::move(later), {}, {});
  if (!run) return fail(std::move(run.error()));
  parts->live = *std::move(run);
  return Admission(std::move(parts));
}

Job Admission::adopt(const Workload& from, const Job& job) {
  return parts_->live->simulation->adopt(from, job);
}

ClusterToday Admission::today() const {
  const Simulation& simulation = *parts_->live->simulation;
  ClusterToday today{.cluster = parts_->setup.cluster,
                     .workload = simulation.workload().copy_without_jobs(),
                     .state = simulation.state(),
                     .has_curves = true};
  const auto add = [&today](Job job) {
    job.name = today.workload.keep(job.name);
    today.workload.jobs.push_back(job);
  };
  for (const JobId id : simulation.live())
    add(simulation.workload().jobs[id.value]);
  for (const Run::LaterJob& later : parts_->live->later)
    add(later.job);
  return today;
}

Result<std::shared_ptr<const AdmissionForecast>> Admission::forecast() const {
  return parts_->forecast();
}

Result<JobId> Admission::admit(std::string_view name, const Job& job) {
  parts_->change();
  if (auto done = parts_->live->submit_until(job.submit); !done) return fail(std::move(done.error()));
  auto id = parts_->live->submit(name, job, parts_->next_number());
  if (!id) return id;
  parts_->deadlines.push_back(job.deadline);
  if (auto done = parts_->live->run_until(job.submit); !done) return fail(std::move(done.error()));
  return id;
}

Result<void> Admission::run_until(SimTime time) {
  const auto next = parts_->live->next_event();
  if (next && *next <= time) parts_->change();
  return parts_->live->run_until(time);
}

Result<void> Admission::tell(SimTime time, const Fact& fact) {
  parts_->change();
  if (const auto* const changed = std::get_if<JobChanged>(&fact); changed != nullptr && changed->deadline) {
    const JobNumbers& numbers = parts_->live->numbers;
    if (changed->job.value < numbers.size())
      parts_->deadlines[numbers[changed->job.value].value] = *changed->deadline;
  }
  return parts_->live->simulation->tell(time, fact);
}

Result<SimulationResult> Admission::finish() {
  if (auto done = parts_->live->submit_until(SimTime::max()); !done) return fail(std::move(done.error()));
  return parts_->live->simulation->finish();
}

Result<AdmissionAnswer> Admission::consider(std::string_view name, const Job& job) const {
  Result<std::shared_ptr<const AdmissionForecast>> without(nullptr);
  Result<AdmissionForecast> with(AdmissionForecast{});
  AdmissionAnswer answer;
  const JobId number = parts_->next_number();
  do_in_parallel(2, 2, [&](std::size_t which) {
    if (which == 1) {
      without = parts_->forecast();
      return true;
    }
    auto forked = parts_->fork_with(name, job, true);
    if (forked)
      with = parts_->finish(*forked->first, &answer.course.segments);
    else
      with = fail(std::move(forked.error()));
    return true;
  });
  if (!with) return fail(std::move(with.error()));
  if (!without) return fail(std::move(without.error()));

  const JobOutcome& mine = answer.course.outcome = with->outcomes[number.value];
  bool breaks = false;
  for (std::uint32_t i = 0; i < number.value; ++i) {
    const JobOutcome& before = (*without)->outcomes[i];
    const JobOutcome& after = with->outcomes[i];
    if (!is_done(before) || (is_done(after) && after.finished <= before.finished + kUnnoticed)) continue;
    const SimTime deadline = parts_->deadlines[i];
    const bool misses = before.finished <= deadline && (!is_done(after) || after.finished > deadline);
    answer.displaced.push_back({.number = JobId(i),
                                .by = is_done(after) ? after.finished - before.finished : SimDuration::max(),
                                .has_promise = before.has_promise(),
                                .misses_deadline = misses});
    breaks = breaks || (misses && (before.has_promise() || !parts_->gives_promises));
  }
  std::ranges::stable_sort(answer.displaced, std::ranges::greater{}, &DisplacedJob::by);
  const bool is_late = mine.state != JobState::Completed || mine.finished > job.deadline;
  if (mine.state == JobState::Rejected)
    answer.reason = mine.rejected_by_policy ? AdmissionReason::Rejected : AdmissionReason::TooLarge;
  else if (mine.state == JobState::Unfinished)
    answer.reason = AdmissionReason::NeverStarts;
  else if (is_late)
    answer.reason = AdmissionReason::Late;
  else if (breaks)
    answer.reason = AdmissionReason::BreaksOther;
  else if (!parts_->gives_promises || !job.has_deadline())
    answer.reason = AdmissionReason::InTime;
  else
    answer.reason = parts_->counts(mine, job) ? AdmissionReason::Promised : AdmissionReason::NotPromised;
  return answer;
}

Result<bool> Admission::would_admit(std::string_view name, const Job& job) const {
  if (!parts_->gives_promises) {
    auto answer = consider(name, job);
    if (!answer) return fail(std::move(answer.error()));
    return answer->is_yes();
  }
  auto forked = parts_->fork_with(name, job, false);
  if (!forked) return fail(std::move(forked.error()));
  auto& [run, id] = *forked;
  while (true) {
    const JobOutcome outcome = run->simulation->outcome(id);
    if (outcome.has_promise() || parts_->setup.promises_at_once) return parts_->counts(outcome, job);
    const auto next = run->next_event();
    if (is_over(outcome.state) || !next || *next > job.deadline) return false;
    if (auto done = run->run_until(*next); !done) return fail(std::move(done.error()));
  }
}

Result<LikelyEnds> Admission::likely_ends(
    std::string_view name, const Job& job, std::int64_t samples, unsigned threads,
    const std::function<std::unique_ptr<RunTimeErrors>(std::int64_t)>& errors_of) const {
  std::vector<Result<std::optional<SimTime>>> found(static_cast<std::size_t>(samples),
                                                    std::optional<SimTime>());
  const auto simulate_once = [&](std::int64_t sample) -> Result<std::optional<SimTime>> {
    auto forked = parts_->fork_with(name, job, false, errors_of(sample));
    if (!forked) return fail(std::move(forked.error()));
    auto& [run, id] = *forked;
    Simulation& simulation = *run->simulation;
    while (!is_over(simulation.outcome(id).state)) {
      const auto next = run->next_event();
      if (!next) break;
      if (auto done = run->run_until(*next); !done) return fail(std::move(done.error()));
    }
    const JobOutcome outcome = simulation.outcome(id);
    return outcome.state == JobState::Completed ? std::optional(outcome.finished) : std::nullopt;
  };
  do_in_parallel(threads, found.size(), [&](std::size_t sample) {
    found[sample] = simulate_once(static_cast<std::int64_t>(sample));
    return true;
  });
  LikelyEnds likely{.samples = samples};
  for (auto& each : found) {
    if (!each) return fail(std::move(each.error()));
    if (!*each) continue;
    likely.ends.push_back(**each);
    likely.in_time += **each <= job.deadline ? 1 : 0;
  }
  std::ranges::sort(likely.ends);
  return likely;
}

Result<std::vector<std::vector<JobOutcome>>> Admission::likely_outcomes(
    std::int64_t samples, unsigned threads,
    const std::function<std::unique_ptr<RunTimeErrors>(std::int64_t)>& errors_of) const {
  std::vector<Result<AdmissionForecast>> found(static_cast<std::size_t>(samples), AdmissionForecast());
  do_in_parallel(threads, found.size(), [&](std::size_t sample) {
    auto run = parts_->fork({}, errors_of(static_cast<std::int64_t>(sample)));
    if (run)
      found[sample] = parts_->finish(**run, nullptr);
    else
      found[sample] = fail(std::move(run.error()));
    return true;
  });
  std::vector<std::vector<JobOutcome>> outcomes;
  for (auto& each : found) {
    if (!each) return fail(std::move(each.error()));
    outcomes.push_back(std::move(each->outcomes));
  }
  return outcomes;
}

const Simulation& Admission::simulation() const {
  return *parts_->live->simulation;
}

JobId Admission::next_number() const {
  return parts_->next_number();
}

JobId Admission::number_of(JobId id) const {
  return parts_->live->numbers[id.value];
}

bool Admission::is_elastic() const {
  return parts_->is_elastic;
}

bool Admission::gives_promises() const {
  return parts_->gives_promises;
}

void Admission::give_up_when(std::function<bool()> is_late) {
  parts_->is_late = std::move(is_late);
}

bool Admission::decides_at_once() const {
  return parts_->live->policy->decides_at_once();
}

}  // namespace vtrain
