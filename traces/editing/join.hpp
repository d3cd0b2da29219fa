/// Several traces as one.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

/// A trace with the name of the cluster that it was recorded on.
struct NamedTrace {
  std::string name;
  Trace trace;
};

/// A name for each of some traces, from where they are: that of the file or folder without endings
/// (`data/jobs.v1.csv` is `jobs`); where several would have it, with its endings; where this is not enough
/// either, the whole path. No two are the same if no two paths are.
std::vector<std::string> trace_names(const std::vector<std::string>& paths);

/// The jobs of all traces, ordered by submission, ties in the order of the traces. Where all are dated by one
/// clock, and within 100 years, times count from the first submission of all, and a job that several files
/// hold, as exports of overlapping months do, is one, which an assumption says. Otherwise all times 0 are
/// taken as the same. Where a job id occurs twice, all ids are put behind the name of their trace:
/// `cluster01/17`. Files, assumptions and skipped rows are those of all, the latter without lines.
///
/// With `names_as_tenants` every trace is of a cluster of its own: it is the tenant of its jobs, and none of
/// them is another's. `traces` is not empty; a single trace comes back as it is, but for that.
Trace join_traces(std::vector<NamedTrace> traces, bool names_as_tenants);

}  // namespace vtrain
