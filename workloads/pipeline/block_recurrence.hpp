/// Times of any schedule, block by block, with a jump over the steady state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/merged_schedule.hpp"

namespace vtrain {

/// Runs the blocks of a schedule. All operators of a block are in one chain, so a block is one update of two
/// clocks, that of its stage and that of its micro-batch:
///
///     stage clock       = max(stage clock + recomputation, micro-batch clock) + block
///     micro-batch clock = stage clock + latency of the message to the next chunk
///
/// One repetition of a section of the schedule is then a max-plus linear map of all clocks: it commutes with
/// adding a constant to each of them. Once all clocks equal those of some repetitions before plus one
/// constant, further repetitions follow the same pattern. The remaining rounds are then one multiplication.
class BlockRecurrence {
 public:
  /// Times the blocks of a schedule. `blocks` are [stages][chunks], on a grid on which all sums are exact.
  void run(const PipelineSchedule& schedule, const PipelineShape& shape, std::span<const BlockTimes> blocks);

  /// End of the stage's last block.
  Nanoseconds stage_end(std::size_t stage) const { return Nanoseconds(stages_[stage]); }

  /// Time at which the stage reached its last block of this kind, after the recomputation.
  Nanoseconds last_ready(std::size_t stage, std::size_t chunk, Pass pass) const {
    return Nanoseconds(blocks_[block_index(stage, chunk, pass)].ready);
  }
  /// End of the stage's last block of this kind.
  Nanoseconds last_end(std::size_t stage, std::size_t chunk, Pass pass) const {
    return Nanoseconds(blocks_[block_index(stage, chunk, pass)].end);
  }

 private:
  using Clocks = std::vector<double>;

  /// One pass of one chunk, in ns.
  struct Block {
    double recompute = 0;
    double time = 0;
    double latency = 0;
    double ready = 0;  ///< time at which the stage last reached such a block, after recomputation
    double end = 0;    ///< end of the last such block
  };

  std::size_t block_index(std::size_t stage, std::size_t chunk, Pass pass) const {
    return (stage * num_chunks_ + chunk) * 3 + static_cast<std::size_t>(pass);
  }
  void run_once(const ScheduleSection& section);
  void run_section(const ScheduleSection& section);
  void move_windows(std::int64_t forward, std::int64_t backward);
  void copy_state(const ScheduleSection& section);
  bool is_shifted(const ScheduleSection& section) const;
  void shift(const ScheduleSection& section, double moved);

  std::size_t num_chunks_ = 1;
  std::vector<Block> blocks_;  ///< [stages][chunks][passes]
  Clocks stages_;
  Clocks forward_;   ///< clocks of the micro-batches in the schedule's window, forward
  Clocks backward_;  ///< clocks of the micro-batches, backward
  Clocks before_;    ///< all clocks after an earlier repetition
};

}  // namespace vtrain
