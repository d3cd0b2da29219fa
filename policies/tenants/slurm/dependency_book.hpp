/// Jobs that wait for other jobs, and arrays of jobs with a throttle (`sbatch --dependency`, `--array`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/jobs/requirements.hpp"

namespace vtrain::slurm {

/// Remembers which jobs have started and ended, and which wait for that.
class DependencyBook {
 public:
  /// State of a job's dependencies.
  enum class State : std::uint8_t {
    Met,      ///< all hold
    Awaited,  ///< some may still hold
    Never,    ///< one can't hold any more
  };

  /// Adds a job, in the order of their numbers. Jobs that it depends on were added before; those that nobody
  /// knows are taken as met, as Slurm forgets jobs that have ended long ago.
  State add(std::uint32_t job, std::string_view name, const JobRequirements* requirements);
  /// Notes the start of a job. Appends the jobs of which no dependency is open any more.
  void note_start(std::uint32_t job, std::vector<std::uint32_t>& freed);
  /// Notes the end of a job, with success or not.
  void note_end(std::uint32_t job, bool succeeded, std::vector<std::uint32_t>& freed);
  /// True if the job waits for another one, perhaps for ever.
  bool is_open(std::uint32_t job) const { return entries_[job].open > 0 || entries_[job].is_lost; }
  /// True if as many tasks of the job's array run as may.
  bool is_throttled(std::uint32_t job) const;
  /// Counts a task that runs, or has left (`sign` −1).
  void count_task(std::uint32_t job, std::int32_t sign);

 private:
  enum class Progress : std::uint8_t { Submitted, Started, Succeeded, FailedToSucceed };
  struct Entry {
    Progress progress = Progress::Submitted;
    std::uint32_t open = 0;   ///< dependencies that do not hold yet
    bool is_lost = false;     ///< one can't hold any more
    std::uint32_t array = 0;  ///< number of its array; 0: none
  };
  struct Waiter {
    std::uint32_t job = 0;
    DependencyKind kind = DependencyKind::AfterAny;
  };
  struct Array {
    std::int32_t limit = 0;
    std::int32_t running = 0;
    std::vector<std::uint32_t> tasks{};
  };

  static State state_of(Progress progress, DependencyKind kind);
  void settle(std::uint32_t job, std::vector<std::uint32_t>& freed);

  std::vector<Entry> entries_;  ///< [job]
  std::unordered_map<std::string_view, std::uint32_t> jobs_;
  std::map<std::string, std::uint32_t, std::less<>> array_numbers_;
  std::vector<Array> arrays_{1};
  std::unordered_map<std::uint32_t, std::vector<Waiter>> waiters_;  ///< by the job that they wait for
};

}  // namespace vtrain::slurm
