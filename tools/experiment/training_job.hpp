/// A training job as a user asks for it, priced on a cluster.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/pricing.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

/// A training job as a user asks for it. Names of files are refused.
struct TrainingJobSpec {
  std::string model{};            ///< name of a known model
  std::int64_t global_batch = 0;  ///< sequences an iteration; 0: the published one, or the usual one
  std::string tokens{};           ///< tokens to train on, such as `300B`; empty: `iterations` counts
  std::int64_t iterations = 0;    ///< iterations, where `tokens` is empty
  std::string tenant{};           ///< tenant whose share it uses; empty: none
  std::string gpu_type{};         ///< type of GPUs that it must have; empty: any
  std::int64_t gpus = 0;          ///< GPUs that it requests; 0: the fewest that suffice alone
  bool rigid = false;             ///< true if it can't train on other numbers of GPUs
};

/// A training job with its run time and, if it is elastic, its speeds.
struct PricedJob {
  Workload workload{};  ///< the job alone
  TransformerModel model{};
  double tokens = 0;           ///< tokens that it trains on
  bool assumes_batch = false;  ///< no global batch was named or published
  double slowest = 1;          ///< run time over the predicted one in the slowest twentieth of validated runs

  const Job& job() const { return workload.jobs.front(); }
  Job& job() { return workload.jobs.front(); }
};

/// Checks that a job names a model and its work.
Result<void> check_training_job(const TrainingJobSpec& spec);

/// Reads and prices a job that comes at `submit`, with a deadline or `Job::kNoDeadline`. `elastic`: policy
/// may resize jobs. Errors name options of `vtrain admit`.
Result<PricedJob> price_training_job(const TrainingJobSpec& spec, const ClusterSpec& cluster,
                                     ClusterPricing& pricing, bool elastic, SimTime submit, SimTime deadline);

/// Iterations that train a model on so many tokens, rounded up.
std::int64_t iterations_for(double tokens, const TransformerModel& model, std::int64_t global_batch);

}  // namespace vtrain
