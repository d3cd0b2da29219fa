#include "workloads/graph_builder.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "workloads/pipeline_schedule.hpp"

namespace vtrain {
namespace {

using Chain = std::vector<Task>;

/// The tasks of every chain of a stage, from which all micro-batches are copied.
struct StageTasks {
  Chain forward;
  Chain recompute;
  Chain backward;
  Chain data_parallel;
  Chain optimizer;
};

class ChainMaker {
 public:
  ChainMaker(std::uint16_t stage, GraphDetail detail) : stage_(stage), detail_(detail) {}

  /// Chains of one stage must be made in the order in which `find_operator` counts operators.
  Chain make(const std::vector<Operator>& operators) {
    Chain chain;
    for (const Operator& op : operators) {
      const Task task{.op = next_op_++, .stage = stage_, .kind = op.kind};
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
      // What follows the operator is not what followed it in the profile.
      chain.back().gap_ns = 0;
    }
    return chain;
  }

  Chain make_block(const std::vector<Operator>& operators, TaskKind kind, Nanoseconds send) {
    Chain chain = make(operators);
    if (chain.empty()) chain.push_back({.op = Task::kNoOperator, .stage = stage_, .kind = kind});
    chain.back().gap_ns += send.count();
    chain.back().sends = true;
    return chain;
  }

 private:
  std::uint16_t stage_;
  GraphDetail detail_;
  std::uint32_t next_op_ = 0;
};

StageTasks make_stage_tasks(const StageWork& work, std::uint16_t stage, GraphDetail detail) {
  ChainMaker maker(stage, detail);
  StageTasks tasks;
  tasks.forward = maker.make_block(work.forward, TaskKind::Forward, work.send_forward);
  tasks.recompute = maker.make(work.recompute);
  tasks.backward = maker.make_block(work.backward, TaskKind::Backward, work.send_backward);
  tasks.data_parallel = maker.make(work.data_parallel);
  tasks.optimizer = maker.make(work.optimizer);
  return tasks;
}

/// One copy of a chain in the graph, and the first tasks of the at most two chains that follow it.
struct Placed {
  const Chain* chain = nullptr;
  TaskId first = 0;
  TaskId next_on_stage = 0;        ///< 0: none, as the graph's first task follows nothing
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
    place_blocks(
        one_forward_one_backward(static_cast<std::int64_t>(stages_.size()), work_.num_micro_batches));
    place_data_parallel();
    place_optimizer();
    const std::vector<Dependency> dependencies = list_dependencies();
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
      in_blocks += static_cast<double>(stage.forward.size() + stage.recompute.size() + stage.backward.size());
      once += static_cast<double>(stage.data_parallel.size() + stage.optimizer.size());
    }
    return in_blocks * static_cast<double>(work_.num_micro_batches) + once;
  }

  std::uint32_t place(const Chain& chain, std::size_t stage, std::int32_t micro_batch) {
    const auto number = static_cast<std::uint32_t>(placed_.size());
    if (std::uint32_t& last = last_on_stage_[stage]; last != kNone) placed_[last].next_on_stage = next_task_;
    last_on_stage_[stage] = number;
    placed_.push_back({.chain = &chain, .first = next_task_, .micro_batch = micro_batch});
    next_task_ += static_cast<TaskId>(chain.size());
    return number;
  }

  void place_blocks(const PipelineSchedule& schedule) {
    const auto num_micro_batches = static_cast<std::size_t>(work_.num_micro_batches);
    placed_.reserve(num_micro_batches * stages_.size() * 3 + stages_.size() * 2);
    last_of_micro_batch_.assign(num_micro_batches, kNone);
    place_part(schedule.warm_up, 0);
    for (std::int64_t step = 0; step < schedule.num_steps; ++step)
      place_part(schedule.step, step);
    place_part(schedule.cool_down, schedule.num_steps);
  }

  void place_part(const std::vector<ScheduledBlock>& blocks, std::int64_t first_micro_batch) {
    for (const ScheduledBlock& block : blocks) {
      const StageTasks& stage = stages_[block.stage];
      const auto micro_batch = static_cast<std::int32_t>(first_micro_batch + block.micro_batch);
      const bool is_forward = block.pass == Pass::Forward;
      if (!is_forward && !stage.recompute.empty()) place(stage.recompute, block.stage, micro_batch);
      const std::uint32_t number =
          place(is_forward ? stage.forward : stage.backward, block.stage, micro_batch);
      std::uint32_t& last = last_of_micro_batch_[static_cast<std::size_t>(micro_batch)];
      if (last != kNone) placed_[last].next_of_micro_batch = placed_[number].first;
      last = number;
    }
  }

  void place_data_parallel() {
    const TaskId first_stage_last = placed_[last_on_stage_[0]].last();
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (stages_[stage].data_parallel.empty()) continue;
      const std::uint32_t number = place(stages_[stage].data_parallel, stage, -1);
      if (stage != 0 && work_.reduction_waits_for_first_stage) {
        joins_.emplace_back(first_stage_last, placed_[number].first);
      }
    }
  }

  void place_optimizer() {
    const std::vector<std::uint32_t> before = last_on_stage_;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (stages_[stage].optimizer.empty()) continue;
      const std::uint32_t number = place(stages_[stage].optimizer, stage, -1);
      for (std::size_t other = 0; other < stages_.size(); ++other) {
        if (other != stage) joins_.emplace_back(placed_[before[other]].last(), placed_[number].first);
      }
    }
    std::sort(joins_.begin(), joins_.end());
  }

  std::vector<Dependency> list_dependencies() const {
    std::vector<Dependency> dependencies;
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
  std::vector<Placed> placed_;  ///< in the order of their tasks
  std::vector<std::uint32_t> last_on_stage_;
  std::vector<std::uint32_t> last_of_micro_batch_;
  std::vector<Dependency> joins_;  ///< dependencies beside those of stages and micro-batches
  TaskId next_task_ = 0;
};

}  // namespace

Result<ExecutionGraph> build_graph(const IterationWork& work, GraphDetail detail) {
  return GraphBuilder(work, detail).build();
}

}  // namespace vtrain
