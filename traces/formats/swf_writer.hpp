/// Writes the Standard Workload Format (see `swf_reader.hpp`).
#pragma once

#include <filesystem>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Writes what the format can say: submission, wait (from the original start), run time, GPUs as processors,
/// requested time, status, user, and the tenant as group. Times that are no whole seconds keep their
/// fraction. A job that ran into its time limit has failed, one still running has an unknown status. Job ids,
/// users and tenants that are whole numbers stand as they are; others are numbered from 1 in their order, and
/// the header says which user and which group is which.
///
/// A job without a run time is an error: the format has no models. The file appears when it is complete.
Result<void> write_swf(const Trace& trace, const std::filesystem::path& path);

}  // namespace vtrain
