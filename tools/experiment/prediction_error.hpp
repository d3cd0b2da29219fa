/// `--prediction-error`: jobs whose true run times differ from the predicted ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/jobs/run_time_errors.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// The distribution of errors.
struct PredictionErrorRule {
  enum class Kind : std::uint8_t {
    None,       ///< jobs run as predicted
    Empirical,  ///< errors of the validated runs (`error_parts`)
    LogNormal,  ///< logarithms are normal with mean 0
  };
  Kind kind = Kind::None;
  double sigma = 0;  ///< standard deviation of the logarithms under `LogNormal`

  /// Reads `none`, `empirical` or `lognormal:SIGMA` (0 to 2).
  static Result<PredictionErrorRule> parse(std::string_view text);
};

/// Errors drawn by seed for the jobs that the predictor can price (`TrainingJobs`). The logarithm of a factor
/// is the sum of two independent draws: one of the job, and one of model, global batch, number of GPUs and
/// type, which tell the plan. Under `LogNormal` each has half of the variance. Under `Empirical` a job draws
/// what the runs of one source have in common, and a plan the difference of one run from its source.
class DrawnRunTimeErrors final : public RunTimeErrors {
 public:
  /// `rule` is not `None`. Draws depend on the seed, the names of jobs and models, and the profiles of
  /// `curves`, whose types are those of the cluster. Neither workload nor curves need outlive this object.
  DrawnRunTimeErrors(const PredictionErrorRule& rule, const Workload& workload, const CurvesByType& curves,
                     std::uint64_t seed);

  bool knows(JobId job) const override { return kind_of_[job.value] != kNoKind; }
  double time_factor(JobId job, GpuCount num_gpus, std::uint32_t gpu_type) const override;

  /// Factor of each job on the GPUs that it requests, on the type that prices it; 1 for jobs without an
  /// error.
  std::vector<double> factors_on_request(const Workload& workload) const;

 private:
  static constexpr std::uint32_t kNoKind = ~std::uint32_t{0};

  /// Errors of the runs of one kind of model on one type, or the normal distribution.
  struct Source {
    std::vector<double> weights{};
    std::vector<double> common{};
    std::vector<double> own{};
  };
  /// Jobs of one model and global batch.
  struct Kind {
    std::string name{};                  ///< names the stream of its plans
    std::vector<std::size_t> sources{};  ///< by type
  };

  /// Draws the part of a job, or that of a plan.
  double draw(std::string_view stream, std::size_t source, bool of_job) const;

  PredictionErrorRule rule_;
  std::uint64_t seed_;
  std::vector<std::string> profiles_;  ///< by type
  std::vector<Source> sources_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> kind_of_;  ///< by `JobId`
  std::vector<std::uint32_t> type_of_;  ///< type that prices the job, by `JobId`
  std::vector<double> of_jobs_;         ///< [jobs][types] part of the job
};

}  // namespace vtrain
