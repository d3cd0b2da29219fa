#include "workloads/pipeline_schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace vtrain {
namespace {

ScheduledBlock block(Pass pass, std::int64_t micro_batch, std::int64_t stage) {
  return {static_cast<std::int32_t>(micro_batch), static_cast<std::uint16_t>(stage), pass};
}

}  // namespace

PipelineSchedule one_forward_one_backward(std::int64_t num_stages, std::int64_t num_micro_batches) {
  if (num_stages < 1 || num_stages > UINT16_MAX || num_micro_batches < 1) {
    throw std::logic_error("1F1B schedule: needs 1 to 65535 stages and at least 1 micro-batch");
  }
  const std::int64_t last = num_stages - 1;
  const std::int64_t num_ahead = std::min(last, num_micro_batches);
  PipelineSchedule schedule;
  schedule.window = num_stages;
  schedule.warm_up.reserve(static_cast<std::size_t>(num_ahead * num_stages));
  for (std::int64_t m = 0; m < num_ahead; ++m) {
    for (std::int64_t stage = 0; stage < last - m; ++stage) {
      schedule.warm_up.push_back(block(Pass::Forward, m, stage));
    }
  }
  // While micro-batch m goes back through all stages, each stage starts the forward pass of one that is
  // further behind.
  schedule.num_steps = num_micro_batches - num_ahead;
  if (schedule.num_steps > 0) {
    for (std::int64_t stage = last; stage >= 0; --stage) {
      schedule.step.push_back(block(Pass::Forward, last - stage, stage));
      schedule.step.push_back(block(Pass::Backward, 0, stage));
    }
  }
  // The same steps once the forward passes run out: `num_ahead` micro-batches are left.
  schedule.cool_down.reserve(static_cast<std::size_t>(2 * num_ahead * num_stages));
  for (std::int64_t m = 0; m < num_ahead; ++m) {
    for (std::int64_t stage = last; stage >= 0; --stage) {
      const std::int64_t ahead = last - stage + m;
      if (ahead < num_ahead) schedule.cool_down.push_back(block(Pass::Forward, ahead, stage));
      schedule.cool_down.push_back(block(Pass::Backward, m, stage));
    }
  }
  return schedule;
}

}  // namespace vtrain
