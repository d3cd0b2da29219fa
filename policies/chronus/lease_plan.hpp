/// Plans of leases for jobs: the problem, and solutions that need no solver.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// One deadline by which a job may be served. All jobs have leases of equal length; lease 0 is the first one
/// that can be planned.
struct LeaseOption {
  std::uint32_t job = 0;
  GpuCount num_gpus{1};
  std::int64_t required_leases = 1;  ///< leases that the job's work takes, at least 1
  std::int64_t max_lease = 0;        ///< end of the leases in which the job may run: 0 to max_lease - 1
  double value = 1;                  ///< value of serving the job by this deadline, at least 0
};

/// Choice among plans that serve jobs of equal value.
enum class LeaseTieBreak : std::uint8_t {
  None,
  Early,  ///< many GPUs in lease 0: jobs with deadlines run as soon as possible
  Late,   ///< few GPUs in lease 0: room for jobs without leases
};

/// Jobs, each with one or several options, to be served by leases of whole gangs. A job's leases need not be
/// consecutive: it is preempted at the end of one and resumes at the start of a later one.
struct LeaseProgram {
  std::vector<GpuCount> gpus_by_lease{};  ///< GPUs to share out in the first leases
  GpuCount gpus{0};                       ///< GPUs in every later lease
  bool must_serve = true;                 ///< true if plans that leave a job out are invalid
  LeaseTieBreak tie_break = LeaseTieBreak::None;
  std::vector<LeaseOption> options{};  ///< options of each job next to each other

  /// GPUs to share out in a lease.
  GpuCount gpus_in(std::int64_t lease) const;
  /// Number of leases in which some job may run.
  std::int64_t num_leases() const;
};

/// Leases of each option of a program, ascending; empty for an option that is not taken.
using LeasePlan = std::vector<std::vector<std::int64_t>>;

/// True if the plan follows every rule of the program: whole options, at most one of each job (under
/// `must_serve` exactly one), no lease over-committed.
bool is_feasible(const LeaseProgram& program, const LeasePlan& plan);

/// Sum of the values of the options taken. Under `Early` plus, under `Late` minus, the GPUs used in lease 0
/// as a share of the largest lease.
double plan_objective(const LeaseProgram& program, const LeasePlan& plan);

/// Part of the objective for a number of GPUs used in lease 0.
double tie_break_value(const LeaseProgram& program, GpuCount used);

/// Upper bound of the objective of any plan that serves every job by its best option.
double objective_bound(const LeaseProgram& program);

/// The greedy admission test of Chronus (Gao et al., SoCC'21). Options go in the order of value (highest
/// first), slack, leases, GPUs, last lease and place in the program. Each takes the latest leases with room.
/// An option is skipped if it finds too few or its job has been served. The plan may leave jobs out.
/// O(options x leases).
LeasePlan pack_leases(const LeaseProgram& program);

/// True if a plan takes an option of every job.
bool serves_all_leases(const LeaseProgram& program, const LeasePlan& plan);

/// GPUs that a plan leaves free in each lease of a program.
class FreeLeases {
 public:
  /// Subtracts a plan that follows the program's rules.
  FreeLeases(const LeaseProgram& program, const LeasePlan& plan);

  /// The latest leases with room for a gang among [0, max_lease), ascending; nothing if there are too few.
  std::optional<std::vector<std::int64_t>> latest(GpuCount num_gpus, std::int64_t required_leases,
                                                  std::int64_t max_lease) const;
  void take(const std::vector<std::int64_t>& leases, GpuCount num_gpus);
  /// True if some lease has more GPUs taken than it has.
  bool over_committed() const;
  /// Free GPUs of a lease, negative if it is over-committed.
  GpuCount& at(std::int64_t lease) { return free_[static_cast<std::size_t>(lease)]; }

 private:
  std::vector<GpuCount> free_;
};

/// Moves single leases of a feasible plan into lease 0 (`Early`) or out of it (`Late`) while the plan stays
/// feasible, gangs with most GPUs first. The objective never falls.
void improve_tie_break(const LeaseProgram& program, LeasePlan& plan);

}  // namespace vtrain
