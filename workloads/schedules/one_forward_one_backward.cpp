#include <algorithm>

#include "workloads/stage_order.hpp"

namespace vtrain {

StageOrder one_forward_one_backward(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t ahead = std::min(shape.num_stages - 1 - stage, shape.num_micro_batches);
  const std::int64_t rounds = shape.num_micro_batches - ahead;
  const auto next = static_cast<std::int32_t>(ahead);
  return {{.blocks = {{Pass::Forward, 0, 0}}, .repeats = ahead},
          {.blocks = {{Pass::Forward, 0, next}, {Pass::Backward, 0, 0}}, .repeats = rounds},
          {.blocks = {{Pass::Backward, 0, static_cast<std::int32_t>(rounds)}}, .repeats = ahead}};
}

}  // namespace vtrain
