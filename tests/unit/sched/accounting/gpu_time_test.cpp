#include "sched/accounting/gpu_time.hpp"

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

TEST_CASE("gpu_time: parts of GPUs are exact to the thousandth of a nanosecond") {
  const auto text_of = [](const GpuTime& time) {
    std::string text;
    time.append_to(text);
    return text;
  };
  GpuTime time;
  time.add(SimDuration(9), GpuCount(2), 999);  // 9 ns x 1.998 GPUs
  CHECK(text_of(time) == "0.000000017982");
  for (int i = 0; i < 999; ++i)
    time.add(SimDuration(9), GpuCount(2), 999);
  CHECK(text_of(time) == "0.000017982");
  GpuTime thirds;
  for (const int share : {333, 333, 334})
    thirds.add(SimDuration(1'000'000'001), GpuCount(1), static_cast<std::int16_t>(share));
  GpuTime whole;
  whole.add(SimDuration(1'000'000'001), GpuCount(1));
  CHECK(thirds == whole);
  // A century on a million GPUs, of each 999 thousandths.
  GpuTime large;
  large.add(std::chrono::hours(24 * 365 * 100), GpuCount(1'000'000), 999);
  CHECK(text_of(large) == "3150446400000000");
}
