#include "policies/tenants/slurm/dependency_book.hpp"

#include <utility>

namespace vtrain::slurm {

DependencyBook::State DependencyBook::state_of(Progress progress, DependencyKind kind) {
  const bool ended = progress == Progress::Succeeded || progress == Progress::FailedToSucceed;
  switch (kind) {
    case DependencyKind::After:
      return progress == Progress::Submitted ? State::Awaited : State::Met;
    case DependencyKind::AfterAny:
      return ended ? State::Met : State::Awaited;
    case DependencyKind::AfterOk:
      return !ended ? State::Awaited : progress == Progress::Succeeded ? State::Met : State::Never;
    case DependencyKind::AfterNotOk:
      return !ended ? State::Awaited : progress == Progress::Succeeded ? State::Never : State::Met;
  }
  return State::Met;
}

DependencyBook::State DependencyBook::add(std::uint32_t job, std::string_view name,
                                          const JobRequirements* requirements) {
  if (entries_.size() <= job) entries_.resize(job + 1);
  Entry& entry = entries_[job];
  jobs_.insert_or_assign(name, job);
  if (requirements == nullptr) return State::Met;
  if (!requirements->array.empty()) {
    const auto [found, is_new] =
        array_numbers_.emplace(requirements->array, static_cast<std::uint32_t>(arrays_.size()));
    if (is_new) arrays_.push_back({.limit = requirements->array_limit});
    entry.array = found->second;
    arrays_[entry.array].tasks.push_back(job);
  }
  const auto wait_for = [&](std::uint32_t other, DependencyKind kind) {
    switch (state_of(entries_[other].progress, kind)) {
      case State::Met:
        return;
      case State::Never:
        entry.is_lost = true;
        return;
      case State::Awaited:
        ++entry.open;
        waiters_[other].push_back({job, kind});
    }
  };
  for (const JobDependency& dependency : requirements->dependencies) {
    if (const auto array = array_numbers_.find(dependency.job); array != array_numbers_.end()) {
      for (const std::uint32_t task : arrays_[array->second].tasks) {
        if (task != job) wait_for(task, dependency.kind);
      }
    } else if (const auto found = jobs_.find(dependency.job); found != jobs_.end() && found->second != job) {
      wait_for(found->second, dependency.kind);
    }
  }
  return entry.is_lost ? State::Never : entry.open > 0 ? State::Awaited : State::Met;
}

void DependencyBook::settle(std::uint32_t job, std::vector<std::uint32_t>& freed) {
  const auto found = waiters_.find(job);
  if (found == waiters_.end()) return;
  std::vector<Waiter> still_open;
  for (const Waiter& waiter : found->second) {
    const State state = state_of(entries_[job].progress, waiter.kind);
    Entry& entry = entries_[waiter.job];
    if (state == State::Awaited)
      still_open.push_back(waiter);
    else if (state == State::Never)
      entry.is_lost = true;
    else if (--entry.open == 0 && !entry.is_lost)
      freed.push_back(waiter.job);
  }
  if (still_open.empty())
    waiters_.erase(found);
  else
    found->second = std::move(still_open);
}

void DependencyBook::note_start(std::uint32_t job, std::vector<std::uint32_t>& freed) {
  if (entries_[job].progress == Progress::Submitted) entries_[job].progress = Progress::Started;
  settle(job, freed);
}

void DependencyBook::note_end(std::uint32_t job, bool succeeded, std::vector<std::uint32_t>& freed) {
  entries_[job].progress = succeeded ? Progress::Succeeded : Progress::FailedToSucceed;
  settle(job, freed);
}

bool DependencyBook::is_throttled(std::uint32_t job) const {
  const Array& array = arrays_[entries_[job].array];
  return array.limit > 0 && array.running >= array.limit;
}

void DependencyBook::count_task(std::uint32_t job, std::int32_t sign) {
  if (entries_[job].array > 0) arrays_[entries_[job].array].running += sign;
}

}  // namespace vtrain::slurm
