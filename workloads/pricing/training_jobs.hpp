/// Which jobs of a workload the predictor can price, and what it prices them by.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/jobs/job.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {

/// What the plan of a training job depends on: model, global batch, type of GPUs asked for and their number.
using TrainingKind = std::tuple<ModelId, std::int32_t, GpuTypeId, GpuCount>;

inline TrainingKind training_kind(const Job& job) {
  return {job.model, job.global_batch, job.gpu_type, job.num_gpus};
}

/// Knows which of a workload's models are in the zoo.
class TrainingJobs {
 public:
  /// Looks every model up; the workload need not outlive it.
  explicit TrainingJobs(const Workload& workload) {
    for (const std::string& name : workload.models.names())
      known_models_.push_back(find_model(name).has_value());
  }

  /// Whether the job says a known model, its global batch and iterations, and has its GPUs for itself.
  bool include(const Job& job) const {
    return job.model && known_models_[job.model.value] && job.global_batch > 0 && job.iterations > 0 &&
           !job.shares_gpus();
  }

 private:
  std::vector<bool> known_models_;  ///< by `ModelId`
};

}  // namespace vtrain
