/// How long jobs of a running cluster may run: from past jobs, or from their time limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/eta.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// Where a job's run time comes from, the best source first.
enum class RunTimeSource : std::uint8_t {
  SameJob,   ///< past runs of its user with its name on as many GPUs
  SameUser,  ///< parts of their time limits that past jobs of its user used
  Everyone,  ///< parts of their time limits that all past jobs used
  Limit,     ///< its time limit, or its partition's
  Day,       ///< 24 hours, as nothing else is known
};

/// Name of a source in results.
std::string_view name_of(RunTimeSource source);

/// A job's possible run times and their source.
struct RunTimeGuess {
  RunTimes times{};
  RunTimeSource source = RunTimeSource::Day;
};

/// Run times of past jobs.
class RunTimeBook {
 public:
  /// Fewest past runs of a job, jobs of its user, and jobs in all from which run times are drawn.
  static constexpr std::size_t kFewestRuns = 5;
  static constexpr std::size_t kFewestOfUser = 20;
  static constexpr std::size_t kFewestInAll = 50;

  /// Takes in a job that has started and ended; others change nothing.
  void add(const ListedJob& job);
  /// Run times of a job whose limit is known, or its partition's (`limit_s`; 0: none). None is above a limit.
  RunTimeGuess guess(const ListedJob& job, std::int64_t limit_s) const;
  /// Number of past jobs.
  std::int64_t num_jobs() const { return num_jobs_; }

 private:
  std::map<std::string, std::vector<double>, std::less<>> runs_;   ///< seconds by user, name and GPUs
  std::map<std::string, std::vector<double>, std::less<>> parts_;  ///< parts of limits by user
  std::vector<double> all_parts_;
  std::int64_t num_jobs_ = 0;
};

}  // namespace vtrain
