#include "workloads/pipeline/stage_order.hpp"

namespace vtrain {
namespace {

StageOrder gpipe_order(const PipelineShape& shape, std::int64_t /*stage*/) {
  return {{.blocks = {{Pass::Forward, 0, 0}}, .repeats = shape.num_micro_batches},
          {.blocks = {{Pass::Backward, 0, 0}}, .repeats = shape.num_micro_batches}};
}

std::int64_t gpipe_chunks_in_flight(const PipelineShape& shape, std::int64_t /*stage*/) {
  return shape.num_micro_batches;
}

}  // namespace

constinit const ScheduleRule kGPipeRule = {
    .name = "gpipe", .order = gpipe_order, .chunks_in_flight = gpipe_chunks_in_flight};

}  // namespace vtrain
