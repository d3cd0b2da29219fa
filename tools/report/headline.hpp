/// The sentence that answers the question, before any table.
#pragma once

#include <span>
#include <string>

#include "tools/report/report.hpp"

namespace vtrain::report {

/// Plain text, not yet escaped. With deadlines: which policy met the largest share of them, by how much more
/// than the runner-up, at how many preemptions. Without: the same for the average JCT. `runs` is not empty.
std::string headline(std::span<const ReportRun> runs);

}  // namespace vtrain::report
