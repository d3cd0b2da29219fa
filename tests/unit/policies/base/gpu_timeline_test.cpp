#include "policies/base/gpu_timeline.hpp"

#include <doctest/doctest.h>

#include <vector>

using vtrain::GpuTimeline;
using Step = vtrain::GpuTimeline::Step;

namespace {

std::vector<Step> steps_of(const GpuTimeline& timeline) {
  return {timeline.steps().begin(), timeline.steps().end()};
}

}  // namespace

TEST_CASE("gpu_timeline: a number holds until the next step, and from the last for ever") {
  GpuTimeline timeline(10, 8);
  timeline.split(20);
  timeline.split(40);
  timeline.add(10, 40, -3);
  CHECK(steps_of(timeline) == std::vector<Step>{{10, 5}, {20, 5}, {40, 8}});
  CHECK(timeline.at(10) == 5);
  CHECK(timeline.at(39) == 5);
  CHECK(timeline.at(1000) == 8);
  timeline.merge();
  CHECK(steps_of(timeline) == std::vector<Step>{{10, 5}, {40, 8}});
}

TEST_CASE("gpu_timeline: setting a step gives it a number of its own") {
  GpuTimeline timeline(0, 4);
  timeline.set(60, 2);
  timeline.set(0, 1);
  CHECK(steps_of(timeline) == std::vector<Step>{{0, 1}, {60, 2}});
  CHECK(timeline.has(60));
  CHECK_FALSE(timeline.has(30));
}

TEST_CASE("gpu_timeline: a part added in place is the same as the sum written down") {
  // 8 from 0 on, 5 from 20 on. The part holds 3 in [10, 20) and 1 in [20, 40).
  GpuTimeline base(0, 8);
  base.set(20, 5);
  GpuTimeline part(0, 0);
  part.append(10, 3);
  part.append(20, 1);
  GpuTimeline sum;
  sum.assign_sum(base, part, 40, -1);
  GpuTimeline in_place = base;
  CHECK(in_place.add_part(part, 40, -1) == 4);
  CHECK(steps_of(in_place) == std::vector<Step>{{0, 8}, {10, 5}, {20, 4}, {40, 5}});
  CHECK(steps_of(in_place) == steps_of(sum));
  in_place.add_part(part, 40, 1);
  CHECK(steps_of(in_place) == steps_of(base));
}
