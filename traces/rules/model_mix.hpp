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
  std::int64_t global_batch = 0;  ///< sequences an iteration in its published training
};

/// Finds a model by its name. The error carries a message that names the nearest known model.
using FindModel = std::function<Result<TrainableModel>(std::string_view name)>;

/// The time of one iteration of a known model at a global batch on this many GPUs of the type that a job
/// asks for (`Job::gpu_type`). An error: there is no plan that fits. Called once for each combination that
/// occurs.
using IterationTime = std::function<Result<Nanoseconds>(std::string_view model, std::int32_t global_batch,
                                                        GpuCount num_gpus, GpuTypeId gpu_type)>;

/// Models, as the predictor knows them: it prices jobs of these, and no others.
struct ModelCatalog {
  FindModel find{};
  IterationTime iteration_time{};
};

/// A model that jobs of one size may train.
struct ModelChoice {
  GpuCount num_gpus{1};
  std::string_view model;  ///< a name that every catalogue has
  std::int32_t global_batch = 0;
};

/// The choices of the mix `zoo`, all of one size equally likely, by size. On this many GPUs of 80 GB each
/// model has a plan that fits in memory.
std::span<const ModelChoice> model_choices();

/// A rule for the models that jobs train.
struct ModelMix {
  enum class Kind : std::uint8_t {
    None,     ///< jobs keep what they have
    Zoo,      ///< `model_choices`
    Lingjun,  ///< the named LLM jobs of Alibaba's Lingjun cluster, 2023, by number of GPUs
    One,      ///< one model for all
  };
  Kind kind = Kind::None;
  std::string model{};            ///< with `One` alone
  std::int32_t global_batch = 0;  ///< with `One`; 0: as many sequences as suit the number of GPUs

  /// `none`, `zoo`, `lingjun`, or `model=NAME`, with or without `,global-batch=SEQUENCES`.
  /// `find` knows the names.
  static Result<ModelMix> parse(std::string_view text, const FindModel& find);
  /// For people: `LLM models by number of GPUs as in Alibaba Lingjun 2023`.
  std::string describe() const;
};

/// Draws a model for one job after another. Where a mix says no global batch it is 16 sequences a GPU, at
/// most the published one but at least one a GPU, halved as long as an iteration takes more than a minute. A
/// drawn model that has no plan on the job's GPUs is replaced by the next smaller one that has.
class ModelAssigner {
 public:
  /// `models` must outlive the object.
  ModelAssigner(ModelMix mix, std::uint64_t seed, const ModelCatalog& models);
  ModelAssigner(const ModelAssigner&) = delete;
  ModelAssigner& operator=(const ModelAssigner&) = delete;

  /// Gives the job, which has a duration, a model, a global batch and as many iterations, at least one, as
  /// come nearest to its duration, which becomes iterations x iteration time. Errors: no model of the mix has
  /// a plan on these GPUs.
  Result<void> assign(Workload& workload, Job& job);

  /// Number of jobs that got a smaller model than the one drawn.
  std::int64_t num_replaced() const { return num_replaced_; }

 private:
  /// The cost of a model on a number of GPUs.
  struct Price {
    std::int32_t global_batch = 0;
    Nanoseconds iteration{0};
  };

  /// A model and the global batch that goes with it; 0 when the mix says none.
  std::pair<std::string_view, std::int32_t> draw(GpuCount num_gpus);
  Result<Price> price(std::string_view model, std::int32_t global_batch, const Job& job);
  Result<Price> find_price(std::string_view model, std::int32_t global_batch, const Job& job) const;

  ModelMix mix_;
  const ModelCatalog& models_;
  RandomStream random_;
  std::map<std::tuple<std::string_view, std::int32_t, GpuCount, GpuTypeId>, Result<Price>> prices_;
  std::int64_t num_replaced_ = 0;
};

/// Assigns models to the jobs that do not train a known model already; jobs on shared GPUs, and those on
/// whose GPUs nothing of the mix has a plan, keep theirs. Returns a sentence that says so, and by how much
/// whole iterations change the work; empty for `None`. Errors name the job: it has no duration, or it is the
/// first job where no job could be given a model.
Result<std::string> assign_models(Workload& workload, const ModelMix& mix, std::uint64_t seed,
                                  const ModelCatalog& models);

}  // namespace vtrain
