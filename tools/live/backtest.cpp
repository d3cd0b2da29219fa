#include "tools/live/backtest.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sched/metrics/metrics.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/live/run_time_book.hpp"

namespace vtrain {
namespace {

struct Estimates {
  SimTime start{};  ///< what happened
  std::optional<SimTime> p50{};
  std::optional<SimTime> p90{};
  std::optional<SimTime> by_limits{};
  std::optional<SimTime> by_last_day{};
  std::optional<SimTime> by_scheduler{};
  bool waited = false;  ///< more than a scheduling cycle
};

SimTime end_of(const Job& job) {
  return job.original_start + job.duration;
}

/// Walks through a log in time, and makes estimates on the way.
class Walk {
 public:
  Walk(const Workload& log, const ClusterSpec& cluster, const BacktestOptions& options,
       const PolicyRegistry& registry)
      : log_(log), options_(options), registry_(registry) {
    question_.cluster = cluster;
    question_.policy = options.policy;
    question_.samples = options.samples;
    question_.threads = options.threads;
    question_.workload = log.copy_with_texts_of_this();
  }

  Result<Backtest> run() {
    for (const Job& job : log_.jobs) {
      if (job.original_start == Job::kNoStart) ++test_.without_start;
    }
    if (test_.without_start == std::ssize(log_.jobs))
      return fail({.message = "expected a log with recorded starts, found none"});
    const std::vector<bool> is_chosen = choose();
    for (std::size_t i = 0; i < log_.jobs.size(); ++i) {
      const Job& job = log_.jobs[i];
      if (job.original_start == Job::kNoStart) continue;
      pass_to(job.submit);
      if (is_chosen[i] && book_.num_jobs() >= static_cast<std::int64_t>(RunTimeBook::kFewestInAll)) {
        if (auto done = estimate(i); !done) return fail(std::move(done.error()));
      }
      live_.push_back(i);
    }
    if (estimates_.empty())
      return fail(
          {.message =
               "expected submissions after thirty ended jobs, found none for which an estimate can be made"});
    finish();
    return std::move(test_);
  }

 private:
  std::vector<bool> choose() const {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < log_.jobs.size(); ++i) {
      if (log_.jobs[i].original_start != Job::kNoStart) candidates.push_back(i);
    }
    RandomStream random(options_.seed, "backtest");
    const std::size_t wanted = std::min(candidates.size(), static_cast<std::size_t>(options_.submissions));
    std::vector<bool> is_chosen(log_.jobs.size());
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(candidates[i], candidates[i + random.below(candidates.size() - i)]);
      is_chosen[candidates[i]] = true;
    }
    return is_chosen;
  }

  RunTimeKey key_of(const Job& job) const {
    return {.user = job.user     ? std::string_view(log_.users[job.user.value])
                    : job.tenant ? std::string_view(log_.tenants[job.tenant.value])
                                 : "",
            .gpus = job.num_gpus.value,
            .limit_s = std::chrono::ceil<std::chrono::seconds>(job.requested_time).count()};
  }

  /// Learns from jobs that have ended by a time, and from those that have started.
  void pass_to(SimTime now) {
    std::erase_if(live_, [&](std::size_t i) {
      const Job& job = log_.jobs[i];
      if (end_of(job) > now) return false;
      book_.add(key_of(job), std::max(to_seconds(job.duration), 1.0));
      return true;
    });
    now_ = now;
  }

  Result<void> estimate(std::size_t i) {
    const Job& job = log_.jobs[i];
    std::vector<std::size_t> jobs = live_;
    jobs.push_back(i);
    question_.workload.jobs.clear();
    question_.run_times.clear();
    question_.state = {.now = now_};
    const GpuTypes types(question_.cluster, question_.workload.gpu_types);
    const bool tells_types = types.names().size() > 1 && log_.gpu_types.size() > 0;
    std::vector<RunTimes> limits;
    std::int64_t held = 0;
    for (const std::size_t each : jobs) {
      Job known = log_.jobs[each];
      RunTimeGuess guess = book_.guess(key_of(known));
      const bool runs = known.original_start <= now_ && each != i;
      const SimDuration limit =
          known.requested_time.count() > 0 ? known.requested_time : guess.times.values.back();
      limits.push_back({{limit}});
      known.duration = guess.times.values.back();
      LiveJob& live = question_.state.jobs.emplace_back();
      live.outcome.state = runs ? JobState::Running : JobState::Waiting;
      if (runs) {
        held += known.num_gpus.value;
        live.outcome.start = live.resumed = known.original_start;
        live.num_gpus = known.num_gpus;
        live.has_started = true;
        const auto allowed = types.allowed(known.gpu_type);
        if (tells_types && !allowed.empty())
          live.gang.push_back({.node = NodeId(allowed.front()), .gpus = known.num_gpus});
      }
      question_.workload.jobs.push_back(known);
      question_.run_times.push_back(std::move(guess.times));
    }
    if (held > question_.cluster.total_gpus().value) {
      ++test_.impossible;
      return {};
    }
    const JobId id(static_cast<std::uint32_t>(jobs.size() - 1));
    question_.seed = options_.seed * 1'000'003 + i;
    question_.only = id;
    question_.samples = options_.samples;
    auto answer = estimate_starts(question_, registry_);
    if (!answer) return fail(std::move(answer.error()));
    Estimates made{.start = job.original_start,
                   .p50 = answer->jobs.front().start.p50,
                   .p90 = answer->jobs.front().start.p90};
    question_.run_times = std::move(limits);
    question_.samples = 1;
    answer = estimate_starts(question_, registry_);
    if (!answer) return fail(std::move(answer.error()));
    made.by_limits = answer->jobs.front().start.p50;
    made.by_last_day = now_ + mean_wait_of_last_day();
    if (const auto own = options_.own_estimates.find(job.name); own != options_.own_estimates.end())
      made.by_scheduler = own->second;
    made.waited = job.original_start - job.submit > kSchedulingCycle;
    if (!made.waited) ++test_.at_once;
    estimates_.push_back(made);
    return {};
  }

  /// Mean wait of the jobs that started in the day before now; 0 without any.
  SimDuration mean_wait_of_last_day() {
    const SimTime since = now_ - std::chrono::hours(24);
    double sum = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < log_.jobs.size() && log_.jobs[i].submit <= now_; ++i) {
      const Job& job = log_.jobs[i];
      if (job.original_start == Job::kNoStart || job.original_start > now_ || job.original_start < since)
        continue;
      sum += to_seconds(job.original_start - job.submit);
      ++count;
    }
    return count == 0 ? SimDuration{} : to_sim_duration(Seconds(sum / static_cast<double>(count)));
  }

  template <class Point>
  BacktestRow row(std::string method, Point point) const {
    BacktestRow row{.method = std::move(method)};
    std::vector<double> errors;
    std::vector<double> of_waits;
    for (const Estimates& each : estimates_) {
      const std::optional<SimTime> at = point(each);
      if (!at) continue;
      const double error = to_seconds(*at - each.start);
      row.mean_bias_s += error;
      errors.push_back(std::abs(error));
      if (each.waited) of_waits.push_back(std::abs(error));
    }
    row.estimates = std::ssize(errors);
    if (errors.empty()) return row;
    row.mean_bias_s /= static_cast<double>(errors.size());
    row.median_error_s = percentile(errors, 50);
    row.p90_error_s = percentile(errors, 90);
    if (!of_waits.empty()) row.waited_median_error_s = percentile(of_waits, 50);
    return row;
  }

  /// Part of the starts that were not later than a bound; none without starts.
  std::optional<double> part_within(std::optional<SimTime> Estimates::*bound, bool only_waits) const {
    std::int64_t all = 0;
    std::int64_t within = 0;
    for (const Estimates& each : estimates_) {
      if (only_waits && !each.waited) continue;
      ++all;
      if (!(each.*bound) || each.start <= *(each.*bound) + kSchedulingCycle) ++within;
    }
    if (all == 0) return std::nullopt;
    return static_cast<double>(within) / static_cast<double>(all);
  }

  void finish() {
    test_.submissions = std::ssize(estimates_);
    BacktestRow ours = row("vtrain", [](const Estimates& each) { return each.p50; });
    ours.within_p50 = part_within(&Estimates::p50, false);
    ours.within_p90 = part_within(&Estimates::p90, false);
    ours.waited_within_p50 = part_within(&Estimates::p50, true);
    ours.waited_within_p90 = part_within(&Estimates::p90, true);
    test_.rows.push_back(std::move(ours));
    test_.rows.push_back(
        row("time limits as run times", [](const Estimates& each) { return each.by_limits; }));
    test_.rows.push_back(
        row("mean wait of the last day", [](const Estimates& each) { return each.by_last_day; }));
    if (!options_.own_estimates.empty())
      test_.rows.push_back(
          row("the scheduler's own", [](const Estimates& each) { return each.by_scheduler; }));
  }

  const Workload& log_;
  const BacktestOptions& options_;
  const PolicyRegistry& registry_;
  EtaQuestion question_;
  RunTimeBook book_;
  std::vector<std::size_t> live_;  ///< jobs that were submitted and had not ended by the last submission
  SimTime now_{};
  std::vector<Estimates> estimates_;
  Backtest test_;
};

}  // namespace

Result<Backtest> run_backtest(const Workload& log, const ClusterSpec& cluster, const BacktestOptions& options,
                              const PolicyRegistry& registry) {
  return Walk(log, cluster, options, registry).run();
}

}  // namespace vtrain
