#include "workloads/search/compute_optimal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// A point of a line of straight pieces.
using Point = std::pair<double, double>;

/// The value at `x` of the line through the points, constant beyond its ends.
double interpolate(std::span<const Point> points, double x) {
  if (x <= points.front().first) return points.front().second;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto [x0, y0] = points[i - 1];
    const auto [x1, y1] = points[i];
    if (x <= x1) return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  }
  return points.back().second;
}

/// Layers of published models by hidden size; the sources are those of `gpt_ladder`.
constexpr std::array<Point, 13> kPublishedDepths = {{{512, 12},
                                                     {768, 12},
                                                     {1024, 24},
                                                     {2048, 24},
                                                     {4096, 32},
                                                     {5120, 40},
                                                     {6144, 40},
                                                     {8192, 48},
                                                     {10240, 60},
                                                     {12288, 80},
                                                     {16384, 96},
                                                     {20480, 105},
                                                     {25600, 128}}};

/// Sequences an iteration of published models by parameters in billions (Narayanan et al., SC'21, table 1;
/// the smallest Brown et al., 2020, table 2.1).
constexpr std::array<Point, 8> kPublishedBatches = {{{0.125, 256},
                                                     {1.7, 512},
                                                     {7.5, 512},
                                                     {18.4, 1024},
                                                     {39.1, 1536},
                                                     {76.1, 1792},
                                                     {145.6, 2304},
                                                     {1008, 3072}}};

/// Adds `model` in the multiples of 4 layers that differ by at most a quarter from `depth`.
void add_depths(std::vector<TransformerModel>& ladder, TransformerModel model, double depth) {
  constexpr std::int64_t kLayerStep = 4;
  constexpr double kSpread = 0.25;
  const auto lowest = static_cast<std::int64_t>(std::ceil(depth * (1 - kSpread) / kLayerStep));
  const auto highest = static_cast<std::int64_t>(std::floor(depth * (1 + kSpread) / kLayerStep));
  const std::string family = model.name;
  for (std::int64_t step = lowest; step <= highest; ++step) {
    model.num_layers = step * kLayerStep;
    model.name.clear();
    if (!check_model(model)) continue;
    model.name = fmt::format("{}-{:.3g}b", family, static_cast<double>(model.num_parameters()) / 1e9);
    ladder.push_back(model);
  }
}

void add_gpt(std::vector<TransformerModel>& ladder, std::int64_t hidden) {
  add_depths(ladder,
             {.name = "gpt",
              .hidden_size = hidden,
              .num_heads = hidden / (hidden <= 2560 ? 64 : 128),
              .sequence_length = 2048,
              .vocab_size = 51200},
             interpolate(kPublishedDepths, static_cast<double>(hidden)));
}

void sort_by_size(std::vector<TransformerModel>& ladder) {
  std::stable_sort(ladder.begin(), ladder.end(), [](const TransformerModel& a, const TransformerModel& b) {
    return a.active_parameters() < b.active_parameters();
  });
}

/// A size at another width: in proportion, as a multiple of the power of two up to 128 that divides the size.
std::int64_t scaled_size(std::int64_t size, double ratio) {
  if (size == 0) return 0;
  constexpr std::int64_t kCoarsest = 128;
  const std::int64_t step = std::gcd(size, kCoarsest);
  return step * std::max<std::int64_t>(
                    1, std::llround(ratio * static_cast<double>(size) / static_cast<double>(step)));
}

/// The model with this many heads of queries and a width in proportion. Nothing where that is no whole
/// number.
std::optional<TransformerModel> at_width(const TransformerModel& model, std::int64_t num_heads) {
  if (model.hidden_size * num_heads % model.num_heads != 0) return std::nullopt;
  const double ratio = static_cast<double>(num_heads) / static_cast<double>(model.num_heads);
  TransformerModel scaled = model;
  scaled.name += "-scaled";
  scaled.num_heads = num_heads;
  scaled.hidden_size = model.hidden_size * num_heads / model.num_heads;
  if (model.num_kv_heads > 1) {
    const bool is_grouped = model.num_kv_heads < model.num_heads;
    scaled.num_kv_heads = is_grouped ? std::min(model.num_kv_heads, num_heads) : num_heads;
  }
  scaled.ffn_size = scaled_size(model.ffn_size, ratio);
  scaled.latent.query_rank = scaled_size(model.latent.query_rank, ratio);
  for (const auto size : {&MixtureOfExperts::expert_ffn_size, &MixtureOfExperts::shared_ffn_size,
                          &MixtureOfExperts::latent_size})
    scaled.experts.*size = scaled_size(model.experts.*size, ratio);
  return scaled;
}

/// Unit of the numbers of query heads in a family: a multiple of the heads of keys and values, and of 8 as
/// far as the model's own number is one and the ladder stays fine.
std::int64_t head_unit(const TransformerModel& model) {
  constexpr std::int64_t kTensorDegree = 8;
  constexpr std::int64_t kCoarsest = 16;
  const bool is_grouped = model.kv_heads() < model.num_heads;
  const std::int64_t kv_heads = is_grouped ? model.kv_heads() : 1;
  const std::int64_t unit = std::gcd(model.num_heads, std::lcm(kTensorDegree, kv_heads));
  return unit > kCoarsest ? kv_heads : unit;
}

Rung make_rung(const TrainingBudget& budget, const TransformerModel& model) {
  const auto parameters = static_cast<double>(model.active_parameters());
  const double tokens = budget.tokens_per_parameter * parameters;
  const double rate = budget.peak_rate.value * budget.num_gpus.value;
  return {.model = model, .tokens = tokens, .time_at_peak = Seconds(6 * parameters * tokens / rate)};
}

/// Adds the best plan.
Result<void> add_plan(Rung& rung, std::int64_t global_batch, const FindPlan& find_plan) {
  const auto tokens_per_iteration = static_cast<double>(global_batch * rung.model.sequence_length);
  if (tokens_per_iteration > rung.tokens) {
    return fail({.kind = ErrorKind::Failed,
                 .message = fmt::format("a global batch of {} has more tokens than '{}' is trained on",
                                        global_batch, rung.model.name)});
  }
  const auto plan = find_plan(rung.model, global_batch);
  if (!plan) return fail(plan.error());
  rung.plan = *plan;
  rung.time = std::ceil(rung.tokens / tokens_per_iteration) * Seconds(plan->iteration);
  return {};
}

/// Error that explains why no model of the ladder is trained in time: none has a plan, the peak rate is too
/// low, or those with a plan are too slow.
Error no_trainable_model_error(const TrainingBudget& budget, const Rung& smallest, bool any_with_plan,
                               const std::optional<Error>& without_plan) {
  constexpr double kSecondsPerDay = 86400;
  if (any_with_plan) {
    return {.kind = ErrorKind::Failed,
            .field = "days",
            .message = "not even the smallest model with a plan is trained in time"};
  }
  if (without_plan) {
    return {.kind = ErrorKind::Failed,
            .field = "num_gpus",
            .message = "no model that could be trained in time has a plan; " + without_plan->message};
  }
  return {.kind = ErrorKind::Failed,
          .field = "days",
          .message =
              fmt::format("{} GPUs at their peak rate train the smallest model, of {:.3g} billion "
                          "parameters on {:.3g} billion tokens, in {:.3g} days",
                          budget.num_gpus.value, static_cast<double>(smallest.model.num_parameters()) / 1e9,
                          smallest.tokens / 1e9, smallest.time_at_peak.count() / kSecondsPerDay)};
}

}  // namespace

double promised_parameters(const TrainingBudget& budget) {
  const double flops = budget.num_gpus.value * budget.peak_rate.value * budget.time.count();
  return std::sqrt(flops / (6 * budget.tokens_per_parameter));
}

std::vector<TransformerModel> gpt_ladder() {
  std::vector<TransformerModel> ladder;
  for (std::int64_t hidden = 512; hidden <= 2560; hidden += 512)
    add_gpt(ladder, hidden);
  for (std::int64_t hidden = 3072; hidden <= 25600; hidden += 1024)
    add_gpt(ladder, hidden);
  sort_by_size(ladder);
  return ladder;
}

Result<std::vector<TransformerModel>> family_ladder(const TransformerModel& model) {
  constexpr std::int64_t kNarrowest = 512;
  constexpr std::int64_t kWidest = 25600;
  constexpr std::int64_t kMostUnits = 1 << 12;
  if (auto checked = check_model(model); !checked) return fail(checked.error());
  if (model.is_hybrid()) {
    return fail({.field = "layer_pattern",
                 .message = fmt::format("expected a model whose layers are alike, found the pattern '{}'",
                                        model.layer_pattern)});
  }
  const auto depth_at = [](std::int64_t hidden) {
    return interpolate(kPublishedDepths, static_cast<double>(hidden));
  };
  const double relative_depth = static_cast<double>(model.num_layers) / depth_at(model.hidden_size);
  const std::int64_t unit = head_unit(model);
  std::vector<TransformerModel> ladder = {model};
  const auto add_width = [&](std::int64_t num_heads) {
    const auto scaled = at_width(model, num_heads);
    if (!scaled || scaled->hidden_size < kNarrowest || scaled->hidden_size > kWidest) return;
    add_depths(ladder, *scaled, relative_depth * depth_at(scaled->hidden_size));
  };
  for (std::int64_t num_heads = 1; num_heads < unit; num_heads *= 2)
    add_width(num_heads);
  std::int64_t step = 1;  // of the number of units, a power of two
  for (std::int64_t units = 1; units <= kMostUnits; units += step) {
    if (units >= 16 * step) step *= 2;
    add_width(units * unit);
  }
  // The model itself, which the steps may have met, once.
  const auto is_again = [&model](TransformerModel other) {
    other.name = model.name;
    return other == model;
  };
  ladder.erase(std::remove_if(ladder.begin() + 1, ladder.end(), is_again), ladder.end());
  sort_by_size(ladder);
  return ladder;
}

std::int64_t usual_global_batch(double num_parameters, std::int64_t sequence_length, std::int64_t multiple) {
  constexpr double kPublishedSequence = 2048;
  std::array<Point, kPublishedBatches.size()> points = kPublishedBatches;
  for (auto& [parameters, batch] : points)
    parameters = std::log(parameters * 1e9);
  const double batch = interpolate(points, std::log(num_parameters)) * kPublishedSequence /
                       static_cast<double>(sequence_length);
  constexpr double kLeastMultiples = 8;
  while (2 * kLeastMultiples * static_cast<double>(multiple) <= batch)
    multiple *= 2;
  return multiple * std::max<std::int64_t>(1, std::llround(batch / static_cast<double>(multiple)));
}

Result<ScalingAnswer> scale_model(const TrainingBudget& budget, std::span<const TransformerModel> ladder,
                                  std::int64_t global_batch, std::int64_t batch_multiple,
                                  const FindPlan& find_plan) {
  constexpr int kSmallerShown = 3;
  std::vector<Rung> falling;  // the largest first
  std::optional<std::size_t> best;
  int num_smaller = 0;
  bool any_too_large = false;
  ScalingAnswer answer;
  std::optional<Error> without_plan;  // of the smallest so far, larger than the best
  for (auto model = ladder.rbegin(); model != ladder.rend() && num_smaller < kSmallerShown; ++model) {
    Rung rung = make_rung(budget, *model);
    // No model takes less time than the peak rate promises.
    if (rung.time_at_peak > budget.time) {
      any_too_large = true;
      continue;
    }
    const auto parameters = static_cast<double>(model->num_parameters());
    const std::int64_t batch = global_batch > 0
                                   ? global_batch
                                   : usual_global_batch(parameters, model->sequence_length, batch_multiple);
    if (auto added = add_plan(rung, batch, find_plan); !added) {
      if (best) continue;
      without_plan = std::move(added.error());
      ++answer.num_larger_without_plan;
      continue;
    }
    if (best) ++num_smaller;
    if (!best && rung.time <= budget.time) best = falling.size();
    falling.push_back(std::move(rung));
  }
  if (!best)
    return fail(
        no_trainable_model_error(budget, make_rung(budget, ladder.front()), !falling.empty(), without_plan));
  if (without_plan) answer.why_without_plan = std::move(without_plan->message);
  answer.best = falling.size() - 1 - *best;
  answer.ladder_ends = *best == 0 && !any_too_large;
  answer.rungs.assign(std::make_move_iterator(falling.rbegin()), std::make_move_iterator(falling.rend()));
  return answer;
}

}  // namespace vtrain
