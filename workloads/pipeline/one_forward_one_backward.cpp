#include <algorithm>

#include "workloads/pipeline/stage_order.hpp"

namespace vtrain {
namespace {

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

}  // namespace

constinit const ScheduleRule kOneForwardOneBackwardRule = {
    .name = "1f1b",
    .order = one_forward_one_backward_order,
    .chunks_in_flight = one_forward_one_backward_chunks_in_flight,
    .has_chunks = true};

}  // namespace vtrain
