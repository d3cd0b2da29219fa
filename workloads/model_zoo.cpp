#include "workloads/model_zoo.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kGpt3 =
    "Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020, table 2.1; batch in tokens / 2048";
constexpr std::string_view kGpt3Heads =
    "Brown et al., NeurIPS 2020, table 2.1; 16 heads of 128 (the table's 24 do not divide 2048)";
constexpr std::string_view kGpt3Hidden =
    "Brown et al., NeurIPS 2020, table 2.1; hidden size 40 x 128 = 5120 (the table prints 5140)";
constexpr std::string_view kMegatron =
    "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC'21, table 1";
constexpr std::string_view kMtNlg =
    "Smith et al., Using DeepSpeed and Megatron to Train Megatron-Turing NLG 530B, 2022, section 3";

// name, layers, hidden size, heads, sequence, vocabulary, global batch, source
constexpr std::array kModels = {
    ZooModel{"gpt3-125m", 12, 768, 12, 2048, 50257, 256, kGpt3},
    ZooModel{"gpt3-350m", 24, 1024, 16, 2048, 50257, 256, kGpt3},
    ZooModel{"gpt3-760m", 24, 1536, 16, 2048, 50257, 256, kGpt3},
    ZooModel{"gpt3-1.3b", 24, 2048, 16, 2048, 50257, 512, kGpt3Heads},
    ZooModel{"gpt3-2.7b", 32, 2560, 32, 2048, 50257, 512, kGpt3},
    ZooModel{"gpt3-6.7b", 32, 4096, 32, 2048, 50257, 1024, kGpt3},
    ZooModel{"gpt3-13b", 40, 5120, 40, 2048, 50257, 1024, kGpt3Hidden},
    ZooModel{"gpt3-175b", 96, 12288, 96, 2048, 50257, 1536, kGpt3},
    ZooModel{"megatron-1.7b", 24, 2304, 24, 2048, 51200, 512, kMegatron},
    ZooModel{"megatron-3.6b", 30, 3072, 32, 2048, 51200, 512, kMegatron},
    ZooModel{"megatron-7.5b", 36, 4096, 32, 2048, 51200, 512, kMegatron},
    ZooModel{"megatron-18.4b", 40, 6144, 48, 2048, 51200, 1024, kMegatron},
    ZooModel{"megatron-39.1b", 48, 8192, 64, 2048, 51200, 1536, kMegatron},
    ZooModel{"megatron-76.1b", 60, 10240, 80, 2048, 51200, 1792, kMegatron},
    ZooModel{"megatron-145.6b", 80, 12288, 96, 2048, 51200, 2304, kMegatron},
    ZooModel{"megatron-310.1b", 96, 16384, 128, 2048, 51200, 2160, kMegatron},
    ZooModel{"megatron-529.6b", 105, 20480, 128, 2048, 51200, 2520, kMegatron},
    ZooModel{"megatron-1008b", 128, 25600, 160, 2048, 51200, 3072, kMegatron},
    ZooModel{"mtnlg-530b", 105, 20480, 128, 2048, 50257, 1920, kMtNlg},
};

}  // namespace

TransformerModel ZooModel::model() const {
  return {.name = std::string(name),
          .num_layers = num_layers,
          .hidden_size = hidden_size,
          .num_heads = num_heads,
          .sequence_length = sequence_length,
          .vocab_size = vocab_size};
}

std::span<const ZooModel> model_zoo() {
  return kModels;
}

Result<ZooModel> find_model(std::string_view name) {
  const auto found =
      std::find_if(kModels.begin(), kModels.end(), [name](const ZooModel& m) { return m.name == name; });
  if (found != kModels.end()) return *found;
  std::vector<std::string_view> names;
  for (const ZooModel& model : kModels)
    names.push_back(model.name);
  const std::string_view nearest = nearest_name(name, names);
  return fail({.kind = ErrorKind::NotFound,
               .field = "model",
               .message = nearest.empty()
                              ? fmt::format("unknown model '{}'; known are {}", name, list_names(names))
                              : fmt::format("unknown model '{}'; did you mean '{}'?", name, nearest)});
}

}  // namespace vtrain
