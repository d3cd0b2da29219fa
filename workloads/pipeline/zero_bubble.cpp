#include <algorithm>
#include <initializer_list>

#include "workloads/pipeline/stage_order.hpp"

namespace vtrain {
namespace {

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

}  // namespace

constinit const ScheduleRule kZeroBubbleRule = {.name = "zero-bubble",
                                                .order = zero_bubble_order,
                                                .chunks_in_flight = zero_bubble_chunks_in_flight,
                                                .splits_backward = true};

}  // namespace vtrain
