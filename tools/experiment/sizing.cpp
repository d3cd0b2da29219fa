#include "tools/experiment/sizing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/text/quantities.hpp"
#include "sched/metrics/gpu_prices.hpp"
#include "tools/experiment/in_parallel.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/seeds.hpp"

namespace vtrain {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostMixes = 64;
/// Sizes above and below an answer that are tried, too.
constexpr std::int64_t kNeighbours = 2;

/// Percentile over all jobs; those that never ended have an infinite time.
template <class Time>
double percentile_of_all(const Workload& workload, const RunResult& run, double percent, const Time& time) {
  std::vector<double> times;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobOutcome& outcome = run.result.outcomes[i];
    times.push_back(has_ended(outcome) ? to_seconds(time(workload.jobs[i], outcome)) : kForever);
  }
  return percentile(times, percent);
}

template <int kPercent>
double wait_of(const Workload& workload, const RunResult& run) {
  return percentile_of_all(workload, run, kPercent, waiting_time);
}

template <int kPercent>
double jct_of(const Workload& workload, const RunResult& run) {
  return percentile_of_all(workload, run, kPercent, job_completion_time);
}

constexpr std::array kMeasures{
    SizeMeasure{"deadlines", "deadlines met", MetricUnit::Share, true,
                [](const Workload&, const RunResult& run) {
                  return run.summary.deadline_satisfactory_ratio.value_or(kNoValue);
                }},
    SizeMeasure{"deadlines-by-gpu-hours", "deadlines met by GPU-hours", MetricUnit::Share, true,
                [](const Workload&, const RunResult& run) {
                  return run.summary.deadline_satisfactory_ratio_by_gpu_hours.value_or(kNoValue);
                }},
    SizeMeasure{"p50-wait", "median wait", MetricUnit::Duration, false, wait_of<50>},
    SizeMeasure{"p95-wait", "p95 wait", MetricUnit::Duration, false, wait_of<95>},
    SizeMeasure{"p99-wait", "p99 wait", MetricUnit::Duration, false, wait_of<99>},
    SizeMeasure{"p50-jct", "median JCT", MetricUnit::Duration, false, jct_of<50>},
    SizeMeasure{"p95-jct", "p95 JCT", MetricUnit::Duration, false, jct_of<95>},
    SizeMeasure{"p99-jct", "p99 JCT", MetricUnit::Duration, false, jct_of<99>},
};

Error bad_goal(std::string message) {
  return {.field = "--goal", .message = std::move(message)};
}

Error bad_range(std::string message) {
  return {.field = "--cluster", .message = std::move(message)};
}

/// `95%` or `0.95`.
std::optional<double> parse_share(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.remove_suffix(1);
  while (is_percent && text.ends_with(' '))
    text.remove_suffix(1);
  const auto number = parse_number(text, 0, is_percent ? 100 : 1);
  if (!number) return std::nullopt;
  return is_percent ? *number / 100 : *number;
}

/// The numbers of `0,8,16` or `4-6`, ascending; empty for another text.
std::vector<std::int64_t> parse_counts(std::string_view text) {
  std::set<std::int64_t> counts;
  for (const std::string_view part : split(text, ',')) {
    const auto range = parse_integer_range(part, 0, kMaxClusterGpus);
    if (!range || range->last - range->first >= static_cast<std::int64_t>(kMostMixes)) return {};
    for (std::int64_t count = range->first; count <= range->last; ++count)
      counts.insert(count);
  }
  return {counts.begin(), counts.end()};
}

/// A node in words: `8 H100` of `8:h100`.
std::string node_text(std::string_view node) {
  const auto [gpus, type] = split_once(node, ':');
  if (!type) return fmt::format("{} GPU{}", gpus, gpus == "1" ? "" : "s");
  std::string name(*type);
  for (char& c : name)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format("{} {}", gpus, name);
}

Estimate estimate_with_forever(std::span<const double> values) {
  if (std::ranges::find(values, kForever) == values.end()) return estimate_of(values);
  return {.mean = kForever, .half_width = 0, .samples = std::ssize(values)};
}

/// Fills in what follows from the values.
void judge(SizePoint& point, const SizeGoal& goal) {
  point.estimate = estimate_with_forever(point.values);
  const Estimate& mean = point.estimate;
  point.mean_meets = goal.is_met_by(mean.mean);
  const double margin = std::isfinite(mean.half_width) ? mean.half_width : 0;
  point.meets = goal.is_met_by(goal.measure->at_least ? mean.mean - margin : mean.mean + margin);
}

/// Smallest size that `holds`, by the known ones; adds the size that a bisection needs next.
template <class Holds>
std::optional<std::int64_t> bisect(const std::map<std::int64_t, SizePoint>& known, std::int64_t low,
                                   const Holds& holds, std::set<std::int64_t>& wanted) {
  std::int64_t below = low - 1;
  for (const auto& [nodes, point] : known) {
    if (!holds(point)) {
      below = nodes;
      continue;
    }
    if (nodes - below > 1) wanted.insert(below + (nodes - below) / 2);
    return nodes;
  }
  return std::nullopt;
}

bool meets(const SizePoint& point) {
  return point.meets;
}
bool mean_meets(const SizePoint& point) {
  return point.mean_meets;
}

/// Finds the answers of a curve, and the steps at which it gets worse.
void conclude(SizeCurve& curve, const SizeGoal& goal) {
  const SizePoint* before = nullptr;
  std::int64_t nodes_before = 0;
  for (const auto& [nodes, point] : curve.points) {
    if (point.meets && !curve.nodes) curve.nodes = nodes;
    if (point.mean_meets && !curve.nodes_by_mean) curve.nodes_by_mean = nodes;
    if (before != nullptr) {
      std::vector<double> gains = point.values;
      for (std::size_t i = 0; i < gains.size(); ++i)
        gains[i] = goal.measure->at_least ? gains[i] - before->values[i] : before->values[i] - gains[i];
      const bool known = std::ranges::all_of(gains, [](double gain) { return std::isfinite(gain); });
      const Estimate gain = estimate_of(gains);
      const bool misses = before->meets && !point.meets;
      const bool is_worse = known && gain.mean < 0 && std::isfinite(gain.half_width) && gain.is_clear();
      if (misses || is_worse) curve.worse.push_back({nodes_before, nodes, misses});
    }
    before = &point;
    nodes_before = nodes;
  }
}

/// Cluster, and the policies to replay on it.
struct WantedSize {
  std::size_t mix = 0;
  std::int64_t nodes = 0;
  std::vector<std::size_t> policies{};
};

/// Measures and metrics of some policies on one cluster under one seed.
struct SizeReplay {
  std::vector<double> values{};
  std::vector<RunValues> metrics{};
};

/// Finds sizes round by round: in each, every curve names the sizes that it needs next.
class SizeSearch {
 public:
  SizeSearch(const Scenario& largest, const ClusterRange& range, const SizeGoal& goal,
             std::span<const std::uint64_t> seeds, const SizeOptions& options)
      : spec_(largest.spec()), range_(range), goal_(goal), options_(options) {
    study_.goal = goal;
    study_.policies = spec_.policies;
    study_.seeds.assign(seeds.begin(), seeds.end());
    study_.low = range.low();
    study_.high = range.high();
    study_.node = range.node();
    study_.resampled = seeds.size() > 1 ? resampling_of(largest) : spec_.transformations.resample;
    prices_ = std::exchange(spec_.price, {});
    for (std::size_t mix = 0; mix < range.num_mixes(); ++mix) {
      study_.mixes.push_back(range.beside(mix));
      for (std::size_t policy = 0; policy < study_.policies.size(); ++policy)
        study_.curves.push_back({.mix = mix, .policy = policy});
    }
  }

  Result<SizeStudy> run() {
    for (std::vector<WantedSize> wanted = next_sizes(); !wanted.empty(); wanted = next_sizes()) {
      if (auto done = replay(wanted); !done) return fail(std::move(done.error()));
    }
    for (SizeCurve& curve : study_.curves)
      conclude(curve, goal_);
    for (auto& [key, studies] : replays_) {
      SeedStudy& study = studies;
      study_.replays.emplace_back(range_.at(key.first, key.second), std::move(study));
    }
    return std::move(study_);
  }

 private:
  SizeCurve& curve(std::size_t mix, std::size_t policy) {
    return study_.curves[mix * study_.policies.size() + policy];
  }

  std::vector<WantedSize> next_sizes() {
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<std::size_t>> policies;
    for (const SizeCurve& curve : study_.curves) {
      for (const std::int64_t nodes : sizes_to_try(curve.points, study_.low, study_.high))
        policies[{curve.mix, nodes}].push_back(curve.policy);
    }
    std::vector<WantedSize> wanted;
    for (auto& [size, of_size] : policies)
      wanted.push_back({size.first, size.second, std::move(of_size)});
    return wanted;
  }

  Result<SizeReplay> replay_one(const WantedSize& size, std::uint64_t seed) {
    ScenarioSpec spec = spec_;
    spec.cluster = range_.at(size.mix, size.nodes);
    spec.transformations.seed = seed;
    spec.transformations.resample = study_.resampled;
    spec.policies.clear();
    for (const std::size_t policy : size.policies)
      spec.policies.push_back(study_.policies[policy]);
    std::vector<std::string> warnings;  // those of the largest cluster have been shown
    const auto scenario = Scenario::prepare(std::move(spec), warnings, pool_);
    if (!scenario) return fail(scenario.error());
    SizeReplay replay;
    for (const std::string& policy : scenario->spec().policies) {
      auto run = scenario->run(policy);
      if (!run) return fail(std::move(run.error()));
      replay.values.push_back(goal_.measure->value(scenario->workload(), *run));
      replay.metrics.emplace_back(run->summary);
      if (options_.replays_done != nullptr) ++*options_.replays_done;
    }
    return replay;
  }

  Result<void> replay(const std::vector<WantedSize>& wanted) {
    const std::size_t num_seeds = study_.seeds.size();
    std::vector<std::optional<Result<SizeReplay>>> done(wanted.size() * num_seeds);
    do_in_parallel(options_.threads, done.size(), [&](std::size_t i) {
      done[i] = replay_one(wanted[i / num_seeds], study_.seeds[i % num_seeds]);
      return done[i]->has_value();
    });
    for (auto& result : done) {
      if (result && !*result) return fail(std::move(result->error()));
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto kept = keep(wanted[i], std::span(done).subspan(i * num_seeds, num_seeds));
      if (!kept) return kept;
    }
    return {};
  }

  /// Keeps the results of one size, by seed.
  Result<void> keep(const WantedSize& size, std::span<std::optional<Result<SizeReplay>>> by_seed) {
    SizePoint blank{.cluster = range_.at(size.mix, size.nodes)};
    const auto cluster = ClusterSpec::parse(blank.cluster);
    if (!cluster) return fail(in_option("--cluster", cluster.error()));
    blank.gpus = cluster->total_gpus().value;
    if (!prices_.empty()) {
      auto price = price_of(*cluster);
      if (!price) return fail(std::move(price.error()));
      blank.price = *price;
    }
    SeedStudy& metrics = replays_[{size.mix, size.nodes}];
    metrics.seeds.resize(study_.seeds.size());
    for (std::size_t policy = 0; policy < size.policies.size(); ++policy) {
      SizePoint point = blank;
      metrics.policies.push_back(study_.policies[size.policies[policy]]);
      for (std::size_t seed = 0; seed < study_.seeds.size(); ++seed) {
        SizeReplay& replay = **by_seed[seed];
        point.values.push_back(replay.values[policy]);
        metrics.seeds[seed].seed = study_.seeds[seed];
        metrics.seeds[seed].values.push_back(std::move(replay.metrics[policy]));
        ++study_.num_replays;
      }
      if (std::ranges::any_of(point.values, [](double value) { return std::isnan(value); }))
        return fail(bad_goal(fmt::format("'{}' needs jobs that have it: {}", goal_.measure->key,
                                         goal_.measure->unit == MetricUnit::Share
                                             ? "no job has a deadline (--deadlines 1:2 makes some)"
                                             : "there is no job")));
      judge(point, goal_);
      curve(size.mix, size.policies[policy]).points.emplace(size.nodes, std::move(point));
    }
    return {};
  }

  /// Dollars for an hour of a cluster. A mix may lack types that have a price.
  Result<std::optional<double>> price_of(const ClusterSpec& cluster) const {
    const auto all = ClusterSpec::parse(range_.at(range_.num_mixes() - 1, range_.high()));
    if (!all) return fail(in_option("--cluster", all.error()));
    const auto prices = GpuPrices::parse(prices_, *all);
    if (!prices) return fail(prices.error());
    return prices->hourly(cluster);
  }

  ScenarioSpec spec_;
  const ClusterRange& range_;
  const SizeGoal& goal_;
  const SizeOptions& options_;
  std::vector<std::string> prices_{};
  SizeStudy study_;
  std::map<std::pair<std::size_t, std::int64_t>, SeedStudy> replays_;
  PricingPool pool_;
};

}  // namespace

std::span<const SizeMeasure> size_measures() {
  return kMeasures;
}

Result<SizeGoal> SizeGoal::parse(std::string_view text) {
  std::vector<std::string_view> keys;
  for (const SizeMeasure& measure : kMeasures)
    keys.push_back(measure.key);
  const auto [key, value] = split_once(text, '=');
  const auto measure = std::ranges::find(kMeasures, key, &SizeMeasure::key);
  if (!value || measure == kMeasures.end()) {
    const std::string known =
        fmt::format("a goal such as deadlines=95% or p95-wait=1h; goals are {}", list_names(keys));
    return fail(bad_goal(with_guess(expected_found(known, printable(text)), key, keys)));
  }
  SizeGoal goal{.measure = &*measure, .text = std::string(text)};
  if (measure->unit == MetricUnit::Share) {
    const auto share = parse_share(*value);
    if (!share) return fail(bad_goal(expected_found("a share such as 95% or 0.95", printable(*value))));
    goal.bound = *share;
    return goal;
  }
  const auto time = parse_time_span(*value);
  if (!time) return fail(bad_goal(expected_found("a time such as 30m or 1h", printable(*value))));
  goal.bound = to_seconds(*time);
  return goal;
}

Result<ClusterRange> ClusterRange::parse(const std::string& text) {
  ClusterRange range;
  const auto bad = [&] {
    return fail(bad_range(expected_found(
        "a range of clusters such as 4-64x8:h100, or with other types 4-64x8:h100+0,8,16x8:a100",
        printable(text))));
  };
  for (const std::string_view group : split(text, '+')) {
    const std::size_t times = group.find_first_of("xX");
    if (times == std::string_view::npos) return bad();
    const std::vector<std::int64_t> counts = parse_counts(group.substr(0, times));
    const std::string_view node = group.substr(times + 1);
    if (range.nodes_.empty()) {
      const auto limits = parse_integer_range(group.substr(0, times), 1, kMaxClusterGpus);
      if (!limits) return bad();
      range.low_ = limits->first;
      range.high_ = limits->last;
    } else {
      if (counts.empty()) return bad();
      std::vector<std::vector<std::int64_t>> mixes;
      for (const std::vector<std::int64_t>& mix : range.mixes_) {
        for (const std::int64_t count : counts) {
          mixes.push_back(mix);
          mixes.back().push_back(count);
        }
      }
      range.mixes_ = std::move(mixes);
      if (range.mixes_.size() > kMostMixes)
        return fail(bad_range(fmt::format("expected up to {} mixes, found more", kMostMixes)));
    }
    range.nodes_.emplace_back(node);
  }
  for (const std::size_t mix : {std::size_t{0}, range.num_mixes() - 1}) {
    const auto largest = ClusterSpec::parse(range.at(mix, range.high_));
    if (!largest) return fail(in_option("--cluster", largest.error()));
  }
  return range;
}

std::string ClusterRange::at(std::size_t mix, std::int64_t nodes) const {
  std::string text = fmt::format("{}x{}", nodes, nodes_.front());
  for (std::size_t group = 1; group < nodes_.size(); ++group) {
    const std::int64_t count = mixes_[mix][group - 1];
    if (count > 0) text += fmt::format("+{}x{}", count, nodes_[group]);
  }
  return text;
}

std::string ClusterRange::node() const {
  return node_text(nodes_.front());
}

std::string ClusterRange::beside(std::size_t mix) const {
  std::string text;
  for (std::size_t group = 1; group < nodes_.size(); ++group)
    text +=
        fmt::format("{}{} x {}", text.empty() ? "" : " + ", mixes_[mix][group - 1], node_text(nodes_[group]));
  return text;
}

std::vector<std::int64_t> sizes_to_try(const std::map<std::int64_t, SizePoint>& known, std::int64_t low,
                                       std::int64_t high) {
  std::set<std::int64_t> wanted;
  if (!known.contains(high)) return {high};
  const auto answer = bisect(known, low, meets, wanted);
  const auto by_mean = bisect(known, low, mean_meets, wanted);
  if (!wanted.empty()) return {wanted.begin(), wanted.end()};
  if (const auto center = answer ? answer : by_mean) {
    for (std::int64_t nodes = *center - kNeighbours; nodes <= *center + kNeighbours; ++nodes)
      wanted.insert(nodes);
  } else {
    // The goal is not met: the curve shows how far it is.
    wanted = {low, low + (high - low) / 2};
  }
  std::vector<std::int64_t> sizes;
  for (const std::int64_t nodes : wanted) {
    if (nodes >= low && nodes <= high && !known.contains(nodes)) sizes.push_back(nodes);
  }
  return sizes;
}

const SizeCurve* SizeStudy::best_of(std::size_t policy) const {
  const SizeCurve* best = nullptr;
  const auto rank = [](const SizeCurve& curve) {
    const SizePoint& point = curve.points.at(*curve.nodes);
    return std::pair(point.price.value_or(0), point.gpus);
  };
  for (const SizeCurve& curve : curves) {
    if (curve.policy != policy || !curve.nodes) continue;
    if (best == nullptr || rank(curve) < rank(*best)) best = &curve;
  }
  return best;
}

Result<SizeStudy> find_sizes(const Scenario& largest, const ClusterRange& range, const SizeGoal& goal,
                             std::span<const std::uint64_t> seeds, const SizeOptions& options) {
  if (auto checked = check_can_repeat(largest); !checked) return fail(std::move(checked.error()));
  return SizeSearch(largest, range, goal, seeds, options).run();
}

}  // namespace vtrain
