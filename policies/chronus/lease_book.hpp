/// The leases of accepted jobs, kept from one lease to the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "policies/chronus/lease_plan.hpp"
#include "policies/chronus/lease_program.hpp"

namespace vtrain {

/// Largest number of leases planned for one job, and largest distance of leases beyond those it needs. Bounds
/// the size of a plan.
inline constexpr std::int64_t kLeaseHorizon = 10'000;

/// A job with promised leases. Leases are numbered from the trace's origin.
struct LeasedJob {
  JobId job;
  GpuCount num_gpus{1};
  std::int64_t required = 0;           ///< leases that its remaining work takes
  std::int64_t end = 0;                ///< first lease in which it may no longer run
  std::vector<std::int64_t> leases{};  ///< its planned leases, ascending
};

/// GPUs to share out. Those out of service now are expected back at the beginning of the next lease.
struct LeaseCapacity {
  GpuCount first{0};  ///< GPUs in the first lease that can be planned
  GpuCount later{0};  ///< GPUs in every later lease
};

/// Limits on the use of the solver.
struct LeaseBookOptions {
  LeaseSolverLimits limits{};
  /// Largest number of accepted jobs for which the integer program is tried after the greedy test rejects a
  /// job; 0: never.
  std::int64_t second_test_jobs = 30;
  /// Largest number of variables of a program for the solver; beyond, the greedy plan is used.
  std::int64_t max_variables = 500;
};

/// Counts of admissions and programs.
struct LeaseBookCounts {
  std::int64_t accepted = 0;             ///< number of accepted jobs
  std::int64_t accepted_by_program = 0;  ///< accepted jobs that the greedy test would have rejected
  std::int64_t dropped = 0;              ///< accepted jobs that could not be served later
  std::int64_t solved = 0;               ///< programs given to the solver
  std::int64_t stopped = 0;              ///< solved programs that ended at a limit
  std::int64_t greedy_plans = 0;         ///< plans that are greedy because the solver found none
  double largest_gap = 0;                ///< largest gap of the solver's plans, as a share of the objective
};

/// Promises leases to jobs and plans the lease of each job. Between two calls every job in the book has a
/// plan that serves it, provided that jobs need no more leases than stated and no GPUs are lost.
class LeaseBook {
 public:
  explicit LeaseBook(const LeaseBookOptions& options) : options_(options) {}

  /// Jobs with promised leases.
  std::span<const LeasedJob> jobs() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  /// Updates the jobs before the next call: `required_of(job)` returns the leases that a job needs from
  /// `first` on. Leases before `first` are dropped, and of those no longer needed the last ones.
  template <class RequiredOf>
  void update(std::int64_t first, const RequiredOf& required_of) {
    for (LeasedJob& job : jobs_)
      set_required(job, first, required_of(job.job));
  }
  /// Removes jobs.
  template <class HasLeft>
  void remove_if(const HasLeft& has_left) {
    if (std::erase_if(jobs_, [&](const LeasedJob& job) { return has_left(job.job); }) > 0) changed_ = true;
  }

  /// Accepts a job if it and all in the book can be served from lease `first` on. Either there is room next
  /// to the plan, or the greedy test succeeds, or, while jobs are few, the program.
  bool admit(LeasedJob job, std::int64_t first, const LeaseCapacity& capacity);

  /// Decides the holders of lease `first`, which begins now. Returns the jobs that can no longer be served
  /// and removes them from the book. The program is solved only if jobs have come or gone, or the plan has
  /// become impossible. A plan that is good enough needs no solver either.
  std::vector<JobId> replan(std::int64_t first, const LeaseCapacity& capacity, LeaseTieBreak tie_break);

  /// Counts since the book was made.
  const LeaseBookCounts& counts() const { return counts_; }

 private:
  static void set_required(LeasedJob& job, std::int64_t first, std::int64_t required);
  LeaseProgram program(std::int64_t first, const LeaseCapacity& capacity) const;
  LeasePlan current_plan(std::int64_t first) const;
  void adopt(const LeasePlan& plan, std::int64_t first);
  bool small_enough(const LeaseProgram& program) const;
  /// Gives a program to the solver and counts the result.
  LeaseSolution solve(const LeaseProgram& program, const LeasePlan* start);
  /// The plan for a program whose present plan is no longer feasible; may leave jobs out.
  LeasePlan repair(LeaseProgram program);
  /// The best plan that can be derived from a feasible one.
  LeasePlan solve_for_tie_break(const LeaseProgram& program, LeasePlan plan);

  LeaseBookOptions options_;
  std::vector<LeasedJob> jobs_;                    ///< jobs in order of acceptance
  LeaseTieBreak tie_break_ = LeaseTieBreak::None;  ///< rule of the last program
  bool changed_ = false;                           ///< true if jobs changed since the last program
  LeaseBookCounts counts_;
};

}  // namespace vtrain
