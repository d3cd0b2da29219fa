#include "workloads/validation/neusight_runs.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

struct NamedModel {
  std::string_view name;
  std::string_view zoo_name;
};

constexpr std::array kModels = {
    NamedModel{"bert", "bert-base"},      NamedModel{"bertlarge", "bert-large"},
    NamedModel{"gpt2large", "gpt2-774m"}, NamedModel{"gpt2med", "gpt2-355m"},
    NamedModel{"gpt2xl", "gpt2-1.5b"},    NamedModel{"gpt313", "gpt3-13b"},
    NamedModel{"gpt327", "gpt3-2.7b"},    NamedModel{"gpt367", "gpt3-6.7b"},
    NamedModel{"opt", "opt-125m"},        NamedModel{"opt13", "opt-1.3b"},
};

}  // namespace

std::optional<TransformerModel> neusight_model(std::string_view name) {
  // Wider than the GPT-3 XL of the paper, which has 2048 columns.
  if (name == "gpt3xl") {
    return TransformerModel{.name = "gpt3_xl of NeuSight",
                            .num_layers = 24,
                            .hidden_size = 3072,
                            .num_heads = 24,
                            .sequence_length = 2048};
  }
  const auto found =
      std::find_if(kModels.begin(), kModels.end(), [name](const NamedModel& m) { return m.name == name; });
  if (found == kModels.end()) return std::nullopt;
  return find_model(found->zoo_name)->model();
}

void complete_neusight_run(MeasuredCase& measured) {
  ParallelPlan& plan = measured.plan;
  if (!measured.has_micro_batch && plan.global_batch > 0) {
    plan.micro_batch = std::max<std::int64_t>(1, plan.global_batch / plan.data);
    measured.has_micro_batch = true;
    measured.assumed.push_back(
        fmt::format("micro-batch: {}, all sequences of a GPU at once", plan.micro_batch));
  }
  if (plan.num_gpus() > GpuCount(1)) {
    measured.assumed.push_back("framework: Megatron-LM in single precision, which Accelerate runs");
    return;
  }
  // The loss's backward pass writes zeros (4 bytes a logit), then reads these and the logarithms of the
  // softmax and writes the gradient (12).
  constexpr double kLossBackward = 16;
  measured.stack.loss_bytes_per_logit = kLossBackward;
  measured.stack.loss_conversion_bytes = 0;
  measured.stack.updates_weights = false;
  measured.assumed.push_back("timed: forward and backward pass, without the loss and the optimizer");
}

}  // namespace vtrain
