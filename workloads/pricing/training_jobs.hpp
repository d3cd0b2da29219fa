/// Jobs of a workload that the predictor can price, and the values that determine their price.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/jobs/job.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {

/// Values that determine the plan of a training job: model, global batch, type and number of requested GPUs.
using TrainingKind = std::tuple<ModelId, std::int32_t, GpuTypeId, GpuCount>;

inline TrainingKind training_kind(const Job& job) {
  return {job.model, job.global_batch, job.gpu_type, job.num_gpus};
}

/// Selects the jobs of a workload whose models are in the zoo.
class TrainingJobs {
 public:
  /// Looks up every model; the workload need not outlive this object.
  explicit TrainingJobs(const Workload& workload) {
    for (const std::string& name : workload.models.names())
      known_models_.push_back(find_model(name).has_value());
  }

  /// True if the job has a known model, a global batch and iterations, and does not share its GPUs.
  bool include(const Job& job) const {
    return job.model && known_models_[job.model.value] && job.global_batch > 0 && job.iterations > 0 &&
           !job.shares_gpus();
  }

 private:
  std::vector<bool> known_models_;  ///< known models, by `ModelId`
};

}  // namespace vtrain
