/// What frameworks publish of their benchmark runs beyond the tables of results: the recipes, which say how
/// a plan was made to fit into memory.
#pragma once

#include <string_view>

#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// A measured run, as far as recipes depend on it.
struct RecipeKey {
  std::string_view family;  ///< of the source, the beginning of the case's group
  std::string_view model;   ///< its name in small letters and digits alone
  double release = 0;       ///< of the framework, for instance 26.02; 0 if the record does not say
};

/// Completes a case by the recipe that its framework published for the model, GPU and precision:
/// recomputation where the record does not say (`says_recompute`), virtual stages where it has none,
/// activations in the memory of the CPU, and the stack of newer releases. What was taken is noted in
/// `assumed`.
void complete_from_recipe(MeasuredCase& measured, const RecipeKey& key, bool says_recompute);

}  // namespace vtrain
