#include <algorithm>
#include <utility>

#include "workloads/pipeline/stage_order.hpp"

namespace vtrain {
namespace {

/// The `number`-th forward or backward block of every stage: a group of as many micro-batches as there are
/// stages passes one chunk after the other, backward from the last chunk on.
StageBlock block(const PipelineShape& shape, Pass pass, std::int64_t number) {
  const std::int64_t group_size = shape.num_stages * shape.num_chunks;
  const std::int64_t step = number % group_size / shape.num_stages;
  const std::int64_t chunk = pass == Pass::Forward ? step : shape.num_chunks - 1 - step;
  const std::int64_t micro_batch = number / group_size * shape.num_stages + number % shape.num_stages;
  return {pass, static_cast<std::uint16_t>(chunk), static_cast<std::int32_t>(micro_batch)};
}

/// Forward blocks before the first backward block, if there are as many: twice as far ahead as without
/// chunks, so that no stage waits for the wrap from the last to the first.
std::int64_t num_ahead(const PipelineShape& shape, std::int64_t stage) {
  return (shape.num_stages - 1 - stage) * 2 + (shape.num_chunks - 1) * shape.num_stages;
}

}  // namespace

StageOrder interleaved_one_forward_one_backward(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t group_size = shape.num_stages * shape.num_chunks;
  const std::int64_t num_blocks = shape.num_micro_batches * shape.num_chunks;
  const std::int64_t ahead = std::min(num_ahead(shape, stage), num_blocks);
  const std::int64_t num_pairs = num_blocks - ahead;
  const std::int64_t num_groups = num_pairs / group_size;

  BlockLoop warm_up;
  for (std::int64_t i = 0; i < ahead; ++i)
    warm_up.blocks.push_back(block(shape, Pass::Forward, i));
  BlockLoop steady{.blocks = {}, .repeats = num_groups, .stride = shape.num_stages};
  BlockLoop rest;
  for (std::int64_t i = 0; i < (num_groups > 0 ? group_size : 0); ++i) {
    steady.blocks.push_back(block(shape, Pass::Forward, ahead + i));
    steady.blocks.push_back(block(shape, Pass::Backward, i));
  }
  for (std::int64_t i = num_groups * group_size; i < num_pairs; ++i) {
    rest.blocks.push_back(block(shape, Pass::Forward, ahead + i));
    rest.blocks.push_back(block(shape, Pass::Backward, i));
  }
  for (std::int64_t i = num_pairs; i < num_blocks; ++i)
    rest.blocks.push_back(block(shape, Pass::Backward, i));
  return {std::move(warm_up), std::move(steady), std::move(rest)};
}

std::int64_t interleaved_chunks_in_flight(const PipelineShape& shape, std::int64_t stage) {
  return std::min(num_ahead(shape, stage) + 1, shape.num_micro_batches * shape.num_chunks);
}

}  // namespace vtrain
