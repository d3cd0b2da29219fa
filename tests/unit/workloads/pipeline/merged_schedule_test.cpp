#include "workloads/pipeline/merged_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "workloads/iteration/iteration_times.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {
namespace {

/// A stage's order as text: `F0 F1.1 B0 W0`, with the chunk after a point unless it is 0.
std::string order_text(Schedule schedule, const PipelineShape& shape, std::int64_t stage) {
  std::string text;
  for (const BlockLoop& loop : stage_order(schedule, shape, stage)) {
    for (std::int64_t repeat = 0; repeat < loop.repeats; ++repeat) {
      for (const StageBlock& block : loop.blocks) {
        text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", "FBW"[static_cast<int>(block.pass)],
                            block.micro_batch + repeat * loop.stride,
                            block.chunk == 0 ? "" : fmt::format(".{}", block.chunk));
      }
    }
  }
  return text;
}

TEST_CASE("stage_order: 1F1B runs ahead by the stages that follow") {
  const PipelineShape shape{3, 1, 5};
  const auto text = [&](std::int64_t stage) {
    return order_text(Schedule::OneForwardOneBackward, shape, stage);
  };
  CHECK(text(0) == "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
  CHECK(text(1) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  CHECK(text(2) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  CHECK(order_text(Schedule::OneForwardOneBackward, {3, 1, 1}, 0) == "F0 B0");
}

TEST_CASE("stage_order: interleaved 1F1B as in figure 4 of Narayanan et al., SC'21") {
  // Device 1 of 4 with 2 chunks and 8 micro-batches: (4 - 0 - 1) * 2 + (2 - 1) * 4 = 10 forward passes ahead.
  CHECK(order_text(Schedule::OneForwardOneBackward, {4, 2, 8}, 0) ==
        "F0 F1 F2 F3 F0.1 F1.1 F2.1 F3.1 F4 F5 F6 B0.1 F7 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0 F7.1 B1 B2 B3 "
        "B4.1 B5.1 B6.1 B7.1 B4 B5 B6 B7");
  CHECK(order_text(Schedule::OneForwardOneBackward, {4, 2, 8}, 3) ==
        "F0 F1 F2 F3 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4 B0 F5 B1 F6 B2 F7 B3 F4.1 B4.1 F5.1 B5.1 "
        "F6.1 B6.1 F7.1 B7.1 B4 B5 B6 B7");
}

TEST_CASE("stage_order: ZB-H1 delays the weight gradients of stage s by s micro-batches") {
  const PipelineShape shape{3, 1, 5};
  const auto text = [&](std::int64_t stage) { return order_text(Schedule::ZeroBubble, shape, stage); };
  CHECK(text(0) == "F0 F1 F2 B0 W0 F3 B1 W1 F4 B2 W2 B3 W3 B4 W4");
  CHECK(text(1) == "F0 F1 B0 F2 B1 W0 F3 B2 W1 F4 B3 W2 B4 W3 W4");
  CHECK(text(2) == "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 F4 B4 W2 W3 W4");
  CHECK(order_text(Schedule::ZeroBubble, {4, 1, 2}, 3) == "F0 B0 F1 B1 W0 W1");
  CHECK(order_text(Schedule::ZeroBubble, {4, 1, 2}, 1) == "F0 F1 B0 B1 W0 W1");
}

TEST_CASE("stage_order: GPipe runs all forward passes first") {
  CHECK(order_text(Schedule::GPipe, {3, 1, 3}, 1) == "F0 F1 F2 B0 B1 B2");
}

TEST_CASE("stage_order: shapes that a schedule cannot run name the field of the plan") {
  const auto field_of = [](Schedule schedule, const PipelineShape& shape) {
    const auto checked = check_schedule(schedule, shape);
    return checked ? std::string() : checked.error().field;
  };
  CHECK(field_of(Schedule::OneForwardOneBackward, {4, 2, 8}).empty());
  CHECK(field_of(Schedule::OneForwardOneBackward, {4, 1, 6}).empty());
  CHECK(field_of(Schedule::OneForwardOneBackward, {4, 2, 6}) == "global_batch");
  CHECK(field_of(Schedule::ZeroBubble, {4, 2, 8}) == "virtual_stages");
  CHECK(field_of(Schedule::GPipe, {4, 2, 8}) == "virtual_stages");
  CHECK(check_schedule(Schedule::OneForwardOneBackward, {4, 2, 6}).error().message ==
        "expected with virtual stages a multiple of the 4 pipeline stages in micro-batches, found '6'");
}

/// Walks through the schedule, and checks that every block comes after its inputs. Returns the largest number
/// of micro-batches of each stage that wait for their last backward block.
std::vector<std::int64_t> walk_schedule(Schedule schedule, const PipelineShape& shape) {
  CAPTURE(shape.num_stages);
  CAPTURE(shape.num_chunks);
  CAPTURE(shape.num_micro_batches);
  const PipelineSchedule made = make_schedule(schedule, shape);
  const std::int64_t num_parts = shape.num_stages * shape.num_chunks;
  // Passes of a micro-batch count 0 .. parts - 1 forward and on to 2 parts - 1 back.
  std::vector<std::int64_t> passes_done(static_cast<std::size_t>(shape.num_micro_batches), 0);
  std::vector<std::int64_t> weights_done(passes_done.size() * static_cast<std::size_t>(num_parts), 0);
  std::vector<std::int64_t> held(static_cast<std::size_t>(shape.num_stages), 0);
  std::vector<std::int64_t> most_held = held;
  for (const ScheduleSection& section : made.sections) {
    for (std::int64_t repeat = 0; repeat < section.repeats; ++repeat) {
      for (const ScheduledBlock& block : section.blocks) {
        const std::int64_t micro_batch =
            section.first.of(block.pass) + repeat * section.stride.of(block.pass) + block.micro_batch;
        REQUIRE(micro_batch >= 0);
        REQUIRE(micro_batch < shape.num_micro_batches);
        const auto index = static_cast<std::size_t>(micro_batch);
        const std::int64_t part = block.chunk * shape.num_stages + block.stage;
        std::int64_t& flying = held[block.stage];
        if (block.pass == Pass::Weight) {
          CHECK(passes_done[index] >= 2 * num_parts - part);
          CHECK(
              ++weights_done[index * static_cast<std::size_t>(num_parts) + static_cast<std::size_t>(part)] ==
              1);
          --flying;
          continue;
        }
        REQUIRE(block.micro_batch >= 0);
        REQUIRE(block.micro_batch < made.window.of(block.pass));
        CHECK(passes_done[index]++ == (block.pass == Pass::Forward ? part : 2 * num_parts - 1 - part));
        if (block.pass == Pass::Forward) most_held[block.stage] = std::max(most_held[block.stage], ++flying);
        if (block.pass == Pass::Backward && !splits_backward(schedule)) --flying;
      }
    }
  }
  for (const std::int64_t done : passes_done)
    CHECK(done == 2 * num_parts);
  CHECK(std::count(weights_done.begin(), weights_done.end(), splits_backward(schedule) ? 1 : 0) ==
        std::ssize(weights_done));
  return most_held;
}

TEST_CASE("merged_schedule: every block once, after those it needs, with the activations of its schedule") {
  for (std::int64_t p = 1; p <= 6; ++p) {
    for (std::int64_t m = 1; m <= 20; ++m) {
      const auto plain = walk_schedule(Schedule::OneForwardOneBackward, {p, 1, m});
      const auto zero_bubble = walk_schedule(Schedule::ZeroBubble, {p, 1, m});
      const auto gpipe = walk_schedule(Schedule::GPipe, {p, 1, m});
      for (std::int64_t stage = 0; stage < p; ++stage) {
        const auto index = static_cast<std::size_t>(stage);
        CHECK(plain[index] == std::min(m, p - stage));
        CHECK(zero_bubble[index] == std::min(m, p));  // no more than stage 0 of 1F1B
        CHECK(gpipe[index] == m);
      }
    }
    for (std::int64_t groups = 1; groups <= 6; ++groups) {
      for (std::int64_t v = 2; v <= 4; ++v) {
        const auto interleaved = walk_schedule(Schedule::OneForwardOneBackward, {p, v, p * groups});
        for (std::int64_t stage = 0; stage < p; ++stage) {
          const std::int64_t ahead = 2 * (p - 1 - stage) + (v - 1) * p;
          CHECK(interleaved[static_cast<std::size_t>(stage)] == std::min(ahead + 1, v * p * groups));
        }
      }
    }
  }
}

TEST_CASE("merged_schedule: the description stays small whatever the number of micro-batches") {
  const auto size_of = [](Schedule schedule, const PipelineShape& shape) {
    std::size_t size = 0;
    for (const ScheduleSection& section : make_schedule(schedule, shape).sections)
      size += section.blocks.size();
    return size;
  };
  for (const Schedule schedule : {Schedule::OneForwardOneBackward, Schedule::ZeroBubble, Schedule::GPipe}) {
    CHECK(size_of(schedule, {8, 1, 1'000'000'000}) == size_of(schedule, {8, 1, 1000}));
  }
  CHECK(size_of(Schedule::OneForwardOneBackward, {8, 4, 800'000'000}) ==
        size_of(Schedule::OneForwardOneBackward, {8, 4, 800}));
}

/// Equal stages with `num_chunks` chunks each, of forward 3, backward 4 and, if separate, weight 2.
IterationWork uniform_work(Schedule schedule, const PipelineShape& shape) {
  const auto op = [](TaskKind kind, double duration) {
    return std::vector<Operator>{{.kind = kind, .duration = Nanoseconds(duration)}};
  };
  IterationWork work;
  work.schedule = schedule;
  work.num_micro_batches = shape.num_micro_batches;
  ChunkWork chunk;
  chunk.forward = op(TaskKind::Forward, 3);
  chunk.backward = op(TaskKind::Backward, splits_backward(schedule) ? 4 : 6);
  if (splits_backward(schedule)) chunk.weight = op(TaskKind::WeightGradient, 2);
  const StageWork stage{.chunks = std::vector<ChunkWork>(static_cast<std::size_t>(shape.num_chunks), chunk)};
  work.stages.assign(static_cast<std::size_t>(shape.num_stages), stage);
  return work;
}

TEST_CASE("merged_schedule: bubbles of uniform stages as published") {
  const auto time = [](Schedule schedule, const PipelineShape& shape) {
    return fast_iteration_times(uniform_work(schedule, shape)).iteration.count();
  };
  for (const std::int64_t p : {1, 2, 4, 7}) {
    for (const std::int64_t groups : {1, 2, 3, 10, 1'000'000}) {
      const std::int64_t m = p * groups;
      CAPTURE(p);
      CAPTURE(m);
      const auto ideal = static_cast<double>(m * 9);
      const auto depth = static_cast<double>(p - 1);
      // (p - 1) (F + B), Narayanan et al., section 2.2.1; the same for GPipe.
      CHECK(time(Schedule::OneForwardOneBackward, {p, 1, m}) == ideal + depth * 9);
      CHECK(time(Schedule::GPipe, {p, 1, m}) == ideal + depth * 9);
      // Divided by the number of chunks, section 2.2.2: a chunk takes as long here as a stage above.
      CHECK(time(Schedule::OneForwardOneBackward, {p, 3, m}) == 3 * ideal + depth * 9);
      // (p - 1) (F + B - W), Qi et al., table 2, where B is the input gradient alone: from m >= p on.
      CHECK(time(Schedule::ZeroBubble, {p, 1, m}) == ideal + depth * (3 + 4 - 2));
    }
  }
}

}  // namespace
}  // namespace vtrain
