#include "core/io/unfinished.hpp"

#include <map>
#include <utility>

namespace vtrain {
namespace {

/// All unfinished work of the program.
struct WorkList {
  std::recursive_mutex mutex;
  std::map<std::uint64_t, std::function<bool()>> undo_by_number;
  std::uint64_t last_number = 0;
};

WorkList& work_list() {
  // Never destroyed: a thread that waits for a signal may look at it while the program ends.
  static auto* const list = new WorkList;
  return *list;
}

}  // namespace

UnfinishedWork::UnfinishedWork(std::function<bool()> undo) {
  const auto hold = hold_off_interrupts();
  number_ = ++work_list().last_number;
  work_list().undo_by_number.emplace(number_, std::move(undo));
}

UnfinishedWork::UnfinishedWork(UnfinishedWork&& other) noexcept : number_(std::exchange(other.number_, 0)) {}

UnfinishedWork& UnfinishedWork::operator=(UnfinishedWork&& other) noexcept {
  if (this == &other) return *this;
  undo();
  number_ = std::exchange(other.number_, 0);
  return *this;
}

UnfinishedWork::~UnfinishedWork() {
  undo();
}

void UnfinishedWork::undo() {
  if (number_ == 0) return;
  const auto hold = hold_off_interrupts();
  const auto undo = work_list().undo_by_number.extract(std::exchange(number_, 0));
  undo.mapped()();
}

void UnfinishedWork::finish() {
  if (number_ == 0) return;
  const auto hold = hold_off_interrupts();
  work_list().undo_by_number.erase(std::exchange(number_, 0));
}

std::unique_lock<std::recursive_mutex> hold_off_interrupts() {
  return std::unique_lock(work_list().mutex);
}

bool undo_unfinished_work() {
  hold_off_interrupts().release();  // never unlocked
  bool all_undone = true;
  for (const auto& [number, undo] : work_list().undo_by_number)
    all_undone = undo() && all_undone;
  work_list().undo_by_number.clear();
  return all_undone;
}

}  // namespace vtrain
