#include "workloads/iteration/graph_builder.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "workloads/iteration/stage_times.hpp"
#include "workloads/pipeline/merged_schedule.hpp"

namespace vtrain {
namespace {

using Chain = std::vector<Task>;

/// The tasks of every chain of a chunk, from which all micro-batches are copied.
struct ChunkTasks {
  Chain forward;
  Chain recompute;
  Chain backward;
  Chain weight;
  Chain message_forward;  ///< empty if the next chunk gets the result at once
  Chain message_backward;
};

struct StageTasks {
  std::vector<ChunkTasks> chunks;
  Chain data_parallel;
  Chain optimizer;
};

/// Makes the chains of one chunk, or those that a stage runs once, in the order in which `find_operator`
/// counts operators.
class ChainMaker {
 public:
  ChainMaker(std::uint16_t stage, std::uint16_t chunk, GraphDetail detail)
      : stage_(stage), chunk_(chunk), detail_(detail) {}

  Chain make(const std::vector<Operator>& operators) {
    Chain chain;
    for (const Operator& op : operators) {
      const Task task{.op = next_op_++, .stage = stage_, .chunk = chunk_, .kind = op.kind};
      if (detail_ == GraphDetail::Operators || op.kernels == nullptr || op.kernels->kernels.empty()) {
        chain.push_back(task);
        chain.back().duration_ns = op.duration.count();
        chain.back().gap_ns = op.gap.count();
        continue;
      }
      for (const Kernel& kernel : op.kernels->kernels) {
        chain.push_back(task);
        chain.back().duration_ns = static_cast<double>(kernel.duration_ns);
        chain.back().gap_ns = static_cast<double>(kernel.gap_ns);
      }
      // A different operator follows here than in the profile.
      chain.back().gap_ns = 0;
    }
    if (detail_ == GraphDetail::Blocks && !chain.empty()) chain = {whole(chain)};
    return chain;
  }

  Chain make_block(const std::vector<Operator>& operators, TaskKind kind, const Send& send) {
    Chain chain = make(operators);
    if (chain.empty()) chain.push_back(empty_task(kind));
    chain.back().gap_ns += send.stall().count();
    chain.back().sends = true;
    return chain;
  }

  Chain make_message(const Send& send) const {
    if (send.latency.count() == 0) return {};
    Task message = empty_task(TaskKind::PipelineComm);
    message.duration_ns = send.latency.count();
    return {message};
  }

 private:
  /// One task of the time and kind of a chain; what is communicated within it counts as part of it.
  Task whole(const Chain& chain) const {
    const auto computes =
        std::find_if(chain.begin(), chain.end(), [](const Task& task) { return !is_collective(task.kind); });
    Task task = empty_task(computes == chain.end() ? chain.front().kind : computes->kind);
    for (const Task& each : chain)
      task.duration_ns += each.duration_ns + each.gap_ns;
    return task;
  }

  Task empty_task(TaskKind kind) const {
    return {.op = Task::kNoOperator, .stage = stage_, .chunk = chunk_, .kind = kind};
  }

  std::uint16_t stage_;
  std::uint16_t chunk_;
  GraphDetail detail_;
  std::uint32_t next_op_ = 0;
};

StageTasks make_stage_tasks(const StageWork& work, std::uint16_t stage, GraphDetail detail) {
  StageTasks tasks;
  for (const ChunkWork& chunk : work.chunks) {
    ChainMaker maker(stage, static_cast<std::uint16_t>(tasks.chunks.size()), detail);
    ChunkTasks& made = tasks.chunks.emplace_back();
    made.forward = maker.make_block(chunk.forward, TaskKind::Forward, chunk.send_forward);
    made.recompute = maker.make(chunk.recompute);
    made.backward = maker.make_block(chunk.backward, TaskKind::Backward, chunk.send_backward);
    made.weight = maker.make(chunk.weight);
    made.message_forward = maker.make_message(chunk.send_forward);
    made.message_backward = maker.make_message(chunk.send_backward);
  }
  ChainMaker maker(stage, 0, detail);
  tasks.data_parallel = maker.make(work.data_parallel);
  tasks.optimizer = maker.make(work.optimizer);
  return tasks;
}

/// One copy of a chain in the graph, and the first tasks of the at most two chains that follow it.
struct Placed {
  const Chain* chain = nullptr;
  TaskId first = 0;
  TaskId next_on_stage = 0;        ///< 0: none, as the graph's first task follows nothing. Messages: none
  TaskId next_of_micro_batch = 0;  ///< 0: none
  std::int32_t micro_batch = -1;

  TaskId last() const { return first + static_cast<TaskId>(chain->size()) - 1; }
};

class GraphBuilder {
 public:
  GraphBuilder(const IterationWork& work, GraphDetail detail)
      : work_(work), last_on_stage_(work.stages.size(), kNone) {
    stages_.reserve(work.stages.size());
    for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
      stages_.push_back(make_stage_tasks(work.stages[stage], static_cast<std::uint16_t>(stage), detail));
    }
  }

  Result<ExecutionGraph> build() {
    if (const double num_tasks = count_tasks(); num_tasks > static_cast<double>(kMaxTasks)) {
      return fail(
          {.kind = ErrorKind::Failed,
           .message = fmt::format("the graph of this plan would have {:.3g} tasks, at most {} can be built",
                                  num_tasks, kMaxTasks)});
    }
    place_blocks(make_schedule(work_.schedule, pipeline_shape(work_)));
    place_data_parallel();
    place_optimizer();
    const std::vector<TaskDependency> dependencies = list_dependencies();
    ExecutionGraph graph(next_task_, dependencies.begin(), dependencies.end());
    fill_tasks(graph);
    return graph;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  double count_tasks() const {
    double in_blocks = 0;
    double once = 0;
    for (const StageTasks& stage : stages_) {
      for (const ChunkTasks& chunk : stage.chunks) {
        for (const Chain* chain : {&chunk.forward, &chunk.recompute, &chunk.backward, &chunk.weight,
                                   &chunk.message_forward, &chunk.message_backward}) {
          in_blocks += static_cast<double>(chain->size());
        }
      }
      once += static_cast<double>(stage.data_parallel.size() + stage.optimizer.size());
    }
    return in_blocks * static_cast<double>(work_.num_micro_batches) + once;
  }

  std::uint32_t place(const Chain& chain, std::int32_t micro_batch) {
    const auto number = static_cast<std::uint32_t>(placed_.size());
    placed_.push_back({.chain = &chain, .first = next_task_, .micro_batch = micro_batch});
    next_task_ += static_cast<TaskId>(chain.size());
    return number;
  }

  std::uint32_t place_on_stage(const Chain& chain, std::size_t stage, std::int32_t micro_batch) {
    if (std::uint32_t& last = last_on_stage_[stage]; last != kNone) placed_[last].next_on_stage = next_task_;
    return last_on_stage_[stage] = place(chain, micro_batch);
  }

  void place_blocks(const PipelineSchedule& schedule) {
    const auto num_micro_batches = static_cast<std::size_t>(work_.num_micro_batches);
    placed_.reserve(num_micro_batches * stages_.size() * stages_.front().chunks.size() * 3 +
                    stages_.size() * 2);
    last_of_micro_batch_.assign(num_micro_batches, kNone);
    for (const ScheduleSection& section : schedule.sections) {
      PassNumbers first = section.first;
      for (std::int64_t repeat = 0; repeat < section.repeats; ++repeat) {
        for (const ScheduledBlock& block : section.blocks)
          place_block(block, static_cast<std::int32_t>(first.of(block.pass) + block.micro_batch));
        first.forward += section.stride.forward;
        first.backward += section.stride.backward;
        first.weight += section.stride.weight;
      }
    }
  }

  void place_block(const ScheduledBlock& block, std::int32_t micro_batch) {
    const ChunkTasks& chunk = stages_[block.stage].chunks[block.chunk];
    if (block.pass == Pass::Weight) {
      if (!chunk.weight.empty()) place_on_stage(chunk.weight, block.stage, micro_batch);
      return;
    }
    const bool is_forward = block.pass == Pass::Forward;
    if (!is_forward && !chunk.recompute.empty()) place_on_stage(chunk.recompute, block.stage, micro_batch);
    std::uint32_t& last = last_of_micro_batch_[static_cast<std::size_t>(micro_batch)];
    if (last != kNone) placed_[last].next_of_micro_batch = next_task_;
    last = place_on_stage(is_forward ? chunk.forward : chunk.backward, block.stage, micro_batch);
    const Chain& message = is_forward ? chunk.message_forward : chunk.message_backward;
    if (message.empty() || is_end_of_model(block)) return;
    placed_[last].next_of_micro_batch = next_task_;
    last = place(message, micro_batch);
  }

  /// True if the block's result goes to no other chunk.
  bool is_end_of_model(const ScheduledBlock& block) const {
    if (block.pass == Pass::Backward) return block.stage == 0 && block.chunk == 0;
    return block.stage + 1U == stages_.size() && block.chunk + 1U == stages_.front().chunks.size();
  }

  void place_data_parallel() {
    const TaskId first_stage_last = placed_[last_on_stage_[0]].last();
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (stages_[stage].data_parallel.empty()) continue;
      const std::uint32_t number = place_on_stage(stages_[stage].data_parallel, stage, -1);
      if (stage != 0 && work_.reduction_waits_for_first_stage) {
        joins_.emplace_back(first_stage_last, placed_[number].first);
      }
    }
  }

  void place_optimizer() {
    const std::vector<std::uint32_t> before = last_on_stage_;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (stages_[stage].optimizer.empty()) continue;
      const std::uint32_t number = place_on_stage(stages_[stage].optimizer, stage, -1);
      for (std::size_t other = 0; other < stages_.size(); ++other) {
        if (other != stage) joins_.emplace_back(placed_[before[other]].last(), placed_[number].first);
      }
    }
    std::sort(joins_.begin(), joins_.end());
  }

  std::vector<TaskDependency> list_dependencies() const {
    std::vector<TaskDependency> dependencies;
    dependencies.reserve(next_task_ + placed_.size() + joins_.size());
    auto join = joins_.begin();
    for (const Placed& placed : placed_) {
      const TaskId last = placed.last();
      for (TaskId task = placed.first; task < last; ++task)
        dependencies.emplace_back(task, task + 1);
      if (placed.next_on_stage != 0) dependencies.emplace_back(last, placed.next_on_stage);
      if (placed.next_of_micro_batch != 0 && placed.next_of_micro_batch != placed.next_on_stage) {
        dependencies.emplace_back(last, placed.next_of_micro_batch);
      }
      for (; join != joins_.end() && join->first == last; ++join)
        dependencies.push_back(*join);
    }
    return dependencies;
  }

  void fill_tasks(ExecutionGraph& graph) const {
    for (const Placed& placed : placed_) {
      TaskId id = placed.first;
      for (const Task& task : *placed.chain) {
        graph[id] = task;
        graph[id].micro_batch = placed.micro_batch;
        ++id;
      }
    }
  }

  const IterationWork& work_;
  std::vector<StageTasks> stages_;
  std::vector<Placed> placed_;  ///< chains in the order of their tasks
  std::vector<std::uint32_t> last_on_stage_;
  std::vector<std::uint32_t> last_of_micro_batch_;
  std::vector<TaskDependency> joins_;  ///< dependencies other than those of stages and micro-batches
  TaskId next_task_ = 0;
};

}  // namespace

Result<ExecutionGraph> build_graph(const IterationWork& work, GraphDetail detail) {
  return GraphBuilder(work, detail).build();
}

const Operator* find_operator(const IterationWork& work, const Task& task) {
  const StageWork& stage = work.stages[task.stage];
  std::size_t position = task.op;
  const auto find_in = [&position](auto... chains) -> const Operator* {
    for (const std::vector<Operator>* chain : {chains...}) {
      if (position < chain->size()) return &(*chain)[position];
      position -= chain->size();
    }
    return nullptr;
  };
  if (task.micro_batch < 0) return find_in(&stage.data_parallel, &stage.optimizer);
  const ChunkWork& chunk = stage.chunks[task.chunk];
  return find_in(&chunk.forward, &chunk.recompute, &chunk.backward, &chunk.weight);
}

std::string task_name(const IterationWork& work, const Task& task) {
  if (task.kind == TaskKind::PipelineComm) return "send";
  const Operator* op = find_operator(work, task);
  if (op == nullptr) return "empty";
  return op->layer < 0 ? std::string(op->name) : fmt::format("{} {}", op->name, op->layer);
}

const Send* send_after(const StageWork& stage, const Task& task) {
  if (!task.sends) return nullptr;
  const ChunkWork& chunk = stage.chunks[task.chunk];
  const bool is_forward =
      task.op == Task::kNoOperator ? task.kind == TaskKind::Forward : task.op < chunk.forward.size();
  return is_forward ? &chunk.send_forward : &chunk.send_backward;
}

}  // namespace vtrain
