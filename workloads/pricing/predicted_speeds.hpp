/// What the predictor expects of jobs on other types of GPUs and on spread gangs.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// Iteration times of the jobs that the predictor can price (`TrainingJobs`), each computed when a gang is
/// first at such a site: `iteration_time` of its type where it is packed, `spread_iteration_time` where it is
/// not. Over GPUs that no plan divides a job has the plan of the next smaller number of `curve_gpu_counts`;
/// where there is none at all, on this type or on the one by which it is priced, it is as fast as priced.
class PredictedSpeeds final : public GangSpeedModel {
 public:
  /// Jobs that have a curve already, one that came with their trace, are left out. The curves outlive the
  /// speeds; nobody else uses them meanwhile. The workload may go, but `JobId` keep their meaning.
  PredictedSpeeds(const Workload& workload, CurvesByType curves);

  /// Jobs whose speeds it knows.
  std::int64_t num_jobs() const { return num_jobs_; }
  /// Of these, jobs that may get GPUs of a type on which their model has no plan on as many as they ask for
  /// or fewer.
  std::int64_t num_without_plan(const Workload& workload);

  bool knows(JobId job) const override { return kind_of_[job.value] != kNoKind; }
  GangSpeed at(JobId job, GpuCount num_gpus, const GangSite& site) override;
  double slowest(JobId job, GpuCount num_gpus, bool may_spread) override;

 private:
  static constexpr std::uint32_t kNoKind = ~std::uint32_t{0};

  /// Jobs alike but for their number of GPUs.
  struct Kind {
    std::string model;
    std::int32_t global_batch = 0;
    std::vector<std::uint32_t> types;  ///< that it may use, the one by which it is priced first
  };
  struct Key {
    std::uint32_t kind = 0;
    GpuCount num_gpus{0};
    GangSite site{};
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::optional<Nanoseconds> iteration_time(const Kind& kind, GpuCount num_gpus, const GangSite& site);
  /// `at`, for whoever holds the lock.
  GangSpeed look_up(std::uint32_t kind, GpuCount num_gpus, const GangSite& site);

  CurvesByType curves_;
  std::vector<std::uint32_t> kind_of_;  ///< by `JobId`
  std::vector<Kind> kinds_;
  std::int64_t num_jobs_ = 0;
  std::mutex mutex_;  ///< of the curves and of what follows
  std::map<Key, GangSpeed> speeds_;
};

}  // namespace vtrain
