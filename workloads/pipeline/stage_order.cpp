#include "workloads/pipeline/stage_order.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// In the order of `Schedule`.
constexpr std::array<const ScheduleRule*, 3> kRules = {&kOneForwardOneBackwardRule, &kZeroBubbleRule,
                                                       &kGPipeRule};

}  // namespace

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
