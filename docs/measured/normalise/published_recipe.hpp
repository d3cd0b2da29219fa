/// Recipes that frameworks publish with the results of benchmark runs. They tell how a plan was made to fit
/// into memory.
#pragma once

#include <string_view>

#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// A measured run, as far as recipes depend on it.
struct RecipeKey {
  std::string_view family;  ///< family of the source, the beginning of the case's group
  std::string_view model;   ///< the model's name in small letters and digits alone
  double release = 0;       ///< release of the framework, for instance 26.02; 0 if not recorded
};

/// Completes a case by the recipe that its framework published for the model, GPU and precision. Sets
/// recomputation unless `says_recompute` (the record gives it), virtual stages if the record has none,
/// activations in the memory of the CPU, and the stack of newer releases. Values used are noted in `assumed`.
void complete_from_recipe(MeasuredCase& measured, const RecipeKey& key, bool says_recompute);

}  // namespace vtrain
