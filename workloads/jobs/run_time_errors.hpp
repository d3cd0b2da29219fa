/// Differences between the true and the predicted run times of jobs.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Gives the true speeds of jobs whose policies know predictions alone. A factor depends on its arguments
/// only, so that it is the same under every policy. Several threads may share one instance.
class RunTimeErrors {
 public:
  virtual ~RunTimeErrors() = default;
  /// True if the run time of a job is predicted. Other jobs have the factor 1.
  virtual bool knows(JobId job) const = 0;
  /// True over predicted time of a job on a number of GPUs of one type, numbered in the cluster's order.
  /// Above 0; its inverse is a whole number of billionths.
  virtual double time_factor(JobId job, GpuCount num_gpus, std::uint32_t gpu_type) const = 0;
};

}  // namespace vtrain
