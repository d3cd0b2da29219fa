/// The leases that accepted jobs hold, from one lease to the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/chronus/lease_program.hpp"

namespace vtrain {

/// No job is planned for more leases than this, nor into leases further ahead beyond those it needs: what
/// bounds the size of a plan.
inline constexpr std::int64_t kLeaseHorizon = 10'000;

/// A job that has been promised its leases. Leases are numbered from the trace's origin.
struct LeasedJob {
  JobId job;
  GpuCount num_gpus{1};
  std::int64_t required = 0;           ///< leases that its work still takes
  std::int64_t end = 0;                ///< it may run in leases before this one
  std::vector<std::int64_t> leases{};  ///< planned for it, ascending
};

/// GPUs to share out. What is out of service now is expected back when the next lease begins.
struct LeaseCapacity {
  GpuCount first{0};  ///< in the first lease that can be planned
  GpuCount later{0};  ///< in every other
};

/// How far the solver is asked.
struct LeaseBookOptions {
  LeaseSolverLimits limits{};
  /// Jobs up to which the program has the last word on admission when the greedy test says no; 0: never.
  std::int64_t second_test_jobs = 30;
  /// Variables up to which a program is given to the solver; beyond, the greedy plan stands.
  std::int64_t max_variables = 500;
};

/// What became of the programs.
struct LeaseBookCounts {
  std::int64_t accepted = 0;             ///< jobs
  std::int64_t accepted_by_program = 0;  ///< those of them that the greedy test would have turned away
  std::int64_t dropped = 0;              ///< accepted jobs that could not be served after all
  std::int64_t solved = 0;               ///< programs given to the solver
  std::int64_t stopped = 0;              ///< those of them that ended at a limit
  std::int64_t greedy_plans = 0;         ///< plans that are greedy because the solver gave none
  double largest_gap = 0;                ///< of the plans it gave, as a share of the objective
};

/// Promises leases to jobs and plans which job runs in which lease. Between two calls every job in the book
/// has a plan that serves it, as long as jobs need no more than was said of them and no GPUs go missing.
class LeaseBook {
 public:
  explicit LeaseBook(const LeaseBookOptions& options) : options_(options) {}

  /// The jobs that leases are promised to.
  std::span<const LeasedJob> jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  /// Brings the jobs up to date before the next call: `required_of(job)` says how many leases a job needs
  /// from `first` on. Leases before `first`, and those that are not needed any more, are given up: the last
  /// ones.
  template <class RequiredOf>
  void update(std::int64_t first, const RequiredOf& required_of) {
    for (LeasedJob& job : jobs_)
      set_required(job, first, required_of(job.job));
  }
  /// Lets go of jobs.
  template <class HasLeft>
  void remove_if(const HasLeft& has_left) {
    if (std::erase_if(jobs_, [&](const LeasedJob& job) { return has_left(job.job); }) > 0) changed_ = true;
  }

  /// Accepts a job if it and all in the book can be served from lease `first` on: when there is room beside
  /// the plan, or by the greedy test, or, while jobs are few, by the program.
  bool admit(LeasedJob job, std::int64_t first, const LeaseCapacity& capacity);

  /// Settles who holds lease `first`, which begins now, and returns the jobs that cannot be served any more:
  /// they are out of the book. The program is solved only when jobs have come or gone, or the plan has become
  /// impossible; a plan that is good enough as it stands needs no solver either.
  std::vector<JobId> replan(std::int64_t first, const LeaseCapacity& capacity, LeaseTieBreak tie_break);

  /// Since the book was made.
  const LeaseBookCounts& counts() const { return counts_; }

 private:
  static void set_required(LeasedJob& job, std::int64_t first, std::int64_t required);
  LeaseProgram program(std::int64_t first, const LeaseCapacity& capacity) const;
  LeasePlan current_plan(std::int64_t first) const;
  void adopt(const LeasePlan& plan, std::int64_t first);
  bool small_enough(const LeaseProgram& program) const;
  /// Gives a program to the solver and counts how that went.
  LeaseSolution solve(const LeaseProgram& program, const LeasePlan* start);
  /// The plan for a program whose plan in force does not hold any more; may leave jobs out.
  LeasePlan repair(LeaseProgram program);
  /// The best plan that can be had from a feasible one.
  LeasePlan solve_for_tie_break(const LeaseProgram& program, LeasePlan plan);

  LeaseBookOptions options_;
  std::vector<LeasedJob> jobs_;                    ///< in order of acceptance
  LeaseTieBreak tie_break_ = LeaseTieBreak::None;  ///< of the last program
  bool changed_ = false;                           ///< since the last program
  LeaseBookCounts counts_;
};

}  // namespace vtrain
