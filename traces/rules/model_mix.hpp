/// Gives jobs LLM models to train, by a stated and seeded rule.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/result.hpp"
#include "core/base/rng.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// A model that jobs can be given.
struct TrainableModel {
  std::string name{};
  std::int64_t num_parameters = 0;
  std::int64_t global_batch = 0;  ///< sequences per iteration in its published training
};

/// Finds a model by its name. The message of the error names the nearest known model.
using FindModel = std::function<Result<TrainableModel>(std::string_view name)>;

/// The time of one iteration of a known model with a global batch on this many GPUs of the job's type
/// (`Job::gpu_type`). An error means that no plan fits. Called once for each combination in use.
using IterationTime = std::function<Result<Nanoseconds>(std::string_view model, std::int32_t global_batch,
                                                        GpuCount num_gpus, GpuTypeId gpu_type)>;

/// The predictor's models, the only models whose jobs it can price.
struct ModelCatalog {
  FindModel find{};
  IterationTime iteration_time{};
};

/// A model that jobs of one size may train.
struct ModelChoice {
  GpuCount num_gpus{1};
  std::string_view model;  ///< name that every catalogue has
  std::int32_t global_batch = 0;
};

/// The choices of the mix `zoo` by size; all choices of one size are equally likely. Each model has a plan
/// that fits in the memory of this many GPUs of 80 GB.
std::span<const ModelChoice> model_choices();

/// A rule for the models that jobs train.
struct ModelMix {
  enum class Kind : std::uint8_t {
    None,     ///< jobs keep their models
    Zoo,      ///< choices of `model_choices`
    Lingjun,  ///< named LLM jobs of Alibaba's Lingjun cluster, 2023, by number of GPUs
    One,      ///< one model for all
  };
  Kind kind = Kind::None;
  std::string model{};            ///< the model of `One`
  std::int32_t global_batch = 0;  ///< global batch of `One`; 0: chosen by the number of GPUs

  /// Reads `none`, `zoo`, `lingjun`, or `model=NAME`, with or without `,global-batch=SEQUENCES`. `find` looks
  /// up the name.
  static Result<ModelMix> parse(std::string_view text, const FindModel& find);
  /// Text for people: `LLM models by number of GPUs as in Alibaba Lingjun 2023`.
  std::string describe() const;
};

/// Draws a model for one job after another. The global batch, if the mix has none, is 16 sequences per GPU,
/// at most the published one but at least one per GPU. It is halved as long as an iteration takes more than a
/// minute. A drawn model without a plan on the job's GPUs is replaced by the next smaller model with a plan.
class ModelAssigner {
 public:
  /// `models` must outlive the object.
  ModelAssigner(ModelMix mix, std::uint64_t seed, const ModelCatalog& models);
  ModelAssigner(const ModelAssigner&) = delete;
  ModelAssigner& operator=(const ModelAssigner&) = delete;

  /// Gives a job with a duration a model, a global batch and iterations. The iterations, at least one, come
  /// nearest to the duration, which becomes iterations x iteration time. Error: no model of the mix has a
  /// plan on these GPUs.
  Result<void> assign(Workload& workload, Job& job);

  /// Number of jobs that got a smaller model than the drawn one.
  std::int64_t num_replaced() const { return num_replaced_; }

 private:
  /// The cost of a model on a number of GPUs.
  struct Price {
    std::int32_t global_batch = 0;
    Nanoseconds iteration{0};
  };

  /// Draws a model and its global batch, which is 0 if the mix has none.
  std::pair<std::string_view, std::int32_t> draw(GpuCount num_gpus);
  Result<Price> price(std::string_view model, std::int32_t global_batch, const Job& job);
  Result<Price> find_price(std::string_view model, std::int32_t global_batch, const Job& job) const;

  ModelMix mix_;
  const ModelCatalog& models_;
  RandomStream random_;
  std::map<std::tuple<std::string_view, std::int32_t, GpuCount, GpuTypeId>, Result<Price>> prices_;
  std::int64_t num_replaced_ = 0;
};

/// Assigns models to the jobs that do not train a known model already. Jobs on shared GPUs, and jobs on GPUs
/// for which no model of the mix has a plan, keep theirs. Returns a sentence on this, with the change of the
/// work by whole iterations; empty for `None`. Errors name a job without a duration, or the first job if no
/// job could get a model.
Result<std::string> assign_models(Workload& workload, const ModelMix& mix, std::uint64_t seed,
                                  const ModelCatalog& models);

}  // namespace vtrain
