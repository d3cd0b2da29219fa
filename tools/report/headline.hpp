/// The answer of a comparison in words, and hints for who wonders about its numbers.
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

/// The answer as plain text, not yet escaped. With deadlines: the policy that met most of them, by how much
/// more than the runner-up and at which price, and the most that the GPUs requested allow. Without: the
/// policy with the shortest average JCT, and waits; both against the recorded schedule where that is among
/// the policies. What a handful of jobs decides is no clear difference. `input` has at least one run.
std::string headline(const ReportInput& input);

/// Positions of the runs, the best first, as the answer ranks them: by deadlines met where there are
/// deadlines, then by JCT among those that completed the most jobs. `runs` has at least one.
std::vector<std::size_t> ranking(std::span<const ReportRun> runs);

/// Hints, a sentence each: that nothing waits, that all results are alike, that jobs ask for more than the
/// cluster can do.
std::vector<std::string> hints(const ReportInput& input);

}  // namespace vtrain::report
