/// The numbers of the pictures, as the JSON that report.js reads.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {
struct ReportInput;
}

namespace vtrain::report {

struct StepSeries;

/// Durations of one kind in seconds, ascending, one vector a policy.
using SortedSamples = std::vector<std::vector<double>>;

/// A name cut to 60 bytes, so that a hostile trace does not make a hostile page.
std::string short_name(std::string_view name);
/// `{"mean", "low", "high"}`, only `mean` if exact.
nlohmann::json step_series_json(const StepSeries& series, bool exact);

/// JCT of the jobs that completed.
SortedSamples sorted_jcts(const ReportInput& input);
/// Waiting times of the jobs that ended.
SortedSamples sorted_waiting_times(const ReportInput& input);

/// Empirical distribution functions on common abscissae: `{"exact", "x": [seconds], "percent": [[...] per
/// policy]}`. `percent` is the share of values <= x. Exact (all distinct values) for up to 500 distinct
/// values, else 500 abscissae in equal ratios. At most six decades below the largest value are shown; smaller
/// values count at the first abscissa. Null when all values are 0 or there are none.
nlohmann::json distribution_json(const SortedSamples& samples);

/// Queue length and GPUs in use: `{"exact", "x": [seconds], "waiting": [...], "gpus": [...]}`, the latter two
/// with `{"mean", "low", "high"}` a policy (only `mean` if exact); the last x ends the last span. Null
/// without samples.
nlohmann::json time_series_json(const ReportInput& input);

/// Promises to meet deadlines over time, for the policies that give any: `{"exact", "x": [seconds],
/// "policies": [positions], "given": [...], "kept": [...], "broken": [...]}`. The last three have numbers of
/// promises so far, with `{"mean", "low", "high"}` a policy in `policies` (only `mean` if exact). A promise
/// is kept when the job is done, and broken at its deadline, or earlier if the job fails. Null without
/// promises.
nlohmann::json promises_json(const ReportInput& input);
/// GPUs due to tenants and GPUs that they held: `x` are begins of equal spans of time and the end of the
/// last, seconds. `runs` has an entry for each policy and each of the tenants to which most GPU-hours were
/// due under the first policy: `{"policy", "tenant", "due": {"mean"}, "received": {"mean"}}`. Null without
/// shares.
nlohmann::json shares_json(const ReportInput& input);

/// Deadlines met by job size (powers of two): `{"labels", "jobs", "met": [[count per group] per policy]}`.
/// Only groups with deadlines; null when there are none.
nlohmann::json deadlines_by_size_json(const ReportInput& input);
/// Deadlines met by tenant, as by size: the ten tenants with the most deadlines, then all others together.
/// Null for fewer than two tenants.
nlohmann::json deadlines_by_tenant_json(const ReportInput& input);

/// The Gantt chart of every policy; null if segments were not recorded or nothing ran. If a policy has more
/// than 4,000 segments, those with the most GPU time are drawn; all policies have the same limit, and
/// together they take at most 500 kB.
///
///     {"jobs": [[name, tenant, model, GPUs, submission, deadline or null] a job], "tenants": [name],
///     "models":
///      [name], "bars": [[[job, begin, end, first lane, lanes, ...] a segment] a policy], "met": ["0110" a
///      policy], "segments": [[drawn, all, ratio of the GPU time] a policy], "shown": policy, "groups":
///      [[nodes, GPUs]]}
///
/// A segment has two numbers (first lane, lanes) for each of its pieces. Tenants and models are positions in
/// their lists or -1; `met` has a digit a job. `groups` has the nodes of the lanes, under placements that
/// know nodes. `shown` is the policy with the best result. `outages` is present if nodes went out of service,
/// at most 2,000 times under all policies together: `[[node, begin, end or null, 0 for a failure and 1 for a
/// drain, first lane, lanes] an outage]` a policy.
nlohmann::json gantt_json(const ReportInput& input);

/// True if every job's segments were recorded under every policy.
bool has_recorded_runs(const ReportInput& input);
/// True if segments have nodes.
bool has_segments_on_nodes(const ReportInput& input);

}  // namespace vtrain::report
