#include "docs/measured/normalise/measured_sources.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "docs/measured/normalise/recorded_words.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/stack/stack.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {
namespace {

constexpr std::array kSources = {
    MeasuredSource{"Composer", "mpt", "fsdp-eager", Sharding::Full},
    MeasuredSource{"LLM Foundry", "mpt", "fsdp-eager", Sharding::Full},
    MeasuredSource{"Megatron-Bridge", "mbridge", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo Megatron-Bridge", "mbridge", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo AutoModel", "automodel", "nemo-automodel", Sharding::Full},
    MeasuredSource{"NeMo", "dgxc", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"torchtitan", "torchtitan", "torchtitan", Sharding::Full},
    MeasuredSource{"PyTorch 2.1 eager (HF transformers)", "transformers", "transformers-eager",
                   Sharding::None},
    // Framework that profiler/validation writes.
    MeasuredSource{"PyTorch compiled", "pytorch-compiled", "pytorch-compiled", Sharding::None},
    MeasuredSource{"PyTorch eager, unfused attention", "pytorch-unfused", "pytorch-unfused", Sharding::None},
    MeasuredSource{"PyTorch eager", "pytorch-eager", "pytorch-eager", Sharding::None},
    MeasuredSource{"DeepSpeed", "mtnlg", "deepspeed-megatron", Sharding::None},
    MeasuredSource{"Megatron-DeepSpeed", "mtnlg", "deepspeed-megatron", Sharding::None},
    MeasuredSource{"Megatron-LM 23e00ed09", "simumax", "megatron-core", Sharding::Optimizer},
    MeasuredSource{"Megatron-Core", "megatron24", "megatron-core", Sharding::Optimizer},
    MeasuredSource{"MCore", "megatron24", "megatron-core", Sharding::Optimizer},
};

/// NeMo of 2024, whose recipes are those of its launcher.
constexpr MeasuredSource kNemo24{"NeMo", "nemo", "megatron-bridge", Sharding::Optimizer};

/// Megatron-LM from a year on, the latest first; 0: where no year is named.
struct MegatronRelease {
  int first_year;
  MeasuredSource source;
};

constexpr int kFirstYear = 2019;
constexpr int kLastYear = 2039;  // 2048 is a sequence length

constexpr std::array kMegatronReleases = {
    MegatronRelease{2024,
                    {.family = "megatron24", .stack = "megatron-core", .sharding = Sharding::Optimizer}},
    MegatronRelease{2022, {.family = "korthikanti22", .stack = "megatron-2022"}},
    MegatronRelease{2021, {.family = "megatron21", .stack = "megatron-2021"}},
    MegatronRelease{kFirstYear, {.family = "megatron20", .stack = "megatron-2021"}},
    MegatronRelease{0, {.family = "megatron", .stack = "megatron-2021"}},
};

/// The first year of Megatron-LM that a text names.
std::optional<int> year_in(std::string_view text) {
  std::istringstream words(plain_words(text));
  for (std::string word; words >> word;) {
    const auto year = parse_integer(word, kFirstYear, kLastYear);
    if (year) return static_cast<int>(*year);
  }
  return std::nullopt;
}

/// True if a text of `plain_words` has the word.
bool has_word(std::string_view text, std::string_view word) {
  const std::vector<std::string_view> words = split(text, ' ');
  return std::ranges::find(words, word) != words.end();
}

/// The year of a Megatron-LM that names none. Sequence parallelism came with that of 2022 (Korthikanti et
/// al.), 8 bits with Transformer Engine.
int likely_year(std::string_view framework, const RunFacts& run) {
  const std::string text = plain_words(framework);
  if (run.is_in_8_bits || has_word(text, "te") || has_word(text, "core") ||
      contains(text, "transformer engine"))
    return kMegatronReleases.front().first_year;
  return run.has_sequence_parallelism || contains(text, "korthikanti") ? 2022 : 0;
}

const MeasuredSource* find_megatron(std::string_view framework, const RunFacts& run) {
  const auto named = year_in(framework);
  const int year = named ? *named : likely_year(framework, run);
  return &std::find_if(kMegatronReleases.begin(), kMegatronReleases.end(),
                       [year](const MegatronRelease& release) { return year >= release.first_year; })
              ->source;
}

/// NeuSight's runs on several GPUs: Accelerate hands the model over to Megatron-LM.
constexpr MeasuredSource kAccelerate{"", "accelerate", "megatron-2021", Sharding::None};

/// GPUs by the first word of their names.
constexpr std::array<std::string_view, 8> kGpus = {"v100", "a100", "h100",  "h200",
                                                   "b200", "b300", "gb200", "gb300"};

/// `h100` of `8xh100`.
std::string_view without_count(std::string_view word) {
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  return digits > 0 && digits < word.size() && word[digits] == 'x' ? word.substr(digits + 1) : word;
}

/// H100 with 96 GB of HBM2e and 500 W: those of all published runs of torchtitan on H100
/// (benchmarks/llama3_h100_202412_torchtitan.md, asyncTP_llama3_h100_2025-06_torchtitan.md).
bool has_limited_power(std::string_view letters, const MeasuredSource* source) {
  return contains(letters, "500w") || contains(letters, "hbm2e") || contains(letters, "96gb") ||
         (source != nullptr && source->family == "torchtitan" && !contains(letters, "700w"));
}

/// True if a record says that the run was compiled. Caveats may concern other runs, so only words that can
/// hardly do so count.
bool says_compiled(const TorchTitanRun& run) {
  return mentions(run.name + " " + run.precision, "compile") || mentions(run.page, "compile") ||
         mentions(run.page, "async tp") || mentions(run.caveats, "torch compile") ||
         mentions(run.caveats, "compiled");
}

/// A model by the name of its configuration in NeuSight, in small letters and digits.
struct NeuSightModel {
  std::string_view name;
  std::string_view zoo_name;
};

constexpr std::array kNeuSightModels = {
    NeuSightModel{"bert", "bert-base"},      NeuSightModel{"bertlarge", "bert-large"},
    NeuSightModel{"gpt2large", "gpt2-774m"}, NeuSightModel{"gpt2med", "gpt2-355m"},
    NeuSightModel{"gpt2xl", "gpt2-1.5b"},    NeuSightModel{"gpt313", "gpt3-13b"},
    NeuSightModel{"gpt327", "gpt3-2.7b"},    NeuSightModel{"gpt367", "gpt3-6.7b"},
    NeuSightModel{"opt", "opt-125m"},        NeuSightModel{"opt13", "opt-1.3b"},
};

}  // namespace

const MeasuredSource* find_source(std::string_view framework, const RunFacts& run) {
  const std::string letters = plain_letters(framework);
  const auto begins = [&letters](std::string_view owner) {
    return std::ranges::find_if(kSources, [&](const MeasuredSource& source) {
      return letters.starts_with(std::string(owner) + plain_letters(source.framework));
    });
  };
  const MeasuredSource* found = kSources.end();
  // Some records say whose it is.
  for (const std::string_view owner : {"", "nvidia", "nvcrionvidia", "mosaicml", "pytorch"}) {
    if (found == kSources.end()) found = begins(owner);
  }
  if (found == kSources.end())
    return letters.starts_with("megatronlm") || letters.starts_with("nvidiamegatronlm")
               ? find_megatron(framework, run)
               : nullptr;
  if (found->family == "dgxc" && named_release(framework).value_or(25) < 25) return &kNemo24;
  return found->family == "transformers" && run.has_several_gpus ? &kAccelerate : found;
}

std::string_view find_profile(std::string_view gpu, const MeasuredSource* source) {
  const std::string words = plain_words(gpu);
  const std::vector<std::string_view> list = split(words, ' ');
  const auto named = std::ranges::find_first_of(list, kGpus, {}, without_count);
  if (named == list.end()) return {};
  const std::string_view model = without_count(*named);
  const std::string letters = plain_letters(gpu);
  const bool is_pcie = has_unnegated_part(words, "pcie");
  // The NVL cards of Hopper are no SXM modules; NVL72 is the rack of GB200 and GB300.
  if (has_word(words, "nvl") && !model.starts_with('g')) return {};
  if (model == "v100") return is_pcie ? "v100-pcie" : contains(letters, "sxm3") ? "v100-sxm3" : "";
  if (model == "a100") {
    const bool is_small = std::ranges::any_of(
        list, [](std::string_view word) { return word == "40gb" || word == "40g" || word == "40"; });
    if (is_pcie) return is_small ? "a100-pcie-40gb" : "a100-pcie";
    return is_small ? "a100-40gb" : "a100";
  }
  if (is_pcie) return {};
  if (model == "h100") return has_limited_power(letters, source) ? "h100-500w" : "h100";
  return *std::ranges::find(kGpus, model);
}

Stack torchtitan_stack(const TorchTitanRun& run, std::vector<std::string>& assumed) {
  constexpr int kFirstCompiledLoss = 202504;
  const std::string words = run.name + " " + run.precision + " " + run.caveats;
  const bool is_asynchronous =
      run.is_asynchronous.value_or(mentions(words, "async tp") && !mentions(words, "vanilla"));
  bool compiles = run.compiles.value_or(is_asynchronous || says_compiled(run));
  // Its page on 8 bits: "float8 with torch.compile".
  const bool is_open = !run.compiles && !contains(plain_words(run.name + " " + run.caveats), "compile");
  if (!compiles && is_open && named_precision(run.precision) == Precision::Fp8) {
    compiles = true;
    assumed.emplace_back("stack: compiled, as 8 bits ask for");
  }
  std::string_view name = "torchtitan-eager";
  if (compiles) name = month_in(run.page).value_or(0) < kFirstCompiledLoss ? "torchtitan-2024" : "torchtitan";
  if (mentions(words, "row wise")) name = "torchtitan-rowwise";
  Stack stack = find_stack(name).value();
  stack.overlap.tensor = is_asynchronous && !stack.scales_rows;
  return stack;
}

std::optional<TransformerModel> neusight_model(std::string_view name) {
  // Wider than the GPT-3 XL of the paper, which has 2048 columns.
  if (name == "gpt3xl") {
    return TransformerModel{.name = "gpt3_xl of NeuSight",
                            .num_layers = 24,
                            .hidden_size = 3072,
                            .num_heads = 24,
                            .sequence_length = 2048};
  }
  const auto found = std::find_if(kNeuSightModels.begin(), kNeuSightModels.end(),
                                  [name](const NeuSightModel& m) { return m.name == name; });
  if (found == kNeuSightModels.end()) return std::nullopt;
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
