#include "tests/unit/policies/lease_support.hpp"

#include <algorithm>

#include "core/base/rng.hpp"

namespace vtrain::testing {
namespace {

/// Tries every plan: for each option, the empty set and every set of leases of the right size.
class Enumeration {
 public:
  explicit Enumeration(const LeaseProgram& program) : program_(program), plan_(program.options.size()) {}

  std::optional<double> best() {
    choose(0);
    return best_;
  }

 private:
  void choose(std::size_t option) {
    if (option == plan_.size()) {
      if (is_feasible(program_, plan_))
        best_ = std::max(best_.value_or(-1e9), plan_objective(program_, plan_));
      return;
    }
    const LeaseOption& tried = program_.options[option];
    const unsigned num_sets = 1U << tried.max_lease;
    for (unsigned set = 0; set < num_sets; ++set) {
      std::vector<std::int64_t> leases;
      for (std::int64_t lease = 0; lease < tried.max_lease; ++lease) {
        if ((set >> lease & 1U) != 0) leases.push_back(lease);
      }
      if (!leases.empty() && std::ssize(leases) != tried.required_leases) continue;
      plan_[option] = leases;
      choose(option + 1);
    }
    plan_[option].clear();
  }

  const LeaseProgram& program_;
  LeasePlan plan_;
  std::optional<double> best_;
};

}  // namespace

LeaseProgram random_lease_program(std::uint64_t seed, std::uint64_t max_jobs) {
  RandomStream random(seed, "leases");
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  LeaseProgram program;
  program.gpus = GpuCount(static_cast<std::int32_t>(between(1, 8)));
  if (random.below(3) == 0)
    program.gpus_by_lease.push_back(GpuCount(static_cast<std::int32_t>(between(0, program.gpus.value))));
  program.must_serve = random.below(2) == 0;
  program.tie_break = static_cast<LeaseTieBreak>(random.below(3));
  const std::int64_t num_jobs = between(1, static_cast<std::int64_t>(max_jobs));
  for (std::int64_t job = 0; job < num_jobs; ++job) {
    LeaseOption option;
    option.job = static_cast<std::uint32_t>(job);
    option.num_gpus = GpuCount(static_cast<std::int32_t>(between(1, program.gpus.value)));
    option.required_leases = between(1, 3);
    option.max_lease = between(0, 5);
    program.options.push_back(option);
    if (random.below(4) != 0) continue;
    option.max_lease = std::min<std::int64_t>(option.max_lease + 1, 5);
    option.value = 0.5;
    program.options.push_back(option);
  }
  return program;
}

std::optional<double> best_objective(const LeaseProgram& program) {
  return Enumeration(program).best();
}

}  // namespace vtrain::testing
