/// Progress of long work, for people: a bar on a terminal, a line a minute in a log.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace vtrain {

/// The text of a bar: `replaying  [======    ]  62 %  1,204,118 jobs/s  4 s left`, without a line break.
/// `done` is at most `total`. `rate` is in items a second; a rate of 0 is not shown.
std::string progress_line(const std::string& what, const std::string& unit, std::int64_t done,
                          std::int64_t total, double rate);

/// Turns off all later bars and progress lines.
void silence_progress();

/// Shows the progress of a counter on stderr, from construction to destruction. On a terminal it is redrawn
/// ten times a second, from the second second on, and erased at the end. Elsewhere it is one line a minute.
/// Work that takes less than a second shows nothing.
class ProgressBar {
 public:
  /// `what` is the label (`replaying`), `unit` the counted items (`jobs`). A thread of this object reads
  /// `done`, which must outlive it.
  ProgressBar(std::string what, std::string unit, std::int64_t total, const std::atomic<std::int64_t>& done);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void watch();

  std::string what_;
  std::string unit_;
  std::int64_t total_;
  const std::atomic<std::int64_t>& done_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread watcher_;
};

}  // namespace vtrain
