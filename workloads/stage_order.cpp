#include "workloads/stage_order.hpp"

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {

StageOrder stage_order(Schedule schedule, const PipelineShape& shape, std::int64_t stage) {
  if (const auto checked = check_schedule(schedule, shape); !checked) {
    throw std::logic_error("stage order: " + checked.error().message);
  }
  switch (schedule) {
    case Schedule::OneForwardOneBackward:
      return shape.num_chunks == 1 ? one_forward_one_backward(shape, stage)
                                   : interleaved_one_forward_one_backward(shape, stage);
    case Schedule::ZeroBubble:
      return zero_bubble_h1(shape, stage);
    case Schedule::GPipe:
      return gpipe(shape, stage);
  }
  throw std::logic_error("stage order: unknown schedule");
}

Result<void> check_schedule(Schedule schedule, const PipelineShape& shape) {
  if (shape.num_chunks == 1) return {};
  if (schedule != Schedule::OneForwardOneBackward) {
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

bool splits_backward(Schedule schedule) {
  return schedule == Schedule::ZeroBubble;
}

}  // namespace vtrain
