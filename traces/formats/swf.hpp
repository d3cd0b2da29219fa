/// The Standard Workload Format, version 2.2, of the Parallel Workloads Archive (Feitelson, Tsafrir, Krakov,
/// JPDC 2014): 18 numbers a line, -1 where unknown, after a header of comments that begin with `;`.
///
/// Kept: submission (2), run time (4), processors as GPUs (5, or 8 where that is unknown), user (12), group
/// (13) as tenant, requested time (9), status (11), original start (submission + wait, 3). Users and groups
/// are the numbers of the file, or the names that our own writer says in its header they stand for. Memory,
/// CPU time, executable, queue, partition and dependencies are dropped. The format has no GPU type, model,
/// iterations or deadline.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the first line that is not blank is a comment that begins with `;`, or 18 or more numbers.
bool recognise_swf(std::string_view head);

/// Reads all lines; fields after the 18th (three in MetaCentrum's logs) are ignored. Times are seconds from
/// the header's `UnixStartTime`; where submissions are dates themselves (above 10^9, as in MetaCentrum's
/// logs), time 0 becomes the first submission. `MaxProcs` of the header is the size of the cluster.
///
/// Skipped and counted: jobs of unknown or zero run time, of unknown processors or submission, the parts of
/// checkpointed jobs (status 2, 3 and 4, which repeat what the whole job's line says), and damaged lines.
Result<Trace> read_swf(const TraceInput& input);

}  // namespace vtrain
