/// Changes on disk that are finished or undone, also when a signal ends the program.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

namespace vtrain {

/// Something on disk that goes again unless it is finished, for instance a temporary file. It is undone when
/// the object goes, or by `undo_unfinished_work`.
class UnfinishedWork {
 public:
  /// Nothing to undo.
  UnfinishedWork() = default;
  /// `undo` runs at most once, with interrupts held off. It returns false if something stays half-written.
  explicit UnfinishedWork(std::function<bool()> undo);
  UnfinishedWork(UnfinishedWork&& other) noexcept;
  UnfinishedWork& operator=(UnfinishedWork&& other) noexcept;
  /// Undoes the work unless it is finished.
  ~UnfinishedWork();
  /// From now on there is nothing to undo.
  void finish();

 private:
  void undo();

  std::uint64_t number_ = 0;  ///< in the list of all unfinished work; 0: nothing to undo
};

/// Keeps `undo_unfinished_work` from beginning as long as it lives: what makes or renames a file, and the
/// bookkeeping of it, are one step. A thread may hold several.
std::unique_lock<std::recursive_mutex> hold_off_interrupts();

/// Undoes all unfinished work, for a program that a signal is about to end. Other threads that begin or
/// finish work from now on wait for ever. Returns false if something stays half-written. Call it from a
/// thread, not from a signal handler.
bool undo_unfinished_work();

}  // namespace vtrain
