/// How published measurements name frameworks and GPUs, and what is meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/parallel_plan.hpp"

namespace vtrain {

/// A source of measurements: how the `framework` of its records begins, and what they take for granted.
struct MeasuredSource {
  std::string_view framework{};
  std::string_view family{};  ///< of groups of cases and of recipes
  std::string_view stack{};
  Sharding sharding = Sharding::None;  ///< where the record does not say
};

/// The source of a record; null for a framework that no stack describes. Megatron-LM is that of the year that
/// `framework` names; without a year that of 2021, or of 2022 if the run has sequence parallelism.
const MeasuredSource* find_source(std::string_view framework, bool has_several_gpus,
                                  bool has_sequence_parallelism);

/// The profile of a GPU as records name it (`H100-SXM5-80GB`, `NVIDIA_A100_80GB_PCIe`); empty without one.
/// `source` may be null.
std::string_view find_profile(std::string_view gpu, const MeasuredSource* source);

/// The name in the zoo of a model that a source calls otherwise; of any other model its own.
std::string_view name_in_zoo(std::string_view model);

/// The first month that a text names, `202412` or `2024-12` among other words: 100 x year + month.
std::optional<int> month_in(std::string_view text);

/// Lower case letters and digits, with one blank for whatever stands between them.
std::string plain_words(std::string_view text);
/// The same without blanks.
std::string plain_letters(std::string_view text);
/// Whether `part` occurs in `text`.
bool contains(std::string_view text, std::string_view part);

}  // namespace vtrain
