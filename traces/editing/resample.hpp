/// Draws the days or weeks of a trace anew: other traces that might have been recorded in its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Length of the blocks that are drawn.
enum class Blocks : std::uint8_t {
  None,   ///< the trace stays as it is
  Days,   ///< days of 24 hours from the first submission on
  Weeks,  ///< weeks of 7 days from the first submission on
};

/// Reads `none`, `auto`, `days` or `weeks`; `auto` is `None`. The error carries only the message.
Result<Blocks> parse_blocks(std::string_view text);

/// The longest blocks of which the trace has four: `weeks`, `days` or else `none`.
std::string_view fitting_blocks(const Workload& workload);

/// Replaces each block of the trace by one drawn from all complete blocks with replacement (block bootstrap,
/// Künsch 1989). A rest that is shorter than a block gets the first part of a drawn one. Jobs keep their time
/// within the block; deadlines and recorded starts move with them. The second copy of job `a` is `a~2`; jobs
/// no longer depend on each other.
///
/// Returns a sentence on the change; empty for `None`. Error: fewer than two complete blocks.
/// O(n log n) in the jobs drawn.
Result<std::string> resample(Workload& workload, Blocks blocks, std::uint64_t seed);

}  // namespace vtrain
