/// The largest model worth training in a given time on given GPUs: Chinchilla's law with predicted iteration
/// times instead of the peak rate.
///
/// Hoffmann et al., "Training Compute-Optimal Large Language Models", 2022: with C FLOPs a model of N
/// parameters is best trained on D = 20 N tokens (table 3), where C = 6 N D. For a mixture of experts N
/// counts the parameters that a token passes.
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

/// GPUs and time for training, and the law's constant.
struct TrainingBudget {
  GpuCount num_gpus{0};
  Seconds time{0};
  FlopsPerSecond peak_rate{0};  ///< peak rate of one GPU
  double tokens_per_parameter = 20;
};

/// Active parameters of the model that would be trained at the peak rate: N with 6 N (20 N) = GPUs x peak x
/// time.
double promised_parameters(const TrainingBudget& budget);

/// Shapes of GPT models from 12 layers of hidden size 512 to 160 of 25,600, by rising parameters. Hidden
/// sizes are multiples of 512 with heads of 64 up to 2,560, then of 1,024 with heads of 128. Every number of
/// heads is a multiple of 8. Depths are the multiples of 4 layers within a quarter of the published depth,
/// interpolated by hidden size. Published are GPT-3 (Brown et al., 2020, table 2.1) up to 5,120 and
/// Megatron-LM (Narayanan et al., SC'21, table 1) above. Sequence of 2,048 tokens, vocabulary of 51,200.
std::vector<TransformerModel> gpt_ladder();

/// Models of the family of `model`, from a hidden size of 512 to 25,600, by rising active parameters; `model`
/// is one of them. They keep its sequence length, vocabulary, size of a head and number of experts. They keep
/// the ratios of the MLP (rounded to multiples of 128 if its size is one), of experts' inner sizes and of
/// query ranks to the hidden size. If heads share keys and values, their number stays (as in Llama 3 from 8B
/// to 405B). Heads are multiples of 8, or of a divisor of the model's own number, at most an eighth apart.
/// Depths are as in `gpt_ladder`, relative to the published depth at the model's own hidden size.
///
/// Errors: `InvalidInput` for a hybrid, whose pattern fixes the kind of every layer.
Result<std::vector<TransformerModel>> family_ladder(const TransformerModel& model);

/// Usual sequences per iteration for a model of this size. The tokens of the published models (sequences of
/// 2,048) are interpolated by the logarithm of the parameters. The result is the nearest multiple (at least
/// one) of `multiple` times a power of two: the largest that fits the batch eight times, so that it divides
/// in many ways.
std::int64_t usual_global_batch(double num_parameters, std::int64_t sequence_length, std::int64_t multiple);

/// A model of the ladder, trained on its compute-optimal tokens with its best plan.
struct Rung {
  TransformerModel model{};
  double tokens = 0;
  Seconds time_at_peak{0};  ///< 6 N D over the peak rate, N the active parameters
  RankedPlan plan{};
  Seconds time{0};  ///< predicted training time

  /// Part of the peak rate that training reaches: `time_at_peak / time`.
  double utilization() const { return time_at_peak / time; }
};

/// Results over the models of a ladder.
struct ScalingAnswer {
  /// Models with a plan, by rising active parameters: from a few smaller than the best up to
  /// `promised_parameters`.
  std::vector<Rung> rungs{};
  std::size_t best = 0;      ///< position of the largest model that is trained in time
  bool ladder_ends = false;  ///< no model of the ladder is too large; larger ones might be trained in time
  /// Number of models larger than the best that would be trained in time at the peak rate, but do not divide
  /// or fit.
  std::int64_t num_larger_without_plan = 0;
  std::string why_without_plan{};  ///< the reason for the smallest of them
};

/// Function that finds the best plan of a model at a global batch.
using FindPlan = std::function<Result<RankedPlan>(const TransformerModel&, std::int64_t global_batch)>;

/// Looks for the largest model of a ladder, by rising active parameters, that is trained within the budget.
/// `global_batch` 0 takes the usual one, a multiple of `batch_multiple`. Skips models that do not fit or
/// divide, and those whose training is less than one batch.
///
/// Errors: `Failed` if no model is trained in time; the field is `num_gpus` if none has a plan, else `days`.
Result<ScalingAnswer> scale_model(const TrainingBudget& budget, std::span<const TransformerModel> ladder,
                                  std::int64_t global_batch, std::int64_t batch_multiple,
                                  const FindPlan& find_plan);

}  // namespace vtrain
