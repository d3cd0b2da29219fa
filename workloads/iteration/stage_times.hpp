/// Sums over the operators of a stage, and other steps that both ways of timing an iteration share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "workloads/iteration/iteration_times.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// The shape of the pipeline that does the work. Throws `std::logic_error` if stages differ in the number of
/// chunks, or if the schedule has no pass for existing weight gradients.
PipelineShape pipeline_shape(const IterationWork& work);

/// Latency of messages between stages.
enum class Messages : std::uint8_t { TakeTime, AreInstant };

/// The blocks of a chunk with the sends after them. `passes` are the times of its passes alone.
BlockTimes with_sends(BlockTimes passes, const Send& forward, const Send& backward, Messages messages);

/// Sums over one chain of operators, in ns.
struct ChainTotals {
  double pass = 0;              ///< from its start to its end, gaps included
  double span = 0;              ///< `pass` with the stall of the send that follows
  double kernel_time = 0;       ///< busy time of all but collectives
  double collective_time = 0;   ///< busy time of collectives
  bool has_collective = false;  ///< the chain has a collective
  double after_collective = 0;  ///< from the end of the last collective and its gap to the end of the chain
  Breakdown breakdown;          ///< parts of `span`
};

/// Sums over the blocks of a chunk.
struct ChunkTotals {
  ChainTotals forward;
  ChainTotals recompute;
  ChainTotals backward;
  ChainTotals weight;
};

/// Sums over the chains that a stage runs once.
struct OnceTotals {
  ChainTotals data_parallel;
  ChainTotals optimizer;
};

/// Adds up the work of a stage on a chunk.
ChunkTotals total_chunk(const ChunkWork& work);

/// Adds up the work that a stage does once.
OnceTotals total_once(const StageWork& work);

/// The part of a breakdown to which tasks of a kind belong.
Nanoseconds& part_of(Breakdown& breakdown, TaskKind kind);

/// Adds the time of an operator to the parts of a breakdown.
void add_operator(Breakdown& breakdown, const Operator& op);

/// Sum of the parts of a breakdown without the bubble.
Nanoseconds busy_time(const Breakdown& breakdown);

/// The stage with the most work, by the `busy_time` of each; the first of those that are equal within
/// rounding.
std::size_t busiest_stage(std::span<const Nanoseconds> busy);

/// Sets the slowest stage of an iteration and its breakdown, from the breakdowns of all stages without idle
/// time. `without_latency` is the iteration time if messages between stages were instant.
void set_breakdown(IterationTimes& times, std::span<const Breakdown> stages, Nanoseconds without_latency);

/// Divides the idle time of a stage in an iteration into the part that remains without latency and the part
/// that latency causes.
void divide_idle_time(Breakdown& breakdown, Nanoseconds busy, Nanoseconds iteration,
                      Nanoseconds without_latency);

}  // namespace vtrain
