#include "tools/sweep/hand_out.hpp"

#include <algorithm>
#include <numeric>

#include "sched/cluster/cluster.hpp"

namespace vtrain {
namespace {

/// Longest batch, in estimated seconds: long enough that thousands of workers ask one rank, short enough that
/// little is lost with a worker.
constexpr double kMostBatchS = 0.5;
/// A batch is at most this part of what is left for each worker.
constexpr double kShareOfRest = 4;

/// Cost of a run by its options alone: the number of its jobs and how long its queue grows.
double guess_cost(const ScenarioSpec& spec) {
  const double load = spec.transformations.load > 0 ? spec.transformations.load : 1;
  double cost = load * load;
  const bool grows_with_cluster = spec.trace.files.empty() && spec.reference.empty();
  if (!grows_with_cluster || spec.cluster.empty()) return cost;
  const auto cluster = ClusterSpec::parse(spec.cluster);
  if (cluster) cost *= static_cast<double>(cluster->total_gpus().value);
  return cost;
}

}  // namespace

HandOut::HandOut(const Grid& grid, const std::vector<bool>& finished, const Shard& shard, std::size_t workers)
    : grid_(grid),
      finished_(finished),
      shard_(shard),
      workers_(std::max<std::size_t>(1, workers)),
      variants_(static_cast<std::size_t>(grid.num_variants())),
      order_(variants_.size()),
      policy_seconds_(grid.policies().size()),
      policy_runs_(grid.policies().size()) {
  for (std::int64_t scenario = 0; scenario < grid.num_scenarios(); ++scenario) {
    if (!shard.holds(scenario)) continue;
    const std::int64_t first = grid.first_run(scenario);
    Variant& variant = variants_[static_cast<std::size_t>(grid.place(first).variant)];
    for (std::int64_t run = first; run < first + std::ssize(grid.policies()); ++run)
      variant.runs_left += finished[static_cast<std::size_t>(run)] ? 0 : 1;
  }
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    num_runs_ += variants_[i].runs_left;
    if (variants_[i].runs_left == 0 || variants_.size() == 1) continue;
    const auto spec = grid.variant_spec(static_cast<std::int64_t>(i));
    if (spec) variants_[i].guess = guess_cost(*spec);
  }
  std::iota(order_.begin(), order_.end(), 0U);
  std::ranges::stable_sort(
      order_, [this](std::size_t a, std::size_t b) { return variants_[a].guess > variants_[b].guess; });
}

double HandOut::weight(std::size_t policy) const {
  if (learned_ == 0) return 1;
  const double mean = seconds_ / static_cast<double>(learned_);
  if (policy_runs_[policy] == 0 || mean <= 0) return 1;
  return policy_seconds_[policy] / static_cast<double>(policy_runs_[policy]) / mean;
}

double HandOut::scale(const Variant& variant) const {
  if (variant.weights > 0) return variant.seconds / variant.weights;
  return guesses_ > 0 ? variant.guess * seconds_ / guesses_ : 0;
}

void HandOut::learn(std::int64_t run, double seconds) {
  const GridPlace place = grid_.place(run);
  Variant& variant = variants_[static_cast<std::size_t>(place.variant)];
  policy_seconds_[place.policy] += seconds;
  ++policy_runs_[place.policy];
  seconds_ += seconds;
  guesses_ += variant.guess;
  ++learned_;
  variant.seconds += seconds;
  variant.weights += weight(place.policy);
}

bool HandOut::is_pilot(std::int64_t run) const {
  const GridPlace place = grid_.place(run);
  return variants_[static_cast<std::size_t>(place.variant)].first_scenario == place.scenario;
}

double HandOut::estimate_s(std::int64_t run) const {
  const GridPlace place = grid_.place(run);
  return scale(variants_[static_cast<std::size_t>(place.variant)]) * weight(place.policy);
}

double HandOut::remaining_s() const {
  double seconds = 0;
  for (std::size_t i = next_in_order_; i < order_.size(); ++i) {
    const Variant& variant = variants_[order_[i]];
    seconds += static_cast<double>(variant.runs_left) * scale(variant);
  }
  for (const std::int64_t run : left_over_)
    seconds += estimate_s(run);
  return seconds;
}

void HandOut::sort() {
  std::vector<double> scales(variants_.size());
  for (std::size_t i = 0; i < variants_.size(); ++i)
    scales[i] = scale(variants_[i]);
  std::ranges::stable_sort(order_, [&scales](std::size_t a, std::size_t b) { return scales[a] > scales[b]; });
  next_in_order_ = 0;
  sorted_after_ = learned_;
}

std::vector<std::int64_t> HandOut::next_scenario() {
  const bool is_pilot_round = next_pilot_ < order_.size();
  // Each time twice as much is known.
  if (!is_pilot_round && (sorted_after_ == 0 || learned_ >= 2 * sorted_after_)) sort();
  std::size_t& position = is_pilot_round ? next_pilot_ : next_in_order_;
  while (position < order_.size() && variants_[order_[position]].runs_left == 0)
    ++position;
  if (position == order_.size()) return is_pilot_round ? next_scenario() : std::vector<std::int64_t>();
  const std::size_t index = order_[position];
  if (is_pilot_round) ++next_pilot_;
  Variant& variant = variants_[index];
  for (;;) {
    const std::int64_t scenario =
        static_cast<std::int64_t>(index * grid_.seeds().size() + variant.next_seed++);
    if (!shard_.holds(scenario)) continue;
    std::vector<std::int64_t> runs;
    const std::int64_t first = grid_.first_run(scenario);
    for (std::int64_t run = first; run < first + std::ssize(grid_.policies()); ++run) {
      if (!finished_[static_cast<std::size_t>(run)]) runs.push_back(run);
    }
    if (runs.empty()) continue;
    if (variant.first_scenario < 0) variant.first_scenario = scenario;
    variant.runs_left -= std::ssize(runs);
    std::ranges::stable_sort(runs, [this](std::int64_t a, std::int64_t b) {
      return weight(grid_.place(a).policy) > weight(grid_.place(b).policy);
    });
    return runs;
  }
}

double HandOut::estimated_rest_s() {
  constexpr std::size_t kVariantsEachCall = 16;  // so that many combinations do not make each call slow
  if (calls_since_estimate_++ * kVariantsEachCall >= variants_.size() || rest_s_ <= 0) {
    rest_s_ = remaining_s();
    calls_since_estimate_ = 1;
  }
  return rest_s_;
}

std::vector<std::int64_t> HandOut::next() {
  const double shares = kShareOfRest * static_cast<double>(workers_);
  const double limit_s = std::min(kMostBatchS, estimated_rest_s() / shares);
  std::size_t most = kMostInBatch;
  if (learned_ == 0) {
    const auto share = static_cast<std::size_t>(static_cast<double>(num_runs_) / shares);
    most = std::clamp<std::size_t>(share, 1, grid_.policies().size());
  }
  std::vector<std::int64_t> batch;
  double batch_s = 0;
  const auto has_room = [&](std::size_t more, double more_s) {
    return batch.empty() || (batch.size() + more <= most && batch_s + more_s <= limit_s);
  };
  for (;;) {
    // Of a scenario that is larger than a batch, a part.
    while (!left_over_.empty() && has_room(1, estimate_s(left_over_.back()))) {
      batch_s += estimate_s(left_over_.back());
      batch.push_back(left_over_.back());
      left_over_.pop_back();
    }
    if (!left_over_.empty() || (!batch.empty() && (batch_s >= limit_s || batch.size() >= most))) break;
    left_over_ = next_scenario();
    if (left_over_.empty()) break;
    std::ranges::reverse(left_over_);
    double scenario_s = 0;
    for (const std::int64_t run : left_over_)
      scenario_s += estimate_s(run);
    if (!has_room(left_over_.size(), scenario_s)) break;
  }
  rest_s_ -= batch_s;
  return batch;
}

}  // namespace vtrain
