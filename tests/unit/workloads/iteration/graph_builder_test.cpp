#include "workloads/iteration/graph_builder.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/graph_export.hpp"
#include "workloads/iteration/iteration_times.hpp"

namespace vtrain {
namespace {

using Edges = std::set<std::pair<TaskId, TaskId>>;

Edges edges_of(const ExecutionGraph& graph) {
  Edges edges;
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    for (auto [next, end] = boost::adjacent_vertices(task, graph.graph); next != end; ++next) {
      CHECK(edges.emplace(task, *next).second);  // none twice
      CHECK(task < *next);                       // numbered in a possible order
    }
  }
  return edges;
}

Operator named(std::string_view name, TaskKind kind, double duration, std::int32_t layer = -1) {
  Operator op;
  op.name = name;
  op.kind = kind;
  op.duration = Nanoseconds(duration);
  op.layer = layer;
  return op;
}

/// A work with two stages, two micro-batches and all kinds of operations.
IterationWork small_work() {
  IterationWork work;
  work.num_micro_batches = 2;
  work.reduction_waits_for_first_stage = true;
  work.stages.resize(2);
  for (StageWork& stage : work.stages) {
    ChunkWork& chunk = stage.chunks.emplace_back();
    chunk.forward = {named("Fwd", TaskKind::Forward, 10, 1)};
    chunk.backward = {named("Bwd", TaskKind::Backward, 20, 1)};
    stage.data_parallel = {named("DP", TaskKind::DataComm, 5)};
    stage.optimizer = {named("WU", TaskKind::Optimizer, 3, 1)};
  }
  work.stages[0].chunks[0].recompute = {named("Fwd", TaskKind::Recompute, 10, 1)};
  work.stages[0].chunks[0].send_forward.hold = Nanoseconds(4);
  work.stages[1].chunks[0].send_backward.hold = Nanoseconds(4);
  return work;
}

TEST_CASE("graph_builder: tasks and dependencies of two stages and two micro-batches") {
  const IterationWork work = small_work();
  const auto graph = build_graph(work, GraphDetail::Operators);
  REQUIRE(graph);
  // In the order of creation, micro-batch and stage: 0 F(0,0) | 1 F(0,1) 2 F(1,0) | 3 B(0,1) 4 R(0,0) 5
  // B(0,0) | 6 F(1,1) 7 B(1,1) 8 R(1,0) 9 B(1,0) | 10 DP0 11 DP1 | 12 WU0 13 WU1.
  REQUIRE(graph->num_tasks() == 14);
  const std::vector<std::string> names = {"Fwd 1", "Fwd 1", "Fwd 1", "Bwd 1", "Fwd 1", "Bwd 1", "Fwd 1",
                                          "Bwd 1", "Fwd 1", "Bwd 1", "DP",    "DP",    "WU 1",  "WU 1"};
  const std::vector<int> stages = {0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1};
  const std::vector<int> micro_batches = {0, 0, 1, 0, 0, 0, 1, 1, 1, 1, -1, -1, -1, -1};
  for (TaskId task = 0; task < graph->num_tasks(); ++task) {
    CAPTURE(task);
    CHECK(task_name(work, (*graph)[task]) == names[task]);
    CHECK((*graph)[task].stage == stages[task]);
    CHECK((*graph)[task].micro_batch == micro_batches[task]);
  }
  CHECK((*graph)[4].kind == TaskKind::Recompute);
  CHECK((*graph)[0].gap_ns == 4);
  CHECK((*graph)[3].gap_ns == 4);
  CHECK((*graph)[5].gap_ns == 0);
  const Edges stage_0 = {{0, 2}, {2, 4}, {4, 5}, {5, 8}, {8, 9}, {9, 10}, {10, 12}};
  const Edges stage_1 = {{1, 3}, {3, 6}, {6, 7}, {7, 11}, {11, 13}};
  const Edges micro_batch_0 = {{0, 1}, {1, 3}, {3, 5}};  // not through the recomputation
  const Edges micro_batch_1 = {{2, 6}, {6, 7}, {7, 9}};
  const Edges barriers = {{9, 11}, {10, 13}, {11, 12}};
  Edges expected;
  for (const Edges& part : {stage_0, stage_1, micro_batch_0, micro_batch_1, barriers}) {
    expected.insert(part.begin(), part.end());
  }
  CHECK(edges_of(*graph) == expected);
}

/// A work with one stage of two chunks, one micro-batch, and messages between the chunks.
IterationWork chunked_work() {
  IterationWork work;
  work.num_micro_batches = 1;
  StageWork& stage = work.stages.emplace_back();
  for (int i = 0; i < 2; ++i) {
    ChunkWork& chunk = stage.chunks.emplace_back();
    chunk.forward = {named("Fwd", TaskKind::Forward, 10, i)};
    chunk.backward = {named("Bwd", TaskKind::Backward, 20, i)};
    chunk.send_forward = {.hold = Nanoseconds(1), .latency = Nanoseconds(5)};
    chunk.send_backward = {.hold = Nanoseconds(2), .latency = Nanoseconds(6)};
  }
  stage.optimizer = {named("WU", TaskKind::Optimizer, 3)};
  return work;
}

TEST_CASE("graph_builder: a message is a task that holds no stage, and none leaves the model") {
  const IterationWork work = chunked_work();
  const auto graph = build_graph(work, GraphDetail::Operators);
  REQUIRE(graph);
  // 0 F, 1 its message, 2 F of chunk 1, 3 B of chunk 1, 4 its message, 5 B of chunk 0, 6 WU.
  REQUIRE(graph->num_tasks() == 7);
  const Edges stage = {{0, 2}, {2, 3}, {3, 5}, {5, 6}};
  Edges expected = {{0, 1}, {1, 2}, {3, 4}, {4, 5}};
  expected.insert(stage.begin(), stage.end());
  CHECK(edges_of(*graph) == expected);
  CHECK((*graph)[1].kind == TaskKind::PipelineComm);
  CHECK((*graph)[1].duration_ns == 5);
  CHECK((*graph)[4].duration_ns == 6);
  CHECK(task_name(work, (*graph)[1]) == "send");
  CHECK(task_name(work, (*graph)[3]) == "Bwd 1");
  CHECK(task_name(work, (*graph)[5]) == "Bwd 0");
  CHECK(task_name(work, (*graph)[6]) == "WU");
  // F to 11 with its hold, message to 16; F to 27; B to 49, message to 55; B to 77; WU to 80.
  const IterationTimes times = simulated_iteration_times(work, *graph);
  CHECK(times.iteration.count() == 80);
  CHECK(times.stages[0].compute.count() == 63);
  CHECK(times.breakdown.pipeline_comm.count() == 1 + 1 + 2 + 2 + 5 + 6);
  CHECK(times.breakdown.bubble.count() == 0);
  CHECK(times.communication_sum.count() == 0);
}

TEST_CASE("timeline, graph_dot: chunks and messages") {
  const IterationWork work = chunked_work();
  const auto graph = build_graph(work, GraphDetail::Operators);
  REQUIRE(graph);
  const nlohmann::json events = nlohmann::json::parse(timeline_json(work, *graph)).at("traceEvents");
  int num_begun = 0;
  for (const auto& event : events) {
    if (event.at("ph") == "b") {
      ++num_begun;
      CHECK(event.at("cat") == "pipeline communication");
    }
    if (event.at("name") == "Bwd 1") CHECK(event.at("args").at("chunk") == 1);
    if (event.at("name") == "WU") CHECK(!event.contains("args"));
  }
  CHECK(num_begun == 2);
  const auto end =
      std::find_if(events.begin(), events.end(), [](const auto& e) { return e.at("ph") == "e"; });
  REQUIRE(end != events.end());
  CHECK(end->at("ts").get<double>() == doctest::Approx(0.016));
  CHECK(end->at("id") == 1);
  const std::string dot = graph_dot(work, *graph);
  CHECK(dot.find(R"(0[label="Fwd 0\nstage 0, chunk 0, micro-batch 0\n0.010 + 0.001 us")") !=
        std::string::npos);
  CHECK(dot.find(R"(1[label="send\nstage 0, chunk 0, micro-batch 0\n0.005 us", fillcolor=plum])") !=
        std::string::npos);
}

TEST_CASE("graph_builder: an operator is replaced by its kernels, and its own gap follows the last") {
  const KernelSequence kernels{{{10, 2}, {20, -5}, {30, 99}}};
  IterationWork work;
  work.num_micro_batches = 1;
  work.stages.resize(1);
  ChunkWork& chunk = work.stages[0].chunks.emplace_back();
  Operator op = named("Fwd", TaskKind::Forward, 60);
  op.gap = Nanoseconds(-3);
  op.kernels = &kernels;
  chunk.forward = {op};
  chunk.send_forward.hold = Nanoseconds(7);
  const auto graph = build_graph(work, GraphDetail::Kernels);
  REQUIRE(graph);
  REQUIRE(graph->num_tasks() == 4);  // three kernels and the empty backward block
  CHECK((*graph)[0].gap_ns == 2);
  CHECK((*graph)[1].gap_ns == -5);
  CHECK((*graph)[2].gap_ns == 7);
  // 10 + 2 + 20 - 5 + 30 + 7.
  CHECK(simulated_iteration_times(work, *graph).iteration.count() == 64);
  CHECK(fast_iteration_times(work).iteration.count() == 64);
  const auto operators = build_graph(work, GraphDetail::Operators);
  REQUIRE(operators);
  CHECK(operators->num_tasks() == 2);
  CHECK(simulated_iteration_times(work, *operators).iteration.count() == 64);
}

TEST_CASE("graph_builder: a graph beyond memory is refused") {
  IterationWork work = small_work();
  work.num_micro_batches = 1'000'000'000;
  const auto graph = build_graph(work, GraphDetail::Operators);
  REQUIRE(!graph);
  CHECK(graph.error().kind == ErrorKind::Failed);
  CHECK(graph.error().message.find("tasks") != std::string::npos);
}

TEST_CASE("timeline: one track a stage, slices in microseconds, sends of their own") {
  const IterationWork work = small_work();
  const auto graph = build_graph(work, GraphDetail::Operators);
  REQUIRE(graph);
  const nlohmann::json events = nlohmann::json::parse(timeline_json(work, *graph)).at("traceEvents");
  int num_tracks = 0;
  int num_slices = 0;
  int num_sends = 0;
  for (const auto& event : events) {
    if (event.at("ph") == "M") {
      num_tracks += event.at("name") == "thread_name" ? 1 : 0;
      continue;
    }
    CHECK(event.at("ph") == "X");
    ++num_slices;
    num_sends += event.at("name") == "send" ? 1 : 0;
  }
  CHECK(num_tracks == 2);
  CHECK(num_sends == 4);  // two micro-batches forward and two back
  CHECK(num_slices == 14 + 4);
  // B(0,1) starts when F(0,0) with its send (10 + 4) and F(0,1) (10) are done.
  const auto backward = std::find_if(events.begin(), events.end(), [](const nlohmann::json& event) {
    return event.at("name") == "Bwd 1" && event.at("tid") == 1;
  });
  REQUIRE(backward != events.end());
  CHECK(backward->at("ts").get<double>() == doctest::Approx(0.024));
  CHECK(backward->at("dur").get<double>() == doctest::Approx(0.020));
  CHECK(backward->at("cat") == "backward");
  CHECK(backward->at("args").at("micro_batch") == 0);
}

TEST_CASE("graph_dot: every task and dependency") {
  const IterationWork work = small_work();
  const auto graph = build_graph(work, GraphDetail::Operators);
  REQUIRE(graph);
  const std::string dot = graph_dot(work, *graph);
  CHECK(dot.starts_with("digraph"));
  CHECK(dot.find(R"(0[label="Fwd 1\nstage 0, micro-batch 0\n0.010 + 0.004 us", fillcolor=palegreen])") !=
        std::string::npos);
  CHECK(dot.find("3->5") != std::string::npos);
}

}  // namespace
}  // namespace vtrain
