#include "policies/fcfs/waiting_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

SimDuration seconds(std::int64_t count) {
  return std::chrono::seconds(count);
}

/// The job that has waited longest; no job if the queue is empty.
JobId front_of(const WaitingQueue& queue) {
  const auto first = queue.first_fitting(0, GpuCount(INT32_MAX));
  return first ? queue.job(*first) : JobId();
}

}  // namespace

TEST_CASE("waiting_queue: empty") {
  WaitingQueue queue;
  CHECK(queue.size() == 0);
  CHECK(front_of(queue) == JobId());
  CHECK_FALSE(queue.first_fitting(0, GpuCount(100)));
}

TEST_CASE("waiting_queue: finds the first job within both limits from a position on") {
  WaitingQueue queue;
  queue.push_back(JobId(10), GpuCount(8), seconds(5));
  queue.push_back(JobId(11), GpuCount(2), seconds(50));
  queue.push_back(JobId(12), GpuCount(4), seconds(5));
  queue.push_back(JobId(13), GpuCount(1), seconds(9));
  const auto find = [&](WaitingQueue::Position from, std::int32_t gpus, std::int64_t time) {
    const auto found = queue.first_fitting(from, GpuCount(gpus), seconds(time));
    return found ? queue.job(*found) : JobId();
  };
  CHECK(find(0, 8, 5) == JobId(10));
  CHECK(find(0, 4, 50) == JobId(11));
  CHECK(find(0, 4, 49) == JobId(12));
  CHECK(find(0, 2, 49) == JobId(13));
  CHECK(find(0, 2, 8) == JobId());
  CHECK(find(0, 0, 100) == JobId());
  CHECK(find(3, 8, 50) == JobId(13));
  CHECK(find(4, 8, 50) == JobId());
  CHECK(queue.job(*queue.first_fitting(1, GpuCount(8))) == JobId(11));
}

TEST_CASE("waiting_queue: removing moves nothing and the front advances") {
  WaitingQueue queue;
  for (std::uint32_t i = 0; i < 3; ++i)
    queue.push_back(JobId(i), GpuCount(1));
  queue.remove(1);
  CHECK(queue.size() == 2);
  CHECK(front_of(queue) == JobId(0));
  CHECK(queue.job(2) == JobId(2));
  queue.remove(0);
  CHECK(front_of(queue) == JobId(2));
  queue.remove(2);
  CHECK(queue.size() == 0);
  CHECK(front_of(queue) == JobId());
  CHECK_FALSE(queue.first_fitting(0, GpuCount(INT32_MAX)));
}

TEST_CASE("waiting_queue: equals a plain list under random pushes, searches, removals and returns") {
  struct Waiting {
    JobId job;
    std::int32_t num_gpus;
    std::int64_t time;
  };
  RandomStream random(3, "waiting_queue");
  WaitingQueue queue;
  std::vector<Waiting> list;  // in queue order
  std::vector<Waiting> left;  // that may come back
  std::uint32_t next = 0;
  for (int round = 0; round < 3000; ++round) {
    // The queue swells to a few hundred jobs and empties again, so that it is re-packed both ways.
    const std::uint64_t arrivals = random.below(round / 500 % 2 == 0 ? 5 : 2);
    for (std::uint64_t i = 0; i < arrivals; ++i) {
      const Waiting job{JobId(next++), static_cast<std::int32_t>(1 + random.below(16)),
                        static_cast<std::int64_t>(random.below(20))};
      queue.push_back(job.job, GpuCount(job.num_gpus), seconds(job.time));
      list.push_back(job);
    }
    while (!left.empty() && random.below(3) == 0) {
      const auto back = left.begin() + static_cast<std::ptrdiff_t>(random.below(left.size()));
      queue.insert(back->job, GpuCount(back->num_gpus), seconds(back->time));
      list.insert(
          std::find_if(list.begin(), list.end(), [&](const Waiting& job) { return job.job > back->job; }),
          *back);
      left.erase(back);
    }
    REQUIRE(queue.size() == list.size());
    REQUIRE(front_of(queue) == (list.empty() ? JobId() : list.front().job));
    const GpuCount gpus(static_cast<std::int32_t>(random.below(17)));
    const SimDuration time = random.below(4) == 0 ? WaitingQueue::kAnyTimeLimit
                                                  : seconds(static_cast<std::int64_t>(random.below(20)));
    // Walk everything that fits, removing some of it.
    WaitingQueue::Position from = 0;
    std::size_t at = 0;
    while (true) {
      const auto found = queue.first_fitting(from, gpus, time);
      while (at < list.size() && (list[at].num_gpus > gpus.value || seconds(list[at].time) > time))
        ++at;
      REQUIRE(found.has_value() == (at < list.size()));
      if (!found) break;
      REQUIRE(queue.job(*found) == list[at].job);
      from = *found + 1;
      if (random.below(2) == 0) {
        queue.remove(*found);
        left.push_back(list[at]);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        ++at;
      }
    }
  }
}

}  // namespace vtrain
