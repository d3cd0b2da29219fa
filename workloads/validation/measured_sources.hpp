/// How published measurements name frameworks and GPUs, and what is meant.
#pragma once

#include <string_view>

#include "workloads/model/parallel_plan.hpp"

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

}  // namespace vtrain
