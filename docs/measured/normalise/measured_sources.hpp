/// Sources of published measurements: the names that they have for frameworks and GPUs, and the facts that
/// their records leave out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

struct MeasuredCase;
struct Stack;

/// A source of measurements: the beginning of its records' `framework`, and facts that the records leave out.
struct MeasuredSource {
  std::string_view framework{};
  std::string_view family{};  ///< name in groups of cases and in recipes
  std::string_view stack{};
  Sharding sharding = Sharding::None;  ///< sharding if the record gives none
};

/// Facts that distinguish the versions of a framework.
struct RunFacts {
  bool has_several_gpus = false;
  bool has_sequence_parallelism = false;
  bool is_in_8_bits = false;
};

/// The source of a record, by letters and digits alone; null for a framework that no stack describes.
/// `framework` names the year of Megatron-LM. Without a year it is the current version if it names
/// Megatron-Core or Transformer Engine or the run is in 8 bits. Otherwise it is that of 2022 if the run has
/// sequence parallelism, else that of 2021.
const MeasuredSource* find_source(std::string_view framework, const RunFacts& run);

/// The profile of a GPU as records name it (`H100-SXM5-80GB`, `NVIDIA_A100_80GB_PCIe`); empty without one.
/// `source` may be null.
std::string_view find_profile(std::string_view gpu, const MeasuredSource* source);

/// Statements of a record about a run of torchtitan.
struct TorchTitanRun {
  std::string name;  ///< its id and framework
  std::string page;  ///< title and path of its source, perhaps with a month
  std::string caveats;
  std::string precision;                  ///< precision in the record
  std::optional<bool> compiles{};         ///< set if the record has a key for it
  std::optional<bool> is_asynchronous{};  ///< tensor parallelism is asynchronous; likewise
};

/// The stack of a run. torchtitan compiles layers and pipelines collectives with products only on request
/// (train_configs/llama3_8b.toml: compile = false; enable_async_tensor_parallel, a pass of the compiler; its
/// page compares it with "vanilla" runs). It compiles the loss since April 2025; pages without a date are
/// older. Gathers of rows that are scaled one by one are not pipelined (pytorch/pytorch, issue 149990).
/// Assumptions are appended to `assumed`.
Stack torchtitan_stack(const TorchTitanRun& run, std::vector<std::string>& assumed);

// Runs of NeuSight: Lee, Phanishayee, Mahajan, "Forecasting GPU Performance for Deep Learning Training and
// Inference", ASPLOS'25; scripts/asplos and neusight/Tracing/trace.py of sitar-lab/NeuSight. Its records name
// models and times only.

/// The model that NeuSight's configuration of this name (small letters and digits alone) describes
/// (scripts/asplos/data/DLmodel_configs); nothing for other names.
std::optional<TransformerModel> neusight_model(std::string_view name);

/// Completes a case whose plan and batch have been read: the whole batch of a GPU is one micro-batch. On one
/// GPU only the model's passes are timed, without the forward pass of the loss and without the optimizer.
/// Values used are noted in `assumed`.
void complete_neusight_run(MeasuredCase& measured);

}  // namespace vtrain
