/// The orders of all stages of a pipeline, merged into one list. Every block comes after those that it
/// depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// One pass of one micro-batch through one chunk of one stage.
struct ScheduledBlock {
  std::int32_t micro_batch = 0;  ///< counted from `ScheduleSection::first`
  std::uint16_t stage = 0;
  std::uint16_t chunk = 0;
  Pass pass = Pass::Forward;
};

/// A number for each pass.
struct PassNumbers {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  std::int64_t weight = 0;

  /// The number of one pass.
  std::int64_t of(Pass pass) const {
    return pass == Pass::Forward ? forward : pass == Pass::Backward ? backward : weight;
  }
};

/// Blocks that are run `repeats` times, each time on micro-batches `stride` further on.
struct ScheduleSection {
  std::vector<ScheduledBlock> blocks;
  std::int64_t repeats = 1;
  PassNumbers stride;
  /// Micro-batch from which those of the blocks are counted when the section begins. Forward: the first that
  /// has not left the model's last chunk. Backward: the first that has not left its first chunk. Weight: the
  /// first whose weight gradients the first chunk lacks.
  PassNumbers first;
  /// Number of micro-batches from `first` on that have entered the model in that direction when the section,
  /// or one of its repetitions, begins. 0 for weight gradients, which pass nothing on.
  PassNumbers under_way;
};

/// Every block of an iteration. Blocks of one stage run in this order. A block depends on the one before it
/// on its stage. A forward block also depends on its micro-batch's block one chunk of the model before, a
/// backward block on that one chunk after. Chunk c of stage s is part c x stages + s of the model. The stage
/// itself has already done all other work that a block needs.
///
/// Blocks that repeat on all stages at once form a repeated section, so the description stays small for any
/// number of micro-batches.
struct PipelineSchedule {
  std::vector<ScheduleSection> sections;
  /// Bound above every `micro_batch` of forward and of backward blocks. 0 for weight gradients.
  PassNumbers window;
};

/// Merges the orders of the stages. `check_schedule` must accept the shape; at most 65,535 stages and 65,535
/// chunks. Linear in blocks, repetitions not counted. Throws `std::logic_error` if stages wait for each other
/// in a circle or leave out blocks.
PipelineSchedule make_schedule(Schedule schedule, const PipelineShape& shape);

}  // namespace vtrain
