/// What starting or resizing a gang costs, as ElasticFlow's simulator has it.
#pragma once

#include <cmath>
#include <cstdint>

namespace vtrain {

/// Seconds that every decision costs a gang whose processes are already where they should be
/// (pkusys/ElasticFlow, simulator; measured on 16-GPU and larger clusters by its authors).
constexpr double elasticflow_base_overhead(std::int64_t cluster_gpus) {
  return cluster_gpus < 256 ? 2 : 7;
}

/// Seconds that starting a gang costs; more when all jobs restart (the same source).
inline double elasticflow_start_overhead(std::int64_t num_gpus, std::int64_t cluster_gpus, bool restart) {
  const double restart_cost = cluster_gpus < 256 ? 27 : 47;
  return elasticflow_base_overhead(cluster_gpus) + (restart ? restart_cost : 0) +
         2 * (std::log2(static_cast<double>(num_gpus)) + 1);
}

}  // namespace vtrain
