#include "workloads/task_names.hpp"

#include <fmt/format.h>

namespace vtrain {

const Operator* find_operator(const IterationWork& work, const Task& task) {
  const StageWork& stage = work.stages[task.stage];
  std::size_t position = task.op;
  for (const auto* chain :
       {&stage.forward, &stage.recompute, &stage.backward, &stage.data_parallel, &stage.optimizer}) {
    if (position < chain->size()) return &(*chain)[position];
    position -= chain->size();
  }
  return nullptr;
}

std::string task_name(const IterationWork& work, const Task& task) {
  const Operator* op = find_operator(work, task);
  if (op == nullptr) return "empty";
  return op->layer < 0 ? op->name : fmt::format("{} {}", op->name, op->layer);
}

std::string_view kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::Forward:
      return "forward";
    case TaskKind::Backward:
      return "backward";
    case TaskKind::Recompute:
      return "recompute";
    case TaskKind::Optimizer:
      return "optimizer";
    case TaskKind::TensorComm:
      return "tensor communication";
    case TaskKind::DataComm:
      return "data communication";
  }
  return "";
}

}  // namespace vtrain
