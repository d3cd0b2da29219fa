#include "sched/simulation/event_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

SimTime at(std::int64_t ns) {
  return SimTime(SimDuration(ns));
}

std::vector<std::uint32_t> drain(EventQueue& queue) {
  std::vector<std::uint32_t> jobs;
  for (; !queue.empty(); queue.pop())
    jobs.push_back(queue.top().job.value);
  return jobs;
}

}  // namespace

TEST_CASE("event_queue: pops by time, whatever the order of scheduling") {
  EventQueue queue;
  for (const std::uint32_t time : {5u, 1u, 9u, 3u, 7u})
    queue.push({at(time), EventKind::End, JobId(time), 0});
  CHECK(queue.size() == 5);
  CHECK(drain(queue) == std::vector<std::uint32_t>{1, 3, 5, 7, 9});
}

TEST_CASE("event_queue: ties pop in insertion order") {
  EventQueue queue;
  for (std::uint32_t job = 0; job < 100; ++job)
    queue.push({at(42), EventKind::End, JobId(job), 0});
  const auto jobs = drain(queue);
  CHECK(jobs.size() == 100);
  CHECK(std::is_sorted(jobs.begin(), jobs.end()));
}

TEST_CASE("event_queue: at one instant ends come before timers, also when scheduled later") {
  EventQueue queue;
  queue.push({at(1), EventKind::Timer, {}, 7});
  queue.push({at(1), EventKind::End, JobId(3), 2});
  CHECK(queue.top().kind == EventKind::End);
  CHECK(queue.top().version == 2);
  queue.pop();
  CHECK(queue.top().kind == EventKind::Timer);
  CHECK(queue.top().version == 7);
}

TEST_CASE("event_queue: dropping stale events keeps the order of the others") {
  EventQueue queue;
  for (std::uint32_t job = 0; job < 50; ++job)
    queue.push({at(job % 5), EventKind::End, JobId(job), 0});
  queue.remove_if([](const Event& event) { return event.job.value % 2 == 1; });
  // By time = job mod 5, then by job: 0 10 20 30 40, 6 16 26 36 46, 2 12 ...
  const auto jobs = drain(queue);
  CHECK(jobs.size() == 25);
  CHECK(std::is_sorted(jobs.begin(), jobs.end(), [](std::uint32_t a, std::uint32_t b) {
    return a % 5 != b % 5 ? a % 5 < b % 5 : a < b;
  }));
}

TEST_CASE("event_queue: agrees with a stable sort when pushes and pops mix") {
  struct Scheduled {
    std::int64_t time;
    std::uint32_t job;
  };
  RandomStream random(1, "event_queue");
  EventQueue queue;
  std::vector<Scheduled> expected;
  for (std::uint32_t job = 0; job < 5000; ++job) {
    if (!expected.empty() && random.below(3) == 0) {
      const auto first =
          std::min_element(expected.begin(), expected.end(), [](const Scheduled& a, const Scheduled& b) {
            return a.time < b.time;  // the first of the smallest: insertion order
          });
      REQUIRE(queue.top().job.value == first->job);
      expected.erase(first);
      queue.pop();
    }
    const auto time = static_cast<std::int64_t>(random.below(100));
    queue.push({at(time), EventKind::End, JobId(job), 0});
    expected.push_back({time, job});
  }
  CHECK(queue.size() == expected.size());
}

}  // namespace vtrain
