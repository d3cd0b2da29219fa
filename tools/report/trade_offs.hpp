/// Static pictures of two metrics against each other, with a point for each policy.
#pragma once

#include <span>
#include <string>

#include "tools/report/report.hpp"

namespace vtrain::report {

/// Pictures of job completion time, deadlines met and the deficit of tenants' shares, in pairs, of those
/// that the runs have and in which they differ. Empty with fewer than three runs: a table says as much.
std::string trade_offs_html(std::span<const ReportRun> runs);

}  // namespace vtrain::report
