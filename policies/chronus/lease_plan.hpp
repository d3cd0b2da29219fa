/// Which jobs run in which leases: the question, and answers that need no solver.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// One deadline by which a job may be served. A lease is a span of time that is the same for all jobs; lease
/// 0 is the first one that can be planned.
struct LeaseOption {
  std::uint32_t job = 0;
  GpuCount num_gpus{1};
  std::int64_t required_leases = 1;  ///< leases that the job's work takes, at least 1
  std::int64_t max_lease = 0;        ///< the job may run in leases 0 to max_lease - 1
  double value = 1;                  ///< of having served the job by this deadline, at least 0
};

/// What decides between plans that serve jobs of the same value.
enum class LeaseTieBreak : std::uint8_t {
  None,
  Early,  ///< many GPUs in lease 0: jobs with deadlines run as soon as they can
  Late,   ///< few GPUs in lease 0: they leave room for jobs that hold no leases
};

/// Jobs, each with one option or several, to be served by leases of whole gangs. A job need not hold leases
/// in a row: it is preempted at the end of one and resumes at the start of a later one.
struct LeaseProgram {
  std::vector<GpuCount> gpus_by_lease{};  ///< GPUs to share out in the first leases
  GpuCount gpus{0};                       ///< in every lease after those
  bool must_serve = true;                 ///< no plan counts that leaves a job out
  LeaseTieBreak tie_break = LeaseTieBreak::None;
  std::vector<LeaseOption> options{};  ///< those of one job stand together

  /// GPUs to share out in a lease.
  GpuCount gpus_in(std::int64_t lease) const;
  /// The number of leases in which some job may run.
  std::int64_t num_leases() const;
};

/// The leases of each option of a program, ascending; empty for an option that is not taken.
using LeasePlan = std::vector<std::vector<std::int64_t>>;

/// Whether the plan keeps every rule of the program: whole options, one at most (under `must_serve` exactly
/// one) of each job, no lease over-committed.
bool is_feasible(const LeaseProgram& program, const LeasePlan& plan);

/// The sum of the values of the options taken. Under `Early` plus, under `Late` minus, the GPUs used in lease
/// 0 as a share of the largest lease.
double plan_objective(const LeaseProgram& program, const LeasePlan& plan);

/// What a number of GPUs used in lease 0 adds to the objective.
double tie_break_value(const LeaseProgram& program, GpuCount used);

/// No plan that serves every job by its best option can reach a higher objective than this.
double objective_bound(const LeaseProgram& program);

/// The greedy test of admission of Chronus (Gao et al., SoCC'21): options in the order of value (highest
/// first), slack, leases, GPUs, last lease and place in the program each take the latest leases with room; an
/// option is passed over when it finds too few or its job has been served. The plan may leave jobs out.
/// O(options x leases).
LeasePlan pack_leases(const LeaseProgram& program);

/// Whether a plan takes an option of every job.
bool serves_all(const LeaseProgram& program, const LeasePlan& plan);

/// GPUs that a plan leaves in each lease of a program.
class FreeLeases {
 public:
  /// Of a plan that keeps the program's rules.
  FreeLeases(const LeaseProgram& program, const LeasePlan& plan);

  /// The latest leases with room for a gang among [0, max_lease), ascending; nothing when there are too few.
  std::optional<std::vector<std::int64_t>> latest(GpuCount num_gpus, std::int64_t required_leases,
                                                  std::int64_t max_lease) const;
  void take(const std::vector<std::int64_t>& leases, GpuCount num_gpus);
  /// Whether more GPUs have been taken of some lease than it has.
  bool over_committed() const;
  /// Free GPUs of a lease, negative when it is over-committed.
  GpuCount& at(std::int64_t lease) { return free_[static_cast<std::size_t>(lease)]; }

 private:
  std::vector<GpuCount> free_;
};

/// Moves single leases of a feasible plan into lease 0 (`Early`) or out of it (`Late`), gangs with most GPUs
/// first, where the plan stays feasible by that. The objective never falls.
void improve_tie_break(const LeaseProgram& program, LeasePlan& plan);

}  // namespace vtrain
