/// The largest model worth training in a given time on given GPUs: Chinchilla's law with the predicted
/// iteration time in place of the peak rate.
///
/// Hoffmann et al., "Training Compute-Optimal Large Language Models", 2022: with C FLOPs a model of N
/// parameters is best trained on D = 20 N tokens (table 3), where C = 6 N D. Of a mixture of experts N is the
/// parameters that a token passes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/model/model.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

/// What there is to train with, and the law.
struct TrainingBudget {
  GpuCount num_gpus{0};
  Seconds time{0};
  FlopsPerSecond peak_rate{0};  ///< of one GPU
  double tokens_per_parameter = 20;
};

/// Active parameters of the model that the peak rate promises: N with 6 N (20 N) = GPUs x peak x time.
double promised_parameters(const TrainingBudget& budget);

/// Shapes of GPT models from 12 layers of hidden size 512 to 160 of 25,600, by rising parameters. Hidden
/// sizes are multiples of 512 with heads of 64 up to 2,560, then of 1,024 with heads of 128, so that every
/// number of heads is a multiple of 8. For each there are the multiples of 4 layers that differ by at most a
/// quarter from the depth of the published models, interpolated between them by hidden size: GPT-3 (Brown et
/// al., 2020, table 2.1) up to 5,120, Megatron-LM (Narayanan et al., SC'21, table 1) above. Sequence of 2,048
/// tokens, vocabulary of 51,200.
std::vector<TransformerModel> gpt_ladder();

/// Models of the family of `model`, from a hidden size of 512 to 25,600, by rising active parameters, `model`
/// among them. Kept are the sequence length, the vocabulary, the size of a head, the ratios of MLP (to
/// multiples of 128 where its size is one), experts' inner sizes and query ranks to the hidden size, the
/// number of experts, and where heads share keys and values the number of those (as Llama 3 does from 8B to
/// 405B). Heads are multiples of 8, or of what divides the model's own, an eighth apart at most. Depths are
/// as in `gpt_ladder`, relative to the published depth at the model's own hidden size.
///
/// Errors: `InvalidInput` for a hybrid, whose pattern says what every layer is.
Result<std::vector<TransformerModel>> family_ladder(const TransformerModel& model);

/// Sequences an iteration for a model of this size: those of the published models, interpolated by the
/// logarithm of the parameters, of as many tokens (theirs have sequences of 2,048), as the nearest multiple
/// (at least one) of `multiple` times a power of two: the largest of which there are eight, so that the batch
/// divides in many ways.
std::int64_t usual_global_batch(double num_parameters, std::int64_t sequence_length, std::int64_t multiple);

/// A model of the ladder, trained on its compute-optimal tokens with its best plan.
struct Rung {
  TransformerModel model{};
  double tokens = 0;
  Seconds time_at_peak{0};  ///< 6 N D over the peak rate, N the active parameters
  RankedPlan plan{};
  Seconds time{0};  ///< predicted

  /// The part of the peak rate that training gets: `time_at_peak / time`.
  double utilization() const { return time_at_peak / time; }
};

/// What came of the ladder.
struct ScalingAnswer {
  /// Models with a plan, by rising active parameters: from a few smaller than the best up to what the peak
  /// promises.
  std::vector<Rung> rungs{};
  std::size_t best = 0;      ///< position of the largest that is trained in time
  bool ladder_ends = false;  ///< no model of the ladder is too large: larger ones might be trained in time
  /// Models larger than the best that the peak rate would train in time, but that do not divide or fit.
  std::int64_t num_larger_without_plan = 0;
  std::string why_without_plan{};  ///< of the smallest of them
};

/// Finds the best plan of a model at a global batch.
using FindPlan = std::function<Result<RankedPlan>(const TransformerModel&, std::int64_t global_batch)>;

/// Looks for the largest model of a ladder, by rising active parameters, that is trained within the budget.
/// `global_batch` 0 takes the usual one, a multiple of `batch_multiple`. Models that do not fit or divide are
/// passed over, and so are those whose training is less than one batch.
///
/// Errors: `Failed` if no model is trained in time; the field is `num_gpus` where none has a plan, else
/// `days`.
Result<ScalingAnswer> scale_model(const TrainingBudget& budget, std::span<const TransformerModel> ladder,
                                  std::int64_t global_batch, std::int64_t batch_multiple,
                                  const FindPlan& find_plan);

}  // namespace vtrain
