/// Messages between the ranks of a sweep, as bytes. All ranks run the same program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sweep/grid_replayer.hpp"

namespace vtrain {

/// Message of rank 0: numbers of runs to replay. None: there is no more work.
std::string pack_batch(const std::vector<std::int64_t>& runs);
/// The numbers of a batch.
std::vector<std::int64_t> unpack_batch(std::string_view bytes);

/// Message to rank 0.
struct WorkerReport {
  bool wants_more = false;          ///< a batch has ended
  bool has_ended = false;           ///< the last message of this rank
  std::vector<ReplayedRun> runs{};  ///< runs that have ended
  std::optional<Error> refusal{};   ///< reason why this rank cannot work at all
};
std::string pack_report(const WorkerReport& report);
/// The report in a message.
WorkerReport unpack_report(std::string_view bytes);

}  // namespace vtrain
