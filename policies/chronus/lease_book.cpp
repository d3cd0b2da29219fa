#include "policies/chronus/lease_book.hpp"

#include <algorithm>
#include <utility>

namespace vtrain {

void LeaseBook::set_required(LeasedJob& job, std::int64_t first, std::int64_t required) {
  job.leases.erase(job.leases.begin(), std::lower_bound(job.leases.begin(), job.leases.end(), first));
  job.required = required;
  if (std::ssize(job.leases) > required) job.leases.resize(static_cast<std::size_t>(required));
}

LeaseProgram LeaseBook::program(std::int64_t first, const LeaseCapacity& capacity) const {
  LeaseProgram program{.gpus_by_lease = {capacity.first}, .gpus = capacity.later};
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    const LeasedJob& job = jobs_[i];
    if (job.required == 0) continue;
    program.options.push_back({.job = i,
                               .num_gpus = job.num_gpus,
                               .required_leases = job.required,
                               .max_lease = std::min(job.end - first, job.required + kLeaseHorizon)});
  }
  return program;
}

LeasePlan LeaseBook::current_plan(std::int64_t first) const {
  LeasePlan plan;
  for (const LeasedJob& job : jobs_) {
    if (job.required == 0) continue;
    std::vector<std::int64_t>& leases = plan.emplace_back(job.leases);
    for (std::int64_t& lease : leases)
      lease -= first;
  }
  return plan;
}

void LeaseBook::adopt(const LeasePlan& plan, std::int64_t first) {
  auto planned = plan.begin();
  for (LeasedJob& job : jobs_) {
    if (job.required == 0) continue;
    job.leases = *planned++;
    for (std::int64_t& lease : job.leases)
      lease += first;
  }
}

bool LeaseBook::small_enough(const LeaseProgram& program) const {
  std::int64_t variables = std::ssize(program.options);
  for (const LeaseOption& option : program.options)
    variables += option.max_lease;
  return variables <= options_.max_variables;
}

LeaseSolution LeaseBook::solve(const LeaseProgram& program, const LeasePlan* start) {
  LeaseSolution solution = solve_leases(program, options_.limits, start);
  ++counts_.solved;
  if (solution.search == LeaseSearch::Stopped || solution.search == LeaseSearch::NothingFound)
    ++counts_.stopped;
  counts_.largest_gap = std::max(counts_.largest_gap, solution.gap);
  return solution;
}

bool LeaseBook::admit(LeasedJob job, std::int64_t first, const LeaseCapacity& capacity) {
  if (job.required > kLeaseHorizon || job.required > job.end - first || job.num_gpus > capacity.later)
    return false;
  LeasePlan plan = current_plan(first);
  const bool plan_holds = is_feasible(program(first, capacity), plan);
  jobs_.push_back(std::move(job));
  const LeaseProgram with_job = program(first, capacity);
  plan.emplace_back();
  const LeaseOption& added = with_job.options.back();
  std::optional<std::vector<std::int64_t>> room;
  if (plan_holds) {
    room = FreeLeases(with_job, plan).latest(added.num_gpus, added.required_leases, added.max_lease);
  }
  if (room) {
    plan.back() = *std::move(room);
  } else {
    plan = pack_leases(with_job);
    if (!serves_all_leases(with_job, plan)) {
      plan.clear();
      if (std::ssize(jobs_) <= options_.second_test_jobs && small_enough(with_job))
        plan = solve(with_job, nullptr).plan;
      if (plan.empty()) {
        jobs_.pop_back();
        return false;
      }
      ++counts_.accepted_by_program;
    }
  }
  adopt(plan, first);
  changed_ = true;
  ++counts_.accepted;
  return true;
}

std::vector<JobId> LeaseBook::replan(std::int64_t first, const LeaseCapacity& capacity,
                                     LeaseTieBreak tie_break) {
  std::vector<JobId> dropped;
  const auto drop_if = [&](const auto& hopeless) {
    std::erase_if(jobs_, [&](const LeasedJob& job) {
      if (!hopeless(job)) return false;
      dropped.push_back(job.job);
      return true;
    });
  };
  drop_if([&](const LeasedJob& job) {
    return job.required > job.end - first || job.required > kLeaseHorizon || job.num_gpus > capacity.later;
  });
  LeaseProgram wanted = program(first, capacity);
  wanted.tie_break = tie_break;
  LeasePlan plan = current_plan(first);
  if (!is_feasible(wanted, plan)) {
    plan = repair(wanted);
    changed_ = true;
  }
  if (serves_all_leases(wanted, plan)) {
    improve_tie_break(wanted, plan);
    if (changed_ || tie_break != tie_break_) plan = solve_for_tie_break(wanted, std::move(plan));
  }
  changed_ = false;
  tie_break_ = tie_break;
  adopt(plan, first);
  drop_if([](const LeasedJob& job) { return job.required > 0 && job.leases.empty(); });
  counts_.dropped += std::ssize(dropped);
  return dropped;
}

LeasePlan LeaseBook::repair(LeaseProgram program) {
  LeasePlan greedy = pack_leases(program);
  if (serves_all_leases(program, greedy)) return greedy;
  if (small_enough(program)) {
    LeaseSolution solution = solve(program, nullptr);
    if (!solution.plan.empty()) return std::move(solution.plan);
    program.must_serve = false;
    solution = solve(program, &greedy);
    if (!solution.plan.empty()) return std::move(solution.plan);
  }
  ++counts_.greedy_plans;
  return greedy;
}

LeasePlan LeaseBook::solve_for_tie_break(const LeaseProgram& program, LeasePlan plan) {
  if (program.options.empty()) return plan;
  const double objective = plan_objective(program, plan);
  if (objective_bound(program) - objective <= options_.limits.gap * objective) return plan;
  if (small_enough(program)) {
    LeaseSolution solution = solve(program, &plan);
    if (!solution.plan.empty()) return std::move(solution.plan);
  }
  ++counts_.greedy_plans;
  return plan;
}

}  // namespace vtrain
