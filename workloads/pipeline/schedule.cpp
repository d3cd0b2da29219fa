#include "workloads/pipeline/schedule.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"

namespace vtrain {
namespace {

// 1F1B over several chunks a stage (Narayanan et al., SC'21, section 2.2), in the order of Megatron-Core:
// micro-batches in groups of as many as there are stages, each group through one chunk after the other.

/// The `number`-th forward or backward block of every stage: a group of as many micro-batches as there are
/// stages passes one chunk after the other, backward from the last chunk on.
StageBlock interleaved_block(const PipelineShape& shape, Pass pass, std::int64_t number) {
  const std::int64_t group_size = shape.num_stages * shape.num_chunks;
  const std::int64_t step = number % group_size / shape.num_stages;
  const std::int64_t chunk = pass == Pass::Forward ? step : shape.num_chunks - 1 - step;
  const std::int64_t micro_batch = number / group_size * shape.num_stages + number % shape.num_stages;
  return {pass, static_cast<std::uint16_t>(chunk), static_cast<std::int32_t>(micro_batch)};
}

/// Forward blocks before the first backward block, if there are as many: twice as far ahead as without
/// chunks, so that no stage waits for the wrap from the last to the first.
std::int64_t interleaved_ahead(const PipelineShape& shape, std::int64_t stage) {
  return (shape.num_stages - 1 - stage) * 2 + (shape.num_chunks - 1) * shape.num_stages;
}

StageOrder interleaved_one_forward_one_backward(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t group_size = shape.num_stages * shape.num_chunks;
  const std::int64_t num_blocks = shape.num_micro_batches * shape.num_chunks;
  const std::int64_t ahead = std::min(interleaved_ahead(shape, stage), num_blocks);
  const std::int64_t num_pairs = num_blocks - ahead;
  const std::int64_t num_groups = num_pairs / group_size;

  BlockLoop warm_up;
  for (std::int64_t i = 0; i < ahead; ++i)
    warm_up.blocks.push_back(interleaved_block(shape, Pass::Forward, i));
  BlockLoop steady{.blocks = {}, .repeats = num_groups, .stride = shape.num_stages};
  BlockLoop rest;
  for (std::int64_t i = 0; i < (num_groups > 0 ? group_size : 0); ++i) {
    steady.blocks.push_back(interleaved_block(shape, Pass::Forward, ahead + i));
    steady.blocks.push_back(interleaved_block(shape, Pass::Backward, i));
  }
  for (std::int64_t i = num_groups * group_size; i < num_pairs; ++i) {
    rest.blocks.push_back(interleaved_block(shape, Pass::Forward, ahead + i));
    rest.blocks.push_back(interleaved_block(shape, Pass::Backward, i));
  }
  for (std::int64_t i = num_pairs; i < num_blocks; ++i)
    rest.blocks.push_back(interleaved_block(shape, Pass::Backward, i));
  return {std::move(warm_up), std::move(steady), std::move(rest)};
}

std::int64_t interleaved_chunks_in_flight(const PipelineShape& shape, std::int64_t stage) {
  return std::min(interleaved_ahead(shape, stage) + 1, shape.num_micro_batches * shape.num_chunks);
}

// 1F1B (Narayanan et al., SC'21; PipeDream-Flush): stage s runs stages - 1 - s forward passes ahead, then one
// forward and one backward pass in turn.

StageOrder one_forward_one_backward_order(const PipelineShape& shape, std::int64_t stage) {
  if (shape.num_chunks > 1) return interleaved_one_forward_one_backward(shape, stage);
  const std::int64_t ahead = std::min(shape.num_stages - 1 - stage, shape.num_micro_batches);
  const std::int64_t rounds = shape.num_micro_batches - ahead;
  const auto next = static_cast<std::int32_t>(ahead);
  return {{.blocks = {{Pass::Forward, 0, 0}}, .repeats = ahead},
          {.blocks = {{Pass::Forward, 0, next}, {Pass::Backward, 0, 0}}, .repeats = rounds},
          {.blocks = {{Pass::Backward, 0, static_cast<std::int32_t>(rounds)}}, .repeats = ahead}};
}

/// The micro-batches that the stages after it have, and its own.
std::int64_t one_forward_one_backward_chunks_in_flight(const PipelineShape& shape, std::int64_t stage) {
  if (shape.num_chunks > 1) return interleaved_chunks_in_flight(shape, stage);
  return std::min(shape.num_stages - stage, shape.num_micro_batches);
}

constexpr ScheduleRule kOneForwardOneBackwardRule = {
    .name = "1f1b",
    .order = one_forward_one_backward_order,
    .chunks_in_flight = one_forward_one_backward_chunks_in_flight,
    .has_chunks = true};

// ZB-H1 (Qi et al., ICLR'24, section 2.1): 1F1B with the weight gradients of stage s delayed by s
// micro-batches, so that no stage holds more activations than stage 0 of 1F1B and gradients go back sooner.

/// Micro-batches that each pass of the stage has finished so far.
struct Progress {
  std::int32_t forward = 0;
  std::int32_t backward = 0;
  std::int32_t weight = 0;
};

/// `repeats` times one micro-batch of each of these passes.
BlockLoop loop(Progress& progress, std::initializer_list<Pass> passes, std::int64_t repeats) {
  BlockLoop made{.blocks = {}, .repeats = repeats};
  for (const Pass pass : passes) {
    std::int32_t& done = pass == Pass::Forward    ? progress.forward
                         : pass == Pass::Backward ? progress.backward
                                                  : progress.weight;
    made.blocks.push_back({pass, 0, done});
    done += static_cast<std::int32_t>(repeats);
  }
  return made;
}

StageOrder zero_bubble_order(const PipelineShape& shape, std::int64_t stage) {
  using enum Pass;
  const std::int64_t ahead = std::min(shape.num_stages - 1 - stage, shape.num_micro_batches);
  const std::int64_t rounds = shape.num_micro_batches - ahead;
  // Backward passes before the first weight gradient: in rounds with a forward pass, then in those without.
  const std::int64_t delay = std::min(stage, shape.num_micro_batches);
  const std::int64_t early = std::min(delay, rounds);
  const std::int64_t late = delay - early;
  Progress progress;
  return {loop(progress, {Forward}, ahead),
          loop(progress, {Forward, Backward}, early),
          loop(progress, {Forward, Backward, Weight}, rounds - early),
          loop(progress, {Backward}, late),
          loop(progress, {Backward, Weight}, ahead - late),
          loop(progress, {Weight}, delay)};
}

/// On every stage as many as 1F1B has on the first: the weight gradients to come need them.
std::int64_t zero_bubble_chunks_in_flight(const PipelineShape& shape, std::int64_t /*stage*/) {
  return std::min(shape.num_stages, shape.num_micro_batches);
}

constexpr ScheduleRule kZeroBubbleRule = {.name = "zero-bubble",
                                          .order = zero_bubble_order,
                                          .chunks_in_flight = zero_bubble_chunks_in_flight,
                                          .splits_backward = true};

// GPipe (Huang et al., NeurIPS'19): all forward passes, then all backward passes.

StageOrder gpipe_order(const PipelineShape& shape, std::int64_t /*stage*/) {
  return {{.blocks = {{Pass::Forward, 0, 0}}, .repeats = shape.num_micro_batches},
          {.blocks = {{Pass::Backward, 0, 0}}, .repeats = shape.num_micro_batches}};
}

std::int64_t gpipe_chunks_in_flight(const PipelineShape& shape, std::int64_t /*stage*/) {
  return shape.num_micro_batches;
}

constexpr ScheduleRule kGPipeRule = {
    .name = "gpipe", .order = gpipe_order, .chunks_in_flight = gpipe_chunks_in_flight};

/// Rules in the order of `Schedule`.
constexpr std::array<const ScheduleRule*, 3> kRules = {&kOneForwardOneBackwardRule, &kZeroBubbleRule,
                                                       &kGPipeRule};

constexpr auto kRuleNames = [] {
  std::array<std::string_view, kRules.size()> names;
  std::transform(kRules.begin(), kRules.end(), names.begin(),
                 [](const ScheduleRule* rule) { return rule->name; });
  return names;
}();

}  // namespace

std::string_view name_of(Schedule schedule) {
  return rule_of(schedule).name;
}

std::span<const std::string_view> schedule_names() {
  return kRuleNames;
}

Result<Schedule> parse_schedule(std::string_view name) {
  return parse_name<Schedule>("schedule", kRuleNames, name);
}

const ScheduleRule& rule_of(Schedule schedule) {
  return *kRules.at(static_cast<std::size_t>(schedule));
}

std::span<const ScheduleRule* const> schedule_rules() {
  return kRules;
}

StageOrder stage_order(Schedule schedule, const PipelineShape& shape, std::int64_t stage) {
  if (const auto checked = check_schedule(schedule, shape); !checked) {
    throw std::logic_error("stage order: " + checked.error().message);
  }
  return rule_of(schedule).order(shape, stage);
}

Result<void> check_schedule(Schedule schedule, const PipelineShape& shape) {
  if (shape.num_chunks == 1) return {};
  if (!rule_of(schedule).has_chunks) {
    return fail(
        {.field = "virtual_stages",
         .message = expected_found("1 with a schedule other than 1F1B", std::to_string(shape.num_chunks))});
  }
  // Megatron-Core takes other numbers only where groups have more micro-batches than there are stages.
  if (shape.num_micro_batches % shape.num_stages != 0) {
    return fail({.field = "global_batch",
                 .message = expected_found(
                     fmt::format("with virtual stages a multiple of the {} pipeline stages in micro-batches",
                                 shape.num_stages),
                     std::to_string(shape.num_micro_batches))});
  }
  return {};
}

}  // namespace vtrain
