/// Independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace vtrain {

/// Number of threads to use: as wanted, or one per processor for 0.
inline unsigned num_threads(unsigned wanted) {
  return wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls `work(i)` for each i below `count`, in this order on the next free thread, until it returns false.
/// Pieces that have begun are finished. 0 threads: one per processor. `work` must not throw.
template <class Work>
void do_in_parallel(unsigned threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> goes_on = true;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count && goes_on; i = next++) {
      if (!work(i)) goes_on = false;
    }
  };
  threads = num_threads(threads);
  std::vector<std::jthread> workers;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i)
    workers.emplace_back(loop);
  loop();
}

}  // namespace vtrain
