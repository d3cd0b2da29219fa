#include "tools/experiment/plan_spec.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "tools/experiment/option_error.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;
constexpr std::size_t kMostCounts = 4096;

/// The counts of one part of `--gpus`.
Result<std::vector<std::int64_t>> parse_part(std::string_view part, std::int64_t gpus_per_node) {
  const auto range = parse_integer_range(part, 1, kMostGpus);
  if (!range) {
    return fail(
        {.message = expected_found(
             fmt::format("a number of GPUs from 1 to {} or a rising range, as 64-512", kMostGpus), part)});
  }
  const auto [first, last] = *range;
  if (first == last) return std::vector{first};
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count < gpus_per_node; count *= 2)
    counts.push_back(count);
  for (std::int64_t nodes = std::max<std::int64_t>(1, first / gpus_per_node); nodes * gpus_per_node <= last;
       ++nodes)
    counts.push_back(nodes * gpus_per_node);
  std::erase_if(counts, [&](std::int64_t count) { return count < range->first || count > range->last; });
  return counts;
}

Result<void> set_value(ParallelPlan& plan, std::string_view key, std::string_view value) {
  std::vector<std::string_view> names;
  for (const Field<ParallelPlan>& field : plan_fields()) {
    if (field.option.empty()) continue;
    if (field.option == key || field.alias == key) return set_field(field, plan, value);
    names.push_back(field.option);
  }
  return fail({.message = fmt::format("unknown key '{}'; {}", printable(key), suggest_name(key, names))});
}

}  // namespace

Result<std::vector<GpuCount>> parse_gpu_counts(std::string_view text, std::int64_t gpus_per_node) {
  std::vector<GpuCount> counts;
  for (const std::string_view part : split(text, ',')) {
    // `1,024` would be 1 and 24 GPUs.
    if (part.size() > 1 && part.front() == '0')
      return fail({.message = expected_found("whole numbers without separators of thousands", text)});
    const auto of_part = parse_part(part, gpus_per_node);
    if (!of_part) return fail(of_part.error());
    for (const std::int64_t count : *of_part)
      counts.emplace_back(static_cast<std::int32_t>(count));
    if (counts.size() > kMostCounts) {
      return fail({.message = fmt::format("expected at most {} GPU counts, found '{}'", kMostCounts,
                                          printable(part))});
    }
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.empty()) {
    return fail(
        {.message = expected_found(
             fmt::format("a range that holds a multiple of the {} GPUs of a node", gpus_per_node), text)});
  }
  return counts;
}

Result<std::vector<GpuCount>> read_gpus(std::string text, const std::optional<ClusterSpec>& cluster,
                                        const GpuProfile& profile, bool parts) {
  if (text.empty() && !cluster) {
    return fail(
        {.field = "--gpus", .message = "missing: say for instance --gpus 512 or --cluster 64x8:a100"});
  }
  if (text.empty()) {
    const std::int32_t all = cluster->total_gpus().value;
    text = parts ? fmt::format("1-{}", all) : std::to_string(all);
  }
  auto counts = parse_gpu_counts(text, profile.gpus_per_node);
  if (!counts) return fail(in_option("--gpus", counts.error()));
  if (cluster && counts->back() > cluster->total_gpus()) {
    return fail({.field = "--gpus",
                 .message = expected_found(
                     fmt::format("at most the {} GPUs of the cluster", cluster->total_gpus().value), text)});
  }
  return counts;
}

Result<ParallelPlan> parse_plan_spec(std::string_view text, ParallelPlan plan) {
  std::set<std::string_view> seen;
  for (const std::string_view part : split(text, ',')) {
    const auto [key, value] = split_once(part, '=');
    if (!value) return fail({.message = expected_found("key=value, for instance tensor=8", part)});
    if (!seen.insert(key).second)
      return fail({.field = printable(key), .message = "expected once, found twice"});
    if (auto set = set_value(plan, key, *value); !set) {
      if (!set.error().message.starts_with("unknown key")) set.error().field = key;
      return fail(std::move(set.error()));
    }
  }
  return plan;
}

Result<ParallelPlan> on_gpus(ParallelPlan plan, GpuCount num_gpus) {
  const std::int64_t model_parallel = plan.tensor * plan.context * plan.pipeline;
  if (num_gpus.value % model_parallel != 0) {
    return fail({.message = fmt::format("tensor {} x context {} x pipeline {} does not divide {} GPUs",
                                        plan.tensor, plan.context, plan.pipeline, num_gpus.value)});
  }
  plan.data = num_gpus.value / model_parallel;
  return plan;
}

}  // namespace vtrain
