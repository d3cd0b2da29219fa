/// Tables of squeue, sinfo and sprio for people: a header, columns separated by blanks or by `|`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/live/live_record.hpp"

namespace vtrain {

/// Reads such a table, below an optional line with a date. None for another text. Texts that fill their
/// column may be cut and count as absent. Errors: a row that does not fit its header.
Result<std::optional<LiveRecords>> read_slurm_table(std::string_view text, const std::string& file);

/// True for a table of squeue or sacct whose only ids of jobs are those for people, as 9_[2-9] and 39+1. It
/// is read after others, whose jobs it only completes.
bool has_only_shown_ids(std::string_view text);

/// `2026-11-25T09:17:59` for `Wed Nov 25 09:17:59 2026`; none for another text.
std::optional<std::string> civil_time_of(std::string_view text);

}  // namespace vtrain
