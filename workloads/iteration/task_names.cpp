#include "workloads/iteration/task_names.hpp"

#include <fmt/format.h>

namespace vtrain {

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

std::string_view kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::Forward:
      return "forward";
    case TaskKind::Backward:
      return "backward";
    case TaskKind::WeightGradient:
      return "weight gradient";
    case TaskKind::Recompute:
      return "recompute";
    case TaskKind::Optimizer:
      return "optimizer";
    case TaskKind::TensorComm:
      return "tensor communication";
    case TaskKind::DataComm:
      return "data communication";
    case TaskKind::PipelineComm:
      return "pipeline communication";
  }
  return "";
}

}  // namespace vtrain
