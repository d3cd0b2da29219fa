/// The answer of a comparison in words, and hints that explain its numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vtrain {
struct ReportInput;
struct ReportRun;
}  // namespace vtrain

namespace vtrain::report {

/// The answer as plain text, not yet escaped. With deadlines: the policy that met most of them, its lead over
/// the runner-up, its price, and the largest number possible on the requested GPUs. Without: the policy with
/// the shortest average JCT, and waiting times. Both are compared with the recorded schedule if that is among
/// the policies. A difference of a few jobs is not called clear. `input` has at least one run.
std::string headline(const ReportInput& input);

/// Positions of the runs, best first, as the answer ranks them: by deadlines met (if any), then by JCT among
/// the runs that completed the most jobs. `runs` has at least one.
std::vector<std::size_t> ranking(std::span<const ReportRun> runs);

/// Hints, a sentence each: that nothing waits, that all results are alike, that jobs request more than the
/// cluster's capacity.
std::vector<std::string> hints(const ReportInput& input);

}  // namespace vtrain::report
