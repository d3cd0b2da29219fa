// `chronus` (Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs",
// SoCC'21). Time is divided into leases. Deadlines are rounded down to whole leases, and the work of a job is
// estimated in leases. A job with a deadline is accepted if it and all accepted jobs can get their leases in
// time. The holder of a lease is decided at its start. Jobs without a deadline and unaccepted jobs take the
// GPUs without a lease: least remaining GPU time first, then jobs that miss their deadline anyway, then
// accepted jobs whose leases come later. No job is preempted before the lease ends. Gangs have the requested
// size, and every GPU counts as equal.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/text/quantities.hpp"
#include "policies/base/policies.hpp"
#include "policies/chronus/lease_book.hpp"
#include "policies/list/ordered_jobs.hpp"
#include "sched/simulation/rounds.hpp"

namespace vtrain {
namespace {

/// Jobs that go first among plans that serve all accepted jobs.
enum class LeasePreference : std::uint8_t {
  Adaptive,  ///< late while an unaccepted job may still meet its deadline, otherwise early
  Early,     ///< accepted jobs run as soon as possible
  Late,      ///< accepted jobs leave the current lease to others as long as possible
};

/// The parameters of `chronus`.
struct ChronusOptions {
  SimDuration lease = std::chrono::minutes(20);
  SimDuration overhead{0};  ///< cost of one preemption in estimates
  double inflation = 1;     ///< factor of estimates
  LeasePreference preference = LeasePreference::Adaptive;
  LeaseBookOptions book{};
};

LeaseCapacity capacity_of(const SchedulingPass& pass) {
  return {.first = pass.usable_gpus(), .later = pass.total_gpus()};
}

class Chronus final : public Policy {
 public:
  explicit Chronus(const ChronusOptions& options) : options_(options), book_(options.book) {}

  void schedule(SchedulingPass& pass) override;
  std::vector<PolicyFigure> figures() const override;

 private:
  /// Prospects of a live job.
  enum class Standing : std::uint8_t { BestEffort, Unaccepted, Late, Accepted };

  SimTime start_of(std::int64_t lease) const;
  Standing& standing(JobId job) { return standings_[job.value]; }
  /// Key of a job among those that wait for GPUs without a lease. It changes only with the job's standing and
  /// with the time for which it has run.
  ListedJob listed(const SchedulingPass& pass, JobId job) const;
  /// Estimated leases of the job's work from the start of `first_` on.
  std::int64_t required_leases(const SchedulingPass& pass, JobId job) const;

  /// Removes jobs that have ended or lost their GPUs since the last pass.
  void take_out(SchedulingPass& pass);
  void admit(SchedulingPass& pass, JobId job);
  void change_standing(const SchedulingPass& pass, JobId job, Standing to);
  /// Finds the unaccepted jobs that can no longer meet their deadlines.
  void find_late(const SchedulingPass& pass);

  /// Decides the holders of GPUs at the start of a lease.
  void begin_lease(SchedulingPass& pass);
  void choose_holders(SchedulingPass& pass);
  /// Chooses jobs for the GPUs without a lease, by number of GPUs; running jobs not chosen are preempted.
  void choose_others(SchedulingPass& pass);
  /// Starts holders that wait. At the start of a lease running jobs without one make room if needed.
  void start_holders(SchedulingPass& pass, bool may_preempt);
  /// Starts waiting jobs on free GPUs.
  void start_others(SchedulingPass& pass);

  ChronusOptions options_;
  LeaseBook book_;
  std::vector<Standing> standings_;  ///< standing by `JobId`
  std::int64_t first_ = 0;           ///< first lease that can be planned in this pass
  std::vector<JobId> holders_;       ///< holders of the current lease; all run unless nodes have no room
  std::vector<JobId> running_;       ///< running jobs without a lease
  OrderedJobs waiting_;              ///< waiting jobs without a lease
  std::vector<JobId> unaccepted_;    ///< unaccepted jobs; some may have ended or missed their deadlines
  std::int64_t num_unaccepted_ = 0;  ///< total number of unaccepted jobs
  std::int64_t num_unplaced_ = 0;    ///< leases that began without room on the nodes for their gang
};

SimTime Chronus::start_of(std::int64_t lease) const {
  return SimTime(options_.lease * lease);
}

ListedJob Chronus::listed(const SchedulingPass& pass, JobId job) const {
  const Standing standing = standings_[job.value];
  const GpuCount num_gpus = pass.job(job).num_gpus;
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(pass.planned_remaining(job)).count();
  const std::int64_t order = standing == Standing::Accepted ? 2 : standing == Standing::Late ? 1 : 0;
  return {.key = {.primary = order, .secondary = seconds * num_gpus.value},
          .stamp = job.value,
          .job = job,
          .num_gpus = num_gpus};
}

std::int64_t Chronus::required_leases(const SchedulingPass& pass, JobId job) const {
  SimDuration left = pass.planned_remaining(job);
  if (pass.state(job) == JobState::Running) left -= start_of(first_) - pass.now();
  if (left.count() <= 0) return 0;
  const double lease_s = to_seconds(options_.lease);
  const double preemptions_per_lease = 1 + std::log2(pass.job(job).num_gpus.value);
  const double inflation =
      (1 + preemptions_per_lease * to_seconds(options_.overhead) / lease_s) * options_.inflation;
  if (to_seconds(left) * inflation > static_cast<double>(kLeaseHorizon) * lease_s) return kLeaseHorizon + 1;
  // Only additions are rounded: an estimate without them is exact.
  const SimDuration added(std::llround(static_cast<double>(left.count()) * (inflation - 1)));
  return (left + added - SimDuration(1)) / options_.lease + 1;
}

void Chronus::schedule(SchedulingPass& pass) {
  standings_.resize(pass.jobs().size());
  const std::int64_t lease = round_of(pass.now(), options_.lease);
  const bool begins = start_of(lease) == pass.now();
  first_ = begins ? lease : lease + 1;
  take_out(pass);
  for (const JobId job : pass.arrived())
    admit(pass, job);
  if (begins)
    begin_lease(pass);
  else
    start_holders(pass, false);
  start_others(pass);
  const bool looks_again = !book_.empty() || !waiting_.empty();
  if (looks_again && pass.now() < SimTime::max() - options_.lease) pass.wake_at(start_of(lease + 1));
}

void Chronus::take_out(SchedulingPass& pass) {
  if (!pass.ended().empty()) {
    book_.remove_if([&](JobId job) { return !pass.is_live(job); });
    std::erase_if(holders_, [&](JobId job) { return !pass.is_live(job); });
  }
  std::erase_if(running_, [&](JobId job) {
    const JobState state = pass.state(job);
    if (state == JobState::Waiting) waiting_.insert(listed(pass, job));
    return state != JobState::Running;
  });
}

void Chronus::admit(SchedulingPass& pass, JobId job) {
  const Job& description = pass.job(job);
  standing(job) = Standing::BestEffort;
  if (description.has_deadline()) {
    book_.update(first_, [&](JobId accepted) { return required_leases(pass, accepted); });
    const LeasedJob leased{.job = job,
                           .num_gpus = description.num_gpus,
                           .required = required_leases(pass, job),
                           .end = round_of(description.deadline, options_.lease)};
    const bool accepted = book_.admit(leased, first_, capacity_of(pass));
    standing(job) = accepted ? Standing::Accepted : Standing::Unaccepted;
    if (accepted) {
      pass.promise(job);
    } else {
      unaccepted_.push_back(job);
      ++num_unaccepted_;
    }
  }
  waiting_.insert(listed(pass, job));
}

void Chronus::change_standing(const SchedulingPass& pass, JobId job, Standing to) {
  if (pass.state(job) == JobState::Waiting) waiting_.erase(listed(pass, job));
  standing(job) = to;
  if (pass.state(job) == JobState::Waiting) waiting_.insert(listed(pass, job));
}

void Chronus::find_late(const SchedulingPass& pass) {
  std::erase_if(unaccepted_, [&](JobId job) {
    if (!pass.is_live(job)) return true;
    if (pass.planned_remaining(job) <= pass.job(job).deadline - pass.now()) return false;
    change_standing(pass, job, Standing::Late);
    return true;
  });
}

void Chronus::begin_lease(SchedulingPass& pass) {
  // Between leases no job holds one.
  for (const JobId job : holders_) {
    if (pass.state(job) == JobState::Running)
      running_.push_back(job);
    else
      waiting_.insert(listed(pass, job));
  }
  find_late(pass);
  choose_holders(pass);
  choose_others(pass);
  start_holders(pass, true);
}

void Chronus::choose_holders(SchedulingPass& pass) {
  book_.update(first_, [&](JobId job) { return required_leases(pass, job); });
  const bool late = options_.preference == LeasePreference::Late ||
                    (options_.preference == LeasePreference::Adaptive && !unaccepted_.empty());
  const LeaseTieBreak tie_break = late ? LeaseTieBreak::Late : LeaseTieBreak::Early;
  for (const JobId job : book_.replan(first_, capacity_of(pass), tie_break))
    change_standing(pass, job, Standing::Late);

  holders_.clear();
  for (const LeasedJob& leased : book_.jobs()) {
    if (leased.leases.empty() || leased.leases.front() != first_) continue;
    holders_.push_back(leased.job);
    if (pass.state(leased.job) == JobState::Waiting) waiting_.erase(listed(pass, leased.job));
  }
  std::stable_sort(holders_.begin(), holders_.end(),
                   [&](JobId a, JobId b) { return pass.job(a).num_gpus > pass.job(b).num_gpus; });
}

void Chronus::choose_others(SchedulingPass& pass) {
  GpuCount left = pass.usable_gpus();
  for (const JobId job : holders_)
    left -= pass.job(job).num_gpus;
  std::vector<JobId> leased = holders_;
  std::sort(leased.begin(), leased.end());
  std::erase_if(running_, [&](JobId job) { return std::binary_search(leased.begin(), leased.end(), job); });

  // Running and waiting jobs compete equally.
  std::vector<ListedJob> running;
  for (const JobId job : running_) {
    running.push_back(listed(pass, job));
    waiting_.insert(running.back());
  }
  running_.clear();
  for (auto next = waiting_.first_fitting({}, left); next; next = waiting_.first_fitting(*next, left)) {
    const ListedJob& chosen = waiting_.at(*next);
    left -= chosen.num_gpus;
    ++next->index;
    if (pass.state(chosen.job) == JobState::Running) running_.push_back(chosen.job);
  }
  std::vector<JobId> kept = running_;
  std::sort(kept.begin(), kept.end());
  for (const ListedJob& job : running)
    waiting_.erase(job);
  for (const ListedJob& job : running) {
    if (std::binary_search(kept.begin(), kept.end(), job.job)) continue;
    pass.preempt(job.job);
    waiting_.insert(listed(pass, job.job));
  }
}

void Chronus::start_holders(SchedulingPass& pass, bool may_preempt) {
  for (const JobId job : holders_) {
    if (pass.state(job) == JobState::Running) continue;
    bool started = pass.try_start(job);
    while (!started && may_preempt && !running_.empty()) {
      pass.preempt(running_.back());
      waiting_.insert(listed(pass, running_.back()));
      running_.pop_back();
      started = pass.try_start(job);
    }
    if (!started && may_preempt) ++num_unplaced_;
  }
}

void Chronus::start_others(SchedulingPass& pass) {
  auto next = waiting_.first_fitting({}, pass.free_gpus());
  while (next) {
    const ListedJob job = waiting_.at(*next);
    if (pass.try_start(job.job)) {
      running_.push_back(job.job);
      waiting_.erase(job);
    } else {
      ++next->index;
    }
    next = waiting_.first_fitting(*next, pass.free_gpus());
  }
}

std::vector<PolicyFigure> Chronus::figures() const {
  const LeaseBookCounts& counts = book_.counts();
  const auto figure = [](std::string_view name, std::int64_t value) {
    return PolicyFigure{name, static_cast<double>(value)};
  };
  return {figure("jobs_accepted", counts.accepted),
          figure("jobs_accepted_by_program", counts.accepted_by_program),
          figure("jobs_not_accepted", num_unaccepted_),
          figure("accepted_jobs_dropped", counts.dropped),
          figure("programs_solved", counts.solved),
          figure("programs_stopped_at_limit", counts.stopped),
          figure("greedy_plans", counts.greedy_plans),
          {"largest_gap_percent", counts.largest_gap * 100},
          figure("leases_without_room", num_unplaced_)};
}

/// A duration with its unit, or 0 for the word `none`.
Result<Seconds> parse_optional_duration(const PolicyArguments& arguments, std::string_view parameter) {
  if (arguments[parameter] == "none") return Seconds(0);
  const auto span = parse_time_span(arguments[parameter]);
  if (!span || span->count() == 0)
    return fail(arguments.bad_value(parameter, "none, or a duration such as 30s or 5m"));
  return Seconds(*span);
}

Result<SimDuration> parse_lease(const PolicyArguments& arguments) {
  const auto lease = parse_time_span(arguments["lease"]);
  if (!lease || *lease < std::chrono::minutes(1) || *lease > std::chrono::days(30))
    return fail(arguments.bad_value("lease", "a duration from 1m to 30d"));
  return *lease;
}

LeasePreference preference(const PolicyArguments& arguments) {
  const std::string_view name = arguments["prefer"];
  if (name == "early") return LeasePreference::Early;
  return name == "late" ? LeasePreference::Late : LeasePreference::Adaptive;
}

Result<std::int64_t> parse_count(const PolicyArguments& arguments, std::string_view parameter,
                                 std::int64_t low) {
  constexpr std::int64_t kMost = 1'000'000;
  const auto count = parse_integer(arguments[parameter], low, kMost);
  if (!count)
    return fail(arguments.bad_value(parameter, fmt::format("a whole number from {} to 1000000", low)));
  return *count;
}

/// Parameters of the solver and of the second test.
Result<LeaseBookOptions> parse_book(const PolicyArguments& arguments) {
  LeaseBookOptions book;
  const auto second_test = parse_count(arguments, "second_test", 0);
  if (!second_test) return fail(second_test.error());
  book.second_test_jobs = *second_test;
  const auto variables = parse_count(arguments, "variables", 0);
  if (!variables) return fail(variables.error());
  book.max_variables = *variables;
  const auto nodes = parse_count(arguments, "nodes", 1);
  if (!nodes) return fail(nodes.error());
  book.limits.nodes = *nodes;
  const auto gap = parse_number(arguments["gap"], 0, 100);
  if (!gap) return fail(arguments.bad_value("gap", "a percentage from 0 to 100"));
  book.limits.gap = *gap / 100;
  const auto time = parse_optional_duration(arguments, "time_limit");
  if (!time) return fail(time.error());
  book.limits.time = *time;
  return book;
}

}  // namespace

MadePolicy make_chronus(const PolicyArguments& arguments) {
  ChronusOptions options;
  const auto lease = parse_lease(arguments);
  if (!lease) return fail(lease.error());
  options.lease = *lease;
  const auto overhead = parse_optional_duration(arguments, "overhead");
  if (!overhead) return fail(overhead.error());
  options.overhead = SimDuration(std::llround(overhead->count() * 1e9));
  const auto inflation = parse_number(arguments["inflation"], 1, 100);
  if (!inflation) return fail(arguments.bad_value("inflation", "a factor from 1 to 100"));
  options.inflation = *inflation;
  options.preference = preference(arguments);
  const auto book = parse_book(arguments);
  if (!book) return fail(book.error());
  options.book = *book;
  return std::make_unique<Chronus>(options);
}

}  // namespace vtrain
