/// Prices of GPU-hours by type, and the costs of jobs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/simulation/result.hpp"

namespace vtrain {

/// Prices of the GPUs of a cluster in dollars per GPU-hour. A job pays for the time for which it holds GPUs;
/// idle GPUs are free.
class GpuPrices {
 public:
  /// No prices: no job has a cost.
  GpuPrices() = default;
  /// Reads prices such as `h100=2.5/h`, or `2.5/h` for all types that no other price names; several may be
  /// joined by commas. Errors: a type that the cluster lacks, a type named twice, a price below 0.
  static Result<GpuPrices> parse(std::span<const std::string> texts, const ClusterSpec& cluster);

  /// True without any price.
  bool empty() const { return !any_; }
  /// Names of the types without a price; `no type` means GPUs without a named type.
  std::vector<std::string> types_without_price() const;
  /// Cost of a job of a replay. None without prices, if the job held GPUs of a type without a price, or if
  /// the types that it held are not known (`SimulationResult::gpu_time_by_type`) and differ in price.
  std::optional<double> cost(const SimulationResult& result, JobId job) const;

  /// Dollars for an hour of all GPUs of a cluster whose types are among these. None if a type has no price.
  std::optional<double> hourly(const ClusterSpec& cluster) const;

 private:
  bool any_ = false;
  std::vector<std::string> names_{};             ///< [types] names as the cluster writes them
  std::vector<std::optional<double>> prices_{};  ///< [types] dollars per GPU-hour
};

}  // namespace vtrain
