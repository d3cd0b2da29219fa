/// Joins several traces into one.
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

/// A name for each trace, from its path. It is the name of the file or folder without endings
/// (`data/jobs.v1.csv` is `jobs`). If several traces would get this name, it is the name with endings, and
/// then the whole path. Different paths get different names.
std::vector<std::string> trace_names(const std::vector<std::string>& paths);

/// The jobs of all traces, ordered by submission, ties in the order of the traces. If all have dates of one
/// clock, within 100 years, times count from the first submission of all. A job in several files, as in
/// exports of overlapping months, is then kept once, and an assumption says so. Otherwise time 0 is the same
/// for all traces. If a job id occurs twice, all ids get the name of their trace as a prefix: `cluster01/17`.
/// Files, assumptions and skipped rows are those of all traces; skipped rows lose their lines.
///
/// With `names_as_tenants` every trace belongs to a different cluster, which is the tenant of its jobs. Then
/// no job is in two traces. `traces` is not empty. A single trace is returned unchanged, except for the
/// tenants.
Trace join_traces(std::vector<NamedTrace> traces, bool names_as_tenants);

}  // namespace vtrain
