/// How published measurements name frameworks and GPUs, and what is meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/model_zoo.hpp"
#include "workloads/parallel_plan.hpp"

namespace vtrain {

/// A source of measurements: how the `framework` of its records begins, and what they take for granted.
struct MeasuredSource {
  std::string_view framework{};
  std::string_view family{};  ///< of groups of cases and of recipes
  std::string_view stack{};
  Sharding sharding = Sharding::None;  ///< where the record does not say
};

/// What tells the versions of a framework apart.
struct RunFacts {
  bool has_several_gpus = false;
  bool has_sequence_parallelism = false;
  bool is_in_8_bits = false;
};

/// The source of a record, by letters and digits alone; null for a framework that no stack describes.
/// Megatron-LM is that of the year that `framework` names. Without a year it is that of today where it names
/// Megatron-Core or Transformer Engine or the run is in 8 bits, that of 2022 if the run has sequence
/// parallelism, and else that of 2021.
const MeasuredSource* find_source(std::string_view framework, const RunFacts& run);

/// The profile of a GPU as records name it (`H100-SXM5-80GB`, `NVIDIA_A100_80GB_PCIe`); empty without one.
/// `source` may be null.
std::string_view find_profile(std::string_view gpu, const MeasuredSource* source);

/// The model of the zoo that a record means: its name is that of the record (`LLAMA3.1_405B` for
/// `llama3.1-405b`) or the first words of it, and what follows is a remark (`Grok-1 314B (MoE)`): no other
/// size, and nothing that makes it another run (`LoRA`) or model (`Lite`). Null if there is none.
const ZooModel* find_recorded_model(std::string_view recorded);

/// The first month that a text names, `202412` or `2024-12` among other words: 100 x year + month.
std::optional<int> month_in(std::string_view text);

/// Lower case letters and digits, with one blank for whatever stands between them.
std::string plain_words(std::string_view text);
/// The same without blanks.
std::string plain_letters(std::string_view text);
/// Whether `part` occurs in `text`.
bool contains(std::string_view text, std::string_view part);
/// Whether a text of `plain_words` has `part` somewhere without a `no`, `not` or `without` before it, and
/// without `off` or `false` after it.
bool affirms(std::string_view text, std::string_view part);

}  // namespace vtrain
