/// Run times of the jobs of a running cluster: from past jobs, or from their time limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/eta.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// Sources of a job's run time, the best one first.
enum class RunTimeSource : std::uint8_t {
  Model,     ///< the predicted time of the model that it trains
  SameJob,   ///< past runs of its user with its name on as many GPUs; nameless ones with its limit
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

/// Facts that group jobs by their run times.
struct RunTimeKey {
  std::string_view user{};   ///< user; empty: unknown
  std::string_view name{};   ///< name that its user gave; empty: unknown
  std::int64_t gpus = 0;     ///< GPUs
  std::int64_t limit_s = 0;  ///< time limit, or that of its partition; 0: none
};

/// Run times of past jobs.
class RunTimeBook {
 public:
  /// Fewest past runs of a job, jobs of its user, and jobs in all from which run times are drawn.
  static constexpr std::size_t kFewestRuns = 5;
  static constexpr std::size_t kFewestOfUser = 20;
  static constexpr std::size_t kFewestInAll = 30;

  /// Adds a job that ran for some seconds, above 0.
  void add(const RunTimeKey& key, double seconds);
  /// Adds a job that has started and ended; others change nothing.
  void add(const DumpedJob& job);
  /// Run times of a job, none above its limit. Amortised O(1) for known kinds of jobs.
  RunTimeGuess guess(const RunTimeKey& key) const;
  /// Number of past jobs.
  std::int64_t num_jobs() const { return num_jobs_; }

 private:
  /// Values with their quantiles, which may lag behind by one value in fifty.
  class Sample {
   public:
    void add(double value) { values_.push_back(value); }
    std::size_t size() const { return values_.size(); }
    const std::vector<double>& quantiles() const;

   private:
    std::vector<double> values_;
    mutable std::vector<double> quantiles_;
    mutable std::size_t counted_ = 0;  ///< values when the quantiles were made
  };

  std::map<std::string, Sample, std::less<>> runs_;  ///< seconds by user, name, GPUs and limit
  /// Parts of limits by user, by class of limits, and by both.
  std::map<std::string, Sample, std::less<>> parts_;
  Sample all_parts_;
  std::int64_t num_jobs_ = 0;
};

}  // namespace vtrain
