/// The state of a running cluster, from the files that its scheduler's commands wrote.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/live/live_state.hpp"
#include "tools/live/run_time_book.hpp"

namespace vtrain {

/// Reads dumps of one cluster at about one instant, in any order. A job or node that several have is taken
/// from the first; what the others know more is added. Errors: those of the dumps, no job and no node at all,
/// one id for two jobs in one dump. `zone` is that of times without one.
Result<LiveState> read_live_state(std::span<const std::string> files, const TimeZone& zone = kUtc);

/// The text of a dump.
struct DumpText {
  std::string name{};  ///< file or command that it comes from, for errors
  std::string text{};
};
/// The same for texts.
Result<LiveState> read_live_texts(std::vector<DumpText> texts, const TimeZone& zone = kUtc);

/// Run times of the ended jobs of a state and of files with past jobs. Errors: those of `read_live_state`.
Result<RunTimeBook> read_run_times(const LiveState& state, std::span<const std::string> past_files,
                                   const TimeZone& zone = kUtc);

/// Adds the text of one dump to a state. Objects of Kubernetes become jobs and nodes by `finish_kubernetes`
/// only, once all dumps are there. Errors name `file`.
Result<void> add_dump(std::string text, const std::string& file, LiveState& state);

}  // namespace vtrain
