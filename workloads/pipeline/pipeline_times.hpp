/// Ends of the stages of a pipeline, from the times of whole blocks: no operators, no graph. The one place
/// that rounds times to a grid and picks a recurrence.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/pipeline/block_recurrence.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/merged_schedule.hpp"
#include "workloads/pipeline/round_recurrence.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// Passes whose ends a caller needs, in addition to those of the stages.
enum class PassEnds : std::uint8_t {
  Last,  ///< the last backward and the last weight pass of each stage, where stages have one chunk
  All,   ///< the last pass of each kind, of every chunk
};

/// Times pipelines. Keeps its memory and the schedules it has merged from call to call, so that a search
/// allocates nothing once it has seen its pipeline depths: one timer per thread.
class PipelineTimer {
 public:
  /// End of each stage's last block, [stages], valid until the next call. `blocks` are [stages][chunks]. The
  /// result is exactly that of the recurrence over all blocks.
  ///
  /// 1F1B and ZB-H1 cost O(stages) a micro-batch until their steady state, which comes after about 2, stages
  /// or 2 x stages micro-batches (of uniform inner stages); the rest is O(stages). The other schedules cost
  /// O(stages^2 x chunks) and more, as long as it takes them to fill, to become steady and to drain.
  ///
  /// Throws `std::logic_error` where `check_schedule` has an error or a time is not finite.
  std::span<const Nanoseconds> stage_ends(Schedule schedule, const PipelineShape& shape,
                                          std::span<const BlockTimes> blocks,
                                          PassEnds wanted = PassEnds::Last);

  /// True if the last call found the ends of all passes: they were wanted, or came without asking.
  bool knows_all_passes() const { return !by_rounds_; }
  /// The end of the last such pass of a chunk in the last call. Forward passes need `knows_all_passes`.
  Nanoseconds last_end(std::size_t stage, std::size_t chunk, Pass pass) const;
  /// The end of the recomputation before the last backward pass, if it did not wait. Needs
  /// `knows_all_passes`.
  Nanoseconds last_ready(std::size_t stage, std::size_t chunk) const {
    return block_recurrence_.last_ready(stage, chunk, Pass::Backward);
  }

 private:
  const PipelineSchedule& find_schedule(Schedule schedule, const PipelineShape& shape);

  using Key = std::tuple<Schedule, std::int64_t, std::int64_t, std::int64_t>;

  std::vector<BlockTimes> rounded_;
  std::vector<Nanoseconds> ends_;
  RoundRecurrence rounds_;
  BlockRecurrence block_recurrence_;
  bool by_rounds_ = false;                     ///< `rounds_` gave the last answer
  std::map<Key, PipelineSchedule> schedules_;  ///< keys: schedule, stages, chunks and micro-batches
  std::size_t num_cached_blocks_ = 0;
};

}  // namespace vtrain
