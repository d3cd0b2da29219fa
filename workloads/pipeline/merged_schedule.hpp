/// The orders of all stages of a pipeline, merged into one list in which every block comes after those that
/// it depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// One pass of one micro-batch through one chunk of one stage.
struct ScheduledBlock {
  std::int32_t micro_batch = 0;  ///< counted as the section says that holds the block
  std::uint16_t stage = 0;
  std::uint16_t chunk = 0;
  Pass pass = Pass::Forward;
};

/// A number for each pass.
struct PassNumbers {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  std::int64_t weight = 0;

  /// The number of one of them.
  std::int64_t of(Pass pass) const {
    return pass == Pass::Forward ? forward : pass == Pass::Backward ? backward : weight;
  }
};

/// Blocks that are run `repeats` times, each time on micro-batches `stride` further on.
struct ScheduleSection {
  std::vector<ScheduledBlock> blocks;
  std::int64_t repeats = 1;
  PassNumbers stride;
  /// What the micro-batches of the blocks are counted from: the first that has not left the last chunk of
  /// the model forward, or its first chunk backward, when the section begins. The first whose weight
  /// gradients the first chunk lacks.
  PassNumbers first;
  /// How many micro-batches from `first` on have entered the model in that direction when the section, or
  /// one of its repetitions, begins: those under way. 0 for weight gradients, which pass on nothing.
  PassNumbers under_way;
};

/// Every block of an iteration. Blocks of one stage run in this order. A block depends on the one before it
/// on its stage. A forward block also depends on that of its micro-batch one chunk of the model before, a
/// backward block on that one chunk after; chunk c of stage s is part c x stages + s of the model. All else
/// that there is to wait for, the stage has done already.
///
/// Whatever repeats on all stages at once is a section that repeats, so that the description stays small
/// whatever the number of micro-batches.
struct PipelineSchedule {
  std::vector<ScheduleSection> sections;
  /// Above every `micro_batch` of forward and of backward blocks. 0 for weight gradients.
  PassNumbers window;
};

/// Merges the orders of the stages. The shape must be one that `check_schedule` accepts, of at most 65,535
/// stages and as many chunks. Linear in blocks, repetitions not counted. Throws `std::logic_error` if stages
/// wait for each other in a circle or leave something out.
PipelineSchedule make_schedule(Schedule schedule, const PipelineShape& shape);

}  // namespace vtrain
