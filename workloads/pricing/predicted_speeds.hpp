/// Predicted speeds of jobs on other types of GPUs and on spread gangs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// Speeds of the jobs that the predictor can price (`TrainingJobs`), each computed when a gang is first at
/// such a site. A packed gang has the `iteration_time` of its type, a spread one `spread_iteration_time`. If
/// no plan divides over the GPUs, a job has the plan of the next smaller number in `curve_gpu_counts`.
/// Without any plan on this type, or on the type that prices the job, it is as fast as priced.
class PredictedSpeeds final : public GangSpeedModel {
 public:
  /// Leaves out jobs that already have a curve from their trace. The curves must outlive this object. The
  /// workload need not outlive it, but `JobId` must keep their meaning.
  PredictedSpeeds(const Workload& workload, CurvesByType curves);

  /// Adds or replaces the job of a number. The types of its workload are those of the first one.
  void know(JobId number, const Workload& workload, const Job& job);

  /// Number of jobs whose speeds it knows.
  std::int64_t num_jobs() const { return num_jobs_; }
  /// Number of these jobs that may get a type of GPUs on which their model has no plan for the requested
  /// number or fewer.
  std::int64_t num_without_plan(const Workload& workload);

  /// Also asked of jobs that are considered and have not been told to `know`.
  bool knows(JobId job) const override {
    return job.value < kind_of_.size() && kind_of_[job.value] != kNoKind;
  }
  GangSpeed at(JobId job, GpuCount num_gpus, const GangSite& site) override;
  double slowest(JobId job, GpuCount num_gpus, bool may_spread) override;

 private:
  static constexpr std::uint32_t kNoKind = ~std::uint32_t{0};

  /// Jobs that differ only in their number of GPUs.
  struct Kind {
    std::string model;
    std::int32_t global_batch = 0;
    std::vector<std::uint32_t> types;  ///< types that it may use; the first one prices it
  };
  struct Key {
    std::uint32_t kind = 0;
    GpuCount num_gpus{0};
    GangSite site{};
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::optional<Nanoseconds> iteration_time(const Kind& kind, GpuCount num_gpus, const GangSite& site);
  /// `at` for a caller that holds the lock.
  GangSpeed look_up(std::uint32_t kind, GpuCount num_gpus, const GangSite& site);

  using KindName = std::tuple<std::string, std::int32_t, std::string>;

  /// The kind of a job that the predictor can price.
  std::uint32_t kind_of(const Workload& workload, const Job& job);

  CurvesByType curves_;
  std::vector<std::uint32_t> kind_of_;  ///< kinds by `JobId`
  std::vector<Kind> kinds_;
  std::map<KindName, std::uint32_t> known_kinds_;  ///< by model, global batch and GPU type
  std::int64_t num_jobs_ = 0;
  std::mutex mutex_;  ///< guards the members below
  std::map<Key, GangSpeed> speeds_;
};

}  // namespace vtrain
