/// The model zoo as a `ModelCatalog`.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "traces/rules/model_mix.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain::testing {

inline Result<TrainableModel> find_in_zoo(std::string_view name) {
  return find_model(name).map([](const ZooModel& model) {
    return TrainableModel{std::string(model.name()), model.model().num_parameters(), model.global_batch};
  });
}

/// The models of the zoo, with `iteration_time` in place of the predictor.
inline ModelCatalog zoo_with(IterationTime iteration_time) {
  return {.find = find_in_zoo, .iteration_time = std::move(iteration_time)};
}

}  // namespace vtrain::testing
