/// Changes on disk that are either finished or undone, even if a signal ends the program.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

namespace vtrain {

/// A change on disk that is undone unless it is finished, for instance a temporary file. It is undone by the
/// destructor, or by `undo_unfinished_work`.
class UnfinishedWork {
 public:
  /// Nothing to undo.
  UnfinishedWork() = default;
  /// `undo` runs at most once, with interrupts held off. It returns false if something stays half-written.
  explicit UnfinishedWork(std::function<bool()> undo);
  /// Takes the other's work; the other then has none.
  UnfinishedWork(UnfinishedWork&& other) noexcept;
  /// Undoes its own work unless it is finished, then takes the other's.
  UnfinishedWork& operator=(UnfinishedWork&& other) noexcept;
  /// Undoes the work unless it is finished.
  ~UnfinishedWork();
  /// Marks the work as finished: nothing is left to undo.
  void finish();

 private:
  void undo();

  std::uint64_t number_ = 0;  ///< number in the list of all unfinished work; 0: nothing to undo
};

/// Keeps `undo_unfinished_work` from beginning while the lock lives. Making or renaming a file and recording
/// it are then one step. A thread may hold several.
std::unique_lock<std::recursive_mutex> hold_off_interrupts();

/// Undoes all unfinished work, for a program that a signal is about to end. Other threads that begin or
/// finish work later wait for ever. Returns false if something stays half-written. Call it from a thread, not
/// from a signal handler.
bool undo_unfinished_work();

}  // namespace vtrain
