/// Threads that work off calls, so that the session reads on while one runs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vtrain::mcp {

/// A queue of calls with threads of its own.
class CallQueue {
 public:
  /// Starts `threads` threads, at least one.
  explicit CallQueue(unsigned threads);
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  /// Runs what waits, and ends the threads.
  ~CallQueue();

  /// Largest number of calls that wait.
  static constexpr std::size_t kMostWaiting = 256;
  /// Adds a call, which must not throw. False: too many wait already.
  bool add(std::function<void()> call);
  /// Returns when nothing waits or runs.
  void wait_until_idle();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::size_t running_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace vtrain::mcp
