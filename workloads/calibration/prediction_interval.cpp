#include "workloads/calibration/prediction_interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/io/csv.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/model/model.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

namespace embedded {
extern const std::string_view validated_runs;
}

namespace {

constexpr std::array<std::string_view, 3> kKinds = {"dense", "experts", "state-spaces"};

/// Framework of a stack, by its name.
std::string_view framework_of(std::string_view stack) {
  for (const std::string_view framework : {"megatron", "torchtitan"}) {
    if (stack.find(framework) != std::string_view::npos) return framework;
  }
  return "pytorch";
}

double weight_of(const RunTraits& run, const RunTraits& traits) {
  double weight = run.set_up == traits.set_up ? 1 : 0.02;
  if (run.stack != traits.stack) weight *= framework_of(run.stack) == framework_of(traits.stack) ? 0.5 : 0.3;
  if (run.profile != traits.profile) weight *= run.generation == traits.generation ? 0.6 : 0.4;
  if (run.kind != traits.kind) weight *= 0.5;
  return weight;
}

/// A ratio with the weight of its run.
struct Weighted {
  double log_ratio = 0;
  double weight = 0;
};

/// The value below which a share of the weight lies, linear between two values; each has half of its weight
/// on either side.
double quantile(std::span<const Weighted> sorted, double total, double share) {
  double below = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double middle = below + sorted[i].weight / 2;
    if (middle >= share * total) {
      if (i == 0) return sorted[0].log_ratio;
      const double before = below - sorted[i - 1].weight / 2;
      const double part = (share * total - before) / (middle - before);
      return std::lerp(sorted[i - 1].log_ratio, sorted[i].log_ratio, part);
    }
    below += sorted[i].weight;
  }
  return sorted.back().log_ratio;
}

/// Interval of weighted ratios. `widening` multiplies its distances from the median.
Interval interval_of(std::vector<Weighted> ratios, double widening) {
  if (ratios.empty()) return {.low = 0.5, .high = 2};
  std::sort(ratios.begin(), ratios.end(),
            [](const Weighted& a, const Weighted& b) { return a.log_ratio < b.log_ratio; });
  double total = 0;
  for (const Weighted& ratio : ratios)
    total += ratio.weight;
  constexpr double kTail = (1 - kCoverage) / 2;
  const double median = quantile(ratios, total, 0.5);
  const auto bound = [&](double share) {
    return std::exp(median + widening * (quantile(ratios, total, share) - median));
  };
  // A prediction lies within its own interval.
  return {.low = std::min(bound(kTail), 1.0), .high = std::max(bound(1 - kTail), 1.0)};
}

/// The value that the field names; the error has its place.
template <class Value>
Result<Value> read_name(const CsvReader& rows, int column, std::span<const std::string_view> names) {
  auto value = parse_name<Value>("", names, rows.field(column));
  if (!value) return fail(rows.error_at(column, value.error().message));
  return value;
}

}  // namespace

std::string_view name_of(ModelKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view models_of(ModelKind kind) {
  constexpr std::array<std::string_view, 3> kModels = {"dense models", "experts", "state spaces"};
  return kModels[static_cast<std::size_t>(kind)];
}

ModelKind kind_of(const TransformerModel& model) {
  if (model.state_space.num_heads > 0) return ModelKind::StateSpaces;
  return model.has_experts() ? ModelKind::Experts : ModelKind::Dense;
}

std::string_view name_of(SetUp set_up) {
  return kSetUpNames[static_cast<std::size_t>(set_up)];
}

Result<SetUp> parse_set_up(std::string_view name) {
  return parse_name<SetUp>("set-up", kSetUpNames, name);
}

std::string_view generation_of(const GpuProfile& profile) {
  if (profile.peak_rate_of(Precision::Fp4).value > 0) return "blackwell";
  if (profile.peak_rate_of(Precision::Fp8).value > 0) return "hopper";
  return has_fused_attention(profile) ? "ampere" : "volta";
}

Result<std::vector<ValidatedRun>> parse_validated_runs(std::string text, const std::string& file) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(rows.error());
  constexpr std::array<std::string_view, 9> kColumns = {
      "source", "group", "set_up", "stack", "profile", "generation", "kind", "time_ratio", "memory_ratio"};
  std::array<int, kColumns.size()> columns{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    auto column = rows->require_column(kColumns[i]);
    if (!column) return fail(column.error());
    columns[i] = *column;
  }
  const auto [source, group, set_up, stack, profile, generation, kind, time, memory] = columns;
  constexpr double kLargest = 1000;
  std::vector<ValidatedRun> runs;
  while (true) {
    const auto more = rows->next();
    if (!more) return fail(more.error());
    if (!*more) return runs;
    const auto text_at = [&rows](int column) { return std::string(rows->field(column)); };
    ValidatedRun run{.source = text_at(source), .group = text_at(group)};
    run.traits = {.stack = text_at(stack), .profile = text_at(profile), .generation = text_at(generation)};
    const auto who = read_name<SetUp>(*rows, set_up, kSetUpNames);
    if (!who) return fail(who.error());
    run.traits.set_up = *who;
    const auto what = read_name<ModelKind>(*rows, kind, kKinds);
    if (!what) return fail(what.error());
    run.traits.kind = *what;
    const auto time_ratio = rows->number(time, 1 / kLargest, kLargest);
    if (!time_ratio) return fail(time_ratio.error());
    run.time_ratio = *time_ratio;
    if (!rows->field(memory).empty()) {
      const auto memory_ratio = rows->number(memory, 1 / kLargest, kLargest);
      if (!memory_ratio) return fail(memory_ratio.error());
      run.memory_ratio = *memory_ratio;
    }
    runs.push_back(std::move(run));
  }
}

std::span<const ValidatedRun> validated_runs() {
  static const std::vector<ValidatedRun> runs =
      parse_validated_runs(std::string(embedded::validated_runs), "validated_runs.csv").value();
  return runs;
}

Uncertainty uncertainty_of(const RunTraits& traits, std::span<const ValidatedRun> runs,
                           std::string_view without) {
  std::vector<Weighted> times;
  std::vector<Weighted> memories;
  Uncertainty uncertainty;
  for (const ValidatedRun& run : runs) {
    const std::string& part = run.traits.set_up == SetUp::Own ? run.source : run.group;
    if (!without.empty() && part == without) continue;
    const double weight = weight_of(run.traits, traits);
    times.push_back({std::log(run.time_ratio), weight});
    if (run.memory_ratio) memories.push_back({std::log(*run.memory_ratio), weight});
    if (run.traits.stack == traits.stack && run.traits.kind == traits.kind) ++uncertainty.num_similar;
  }
  uncertainty.never_validated = uncertainty.num_similar < kFewestSimilar;
  const double widening = uncertainty.never_validated ? 2 : 1;
  uncertainty.time = interval_of(std::move(times), widening);
  uncertainty.memory = interval_of(std::move(memories), widening);
  return uncertainty;
}

ErrorParts error_parts(const RunTraits& traits, std::span<const ValidatedRun> runs) {
  ErrorParts parts;
  std::vector<Weighted> sorted;
  double total = 0;
  for (const ValidatedRun& run : runs) {
    parts.weights.push_back(weight_of(run.traits, traits));
    sorted.push_back({std::log(run.time_ratio), parts.weights.back()});
    total += parts.weights.back();
  }
  std::ranges::sort(sorted, {}, &Weighted::log_ratio);
  const double median = quantile(sorted, total, 0.5);
  const double widening = uncertainty_of(traits, runs).never_validated ? 2 : 1;
  struct Group {
    double weight = 0;
    double sum = 0;
  };
  const auto group_of = [](const ValidatedRun& run) {
    return run.traits.set_up == SetUp::Own ? "own " + run.source : "group " + run.group;
  };
  const auto error_of = [&](const ValidatedRun& run) {
    return median + widening * (std::log(run.time_ratio) - median);
  };
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Group& group = groups[group_of(runs[i])];
    group.weight += parts.weights[i];
    group.sum += parts.weights[i] * error_of(runs[i]);
  }
  for (const ValidatedRun& run : runs) {
    const Group& group = groups[group_of(run)];
    parts.common.push_back(group.sum / group.weight);
    parts.own.push_back(error_of(run) - parts.common.back());
  }
  return parts;
}

Interval interval_of_logs(std::span<const double> log_ratios) {
  const auto count = static_cast<double>(log_ratios.size());
  double mean = 0;
  for (const double ratio : log_ratios)
    mean += ratio / count;
  double variance = 0;
  for (const double ratio : log_ratios)
    variance += (ratio - mean) * (ratio - mean) / (count - 1);
  // Quantiles of 95 % of Student's t by degrees of freedom from 2; more take that of 10, which is wider.
  constexpr std::array kQuantiles = {2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812};
  const std::size_t place = log_ratios.size() - kFewestLogs;
  const double quantile = place < kQuantiles.size() ? kQuantiles[place] : kQuantiles.back();
  const double half = quantile * std::sqrt(variance * (1 + 1 / count));
  return {.low = std::min(std::exp(mean - half), 1.0), .high = std::max(std::exp(mean + half), 1.0)};
}

std::string interval_text(const Interval& interval) {
  const auto change = [](double factor) {
    const double percent = 100 * (factor - 1);
    return fmt::format("{}{:.0f}", percent < -0.5 ? "−" : "+", std::abs(percent));
  };
  return fmt::format("{} … {} %", change(interval.low), change(interval.high));
}

std::string never_validated_text(const RunTraits& traits, const Uncertainty& uncertainty) {
  if (!uncertainty.never_validated) return {};
  return fmt::format("never validated: {} with {} on {}; interval {}", traits.stack, models_of(traits.kind),
                     traits.profile, interval_text(uncertainty.time));
}

}  // namespace vtrain
