#include "policies/chronus/lease_plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace vtrain {
namespace {

GpuCount largest_lease(const LeaseProgram& program) {
  const std::int64_t num_leases = std::max<std::int64_t>(program.num_leases(), 1);
  GpuCount largest(0);
  for (std::int64_t lease = 0; lease <= std::min(num_leases - 1, std::ssize(program.gpus_by_lease)); ++lease)
    largest = std::max(largest, program.gpus_in(lease));
  return largest;
}

GpuCount used_in_first(const LeaseProgram& program, const LeasePlan& plan) {
  GpuCount used(0);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].empty() && plan[i].front() == 0) used += program.options[i].num_gpus;
  }
  return used;
}

/// Positions of the options taken, gangs with most GPUs first.
std::vector<std::size_t> by_gang(const LeaseProgram& program, const LeasePlan& plan) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].empty()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return program.options[a].num_gpus > program.options[b].num_gpus;
  });
  return order;
}

/// The latest lease after lease 0 with room for one more lease of an option; 0 if there is none.
std::int64_t latest_other(const LeaseOption& option, const std::vector<std::int64_t>& leases,
                          FreeLeases& free) {
  auto held = leases.rbegin();
  for (std::int64_t lease = option.max_lease - 1; lease > 0; --lease) {
    if (held != leases.rend() && *held == lease)
      ++held;
    else if (free.at(lease) >= option.num_gpus)
      return lease;
  }
  return 0;
}

}  // namespace

GpuCount LeaseProgram::gpus_in(std::int64_t lease) const {
  return lease < std::ssize(gpus_by_lease) ? gpus_by_lease[static_cast<std::size_t>(lease)] : gpus;
}

std::int64_t LeaseProgram::num_leases() const {
  std::int64_t leases = 0;
  for (const LeaseOption& option : options)
    leases = std::max(leases, option.max_lease);
  return leases;
}

FreeLeases::FreeLeases(const LeaseProgram& program, const LeasePlan& plan) {
  const std::int64_t num_leases = program.num_leases();
  free_.reserve(static_cast<std::size_t>(num_leases));
  for (std::int64_t lease = 0; lease < num_leases; ++lease)
    free_.push_back(program.gpus_in(lease));
  for (std::size_t i = 0; i < plan.size(); ++i)
    take(plan[i], program.options[i].num_gpus);
}

std::optional<std::vector<std::int64_t>> FreeLeases::latest(GpuCount num_gpus, std::int64_t required_leases,
                                                            std::int64_t max_lease) const {
  if (required_leases > max_lease) return std::nullopt;
  std::vector<std::int64_t> leases;
  leases.reserve(static_cast<std::size_t>(required_leases));
  for (std::int64_t lease = max_lease - 1; lease >= 0 && std::ssize(leases) < required_leases; --lease) {
    if (free_[static_cast<std::size_t>(lease)] >= num_gpus) leases.push_back(lease);
  }
  if (std::ssize(leases) < required_leases) return std::nullopt;
  std::reverse(leases.begin(), leases.end());
  return leases;
}

void FreeLeases::take(const std::vector<std::int64_t>& leases, GpuCount num_gpus) {
  for (const std::int64_t lease : leases)
    at(lease) -= num_gpus;
}

bool FreeLeases::over_committed() const {
  return std::any_of(free_.begin(), free_.end(), [](GpuCount free) { return free < GpuCount(0); });
}

bool serves_all_leases(const LeaseProgram& program, const LeasePlan& plan) {
  bool served = true;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const bool first_of_job = i == 0 || program.options[i].job != program.options[i - 1].job;
    if (first_of_job && !served) return false;
    served = (!first_of_job && served) || !plan[i].empty();
  }
  return served;
}

bool is_feasible(const LeaseProgram& program, const LeasePlan& plan) {
  if (plan.size() != program.options.size()) return false;
  bool served = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const LeaseOption& option = program.options[i];
    if (i == 0 || option.job != program.options[i - 1].job) served = false;
    const std::vector<std::int64_t>& leases = plan[i];
    if (leases.empty()) continue;
    const bool ascending =
        std::adjacent_find(leases.begin(), leases.end(), std::greater_equal<>()) == leases.end();
    if (served || !ascending || std::ssize(leases) != option.required_leases || leases.front() < 0 ||
        leases.back() >= option.max_lease)
      return false;
    served = true;
  }
  if (FreeLeases(program, plan).over_committed()) return false;
  return !program.must_serve || serves_all_leases(program, plan);
}

double tie_break_value(const LeaseProgram& program, GpuCount used) {
  const GpuCount largest = largest_lease(program);
  if (program.tie_break == LeaseTieBreak::None || largest.value == 0) return 0;
  const double share = static_cast<double>(used.value) / static_cast<double>(largest.value);
  return program.tie_break == LeaseTieBreak::Early ? share : -share;
}

double plan_objective(const LeaseProgram& program, const LeasePlan& plan) {
  double value = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].empty()) value += program.options[i].value;
  }
  return value + tie_break_value(program, used_in_first(program, plan));
}

double objective_bound(const LeaseProgram& program) {
  double value = 0;
  GpuCount most(0);   // that could run in lease 0
  GpuCount least(0);  // that have no later lease to spare
  for (std::size_t i = 0; i < program.options.size();) {
    double best = 0;
    bool can_wait = false;
    std::size_t next = i;
    for (; next < program.options.size() && program.options[next].job == program.options[i].job; ++next) {
      best = std::max(best, program.options[next].value);
      can_wait = can_wait || program.options[next].required_leases < program.options[next].max_lease;
    }
    value += best;
    most += program.options[i].num_gpus;
    if (!can_wait) least += program.options[i].num_gpus;
    i = next;
  }
  const bool early = program.tie_break == LeaseTieBreak::Early;
  return value + tie_break_value(program, early ? std::min(most, program.gpus_in(0)) : least);
}

LeasePlan pack_leases(const LeaseProgram& program) {
  LeasePlan plan(program.options.size());
  std::vector<std::size_t> order(program.options.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const LeaseOption& option = program.options[i];
    return std::tuple(-option.value, option.max_lease - option.required_leases, option.required_leases,
                      option.num_gpus.value, option.max_lease, i);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });

  FreeLeases free(program, {});
  std::uint32_t num_jobs = 0;
  for (const LeaseOption& option : program.options)
    num_jobs = std::max(num_jobs, option.job + 1);
  std::vector<bool> served(num_jobs, false);
  for (const std::size_t i : order) {
    const LeaseOption& option = program.options[i];
    if (served[option.job]) continue;
    auto leases = free.latest(option.num_gpus, option.required_leases, option.max_lease);
    if (!leases) continue;
    free.take(*leases, option.num_gpus);
    plan[i] = *std::move(leases);
    served[option.job] = true;
  }
  return plan;
}

void improve_tie_break(const LeaseProgram& program, LeasePlan& plan) {
  if (program.tie_break == LeaseTieBreak::None || program.num_leases() == 0) return;
  const bool early = program.tie_break == LeaseTieBreak::Early;
  FreeLeases free(program, plan);
  for (const std::size_t i : by_gang(program, plan)) {
    const LeaseOption& option = program.options[i];
    std::vector<std::int64_t>& leases = plan[i];
    const bool holds_first = leases.front() == 0;
    if (early && !holds_first && free.at(0) >= option.num_gpus) {
      free.at(leases.back()) += option.num_gpus;
      free.at(0) -= option.num_gpus;
      leases.pop_back();
      leases.insert(leases.begin(), 0);
    } else if (!early && holds_first) {
      const std::int64_t later = latest_other(option, leases, free);
      if (later == 0) continue;
      free.at(later) -= option.num_gpus;
      free.at(0) += option.num_gpus;
      leases.erase(leases.begin());
      leases.insert(std::upper_bound(leases.begin(), leases.end(), later), later);
    }
  }
}

}  // namespace vtrain
