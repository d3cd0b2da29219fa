#include "sched/gpu_time.hpp"

#include <doctest/doctest.h>

using vtrain::GpuCount;
using vtrain::GpuTime;
using vtrain::SimDuration;

TEST_CASE("gpu_time: sums are exact where a product of nanoseconds would overflow") {
  GpuTime time;
  // 100 years of 365 days on a million GPUs: 3.1536e15 GPU-seconds, 3.15e24 ns.
  time.add(std::chrono::hours(24 * 365 * 100), GpuCount(1'000'000));
  time.add(SimDuration(1), GpuCount(3));
  std::string text;
  time.append_to(text);
  CHECK(text == "3153600000000000.000000003");
}

TEST_CASE("gpu_time: as many digits as needed") {
  GpuTime time;
  time.add(SimDuration(600'000'000), GpuCount(2));
  std::string text;
  time.append_to(text);
  CHECK(text == "1.2");
  CHECK(time.seconds() == 1.2);
  time.add(SimDuration(400'000'000), GpuCount(2));
  text.clear();
  time.append_to(text);
  CHECK(text == "2");
}
