#include "workloads/validation/measured_sources.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/text.hpp"

namespace vtrain {
namespace {

constexpr std::array kSources = {
    MeasuredSource{"Composer/FSDP", "mpt", "fsdp-eager", Sharding::Full},
    MeasuredSource{"Megatron-Bridge", "mbridge", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo AutoModel", "automodel", "nemo-automodel", Sharding::Full},
    MeasuredSource{"NeMo 24", "nemo", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo", "dgxc", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"torchtitan", "torchtitan", "torchtitan", Sharding::Full},
    MeasuredSource{"PyTorch 2.1 eager (HF transformers)", "transformers", "transformers-eager",
                   Sharding::None},
    // What profiler/validation writes.
    MeasuredSource{"PyTorch compiled", "pytorch-compiled", "pytorch-compiled", Sharding::None},
    MeasuredSource{"PyTorch eager, unfused attention", "pytorch-unfused", "pytorch-unfused", Sharding::None},
    MeasuredSource{"PyTorch eager", "pytorch-eager", "pytorch-eager", Sharding::None},
    MeasuredSource{"DeepSpeed", "mtnlg", "deepspeed-megatron", Sharding::None},
    MeasuredSource{"Megatron-LM 23e00ed09", "simumax", "megatron-core", Sharding::Optimizer},
};

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

/// Sequence parallelism came with that of 2022 (Korthikanti et al.).
const MeasuredSource* find_megatron(std::string_view framework, bool has_sequence_parallelism) {
  const int year = year_in(framework).value_or(has_sequence_parallelism ? 2022 : 0);
  return &std::find_if(kMegatronReleases.begin(), kMegatronReleases.end(),
                       [year](const MegatronRelease& release) { return year >= release.first_year; })
              ->source;
}

/// NeuSight's runs on several GPUs: Accelerate hands the model over to Megatron-LM.
constexpr MeasuredSource kAccelerate{"", "accelerate", "megatron-2021", Sharding::None};

/// A GPU as records name it: the first whose `name` begins the record's, with blanks for other signs.
struct NamedGpu {
  std::string_view name;
  std::string_view profile;
};

constexpr std::array kGpus = {
    NamedGpu{"v100 sxm3", "v100-sxm3"},
    NamedGpu{"v100 pcie", "v100-pcie"},
    NamedGpu{"a100 pcie 40gb", "a100-pcie-40gb"},
    NamedGpu{"a100 80gb pcie", "a100-pcie"},
    NamedGpu{"a100 pcie 80gb", "a100-pcie"},
    NamedGpu{"a100 sxm4 40gb", "a100-40gb"},
    NamedGpu{"a100", "a100"},
    NamedGpu{"h100", "h100"},
    NamedGpu{"h200", "h200"},
    NamedGpu{"gb200", "gb200"},
    NamedGpu{"gb300", "gb300"},
    NamedGpu{"b200", "b200"},
    NamedGpu{"b300", "b300"},
};

/// A model that sources call otherwise than the zoo, by its `plain_letters`.
struct OtherName {
  std::string_view letters;
  std::string_view in_zoo;
};

constexpr std::array kOtherNames = {
    OtherName{"nemotron15b", "nemotron4-15b"},    // NeMo 25
    OtherName{"nemotron340b", "nemotron4-340b"},  // NeMo 24
    OtherName{"qwen3moe30b", "qwen3-30b-a3b"},    // NeMo AutoModel
};

/// H100 with 96 GB of HBM2e and 500 W: those of all published runs of torchtitan on H100
/// (benchmarks/llama3_h100_202412_torchtitan.md, asyncTP_llama3_h100_2025-06_torchtitan.md).
bool has_limited_power(std::string_view name, const MeasuredSource* source) {
  return contains(name, "500w") || contains(name, "hbm2e") || contains(name, "96gb") ||
         (source != nullptr && source->family == "torchtitan");
}

}  // namespace

const MeasuredSource* find_source(std::string_view framework, bool has_several_gpus,
                                  bool has_sequence_parallelism) {
  const auto* const found = std::find_if(
      kSources.begin(), kSources.end(),
      [framework](const MeasuredSource& source) { return framework.starts_with(source.framework); });
  if (found == kSources.end()) {
    return framework.starts_with("Megatron-LM") ? find_megatron(framework, has_sequence_parallelism)
                                                : nullptr;
  }
  return found->family == "transformers" && has_several_gpus ? &kAccelerate : found;
}

std::string_view find_profile(std::string_view gpu, const MeasuredSource* source) {
  std::string name = plain_words(gpu);
  for (const std::string_view maker : {"nvidia ", "tesla "}) {
    if (name.starts_with(maker)) name.erase(0, maker.size());
  }
  for (const NamedGpu& known : kGpus) {
    if (!name.starts_with(known.name)) continue;
    if (contains(name, "pcie") && !contains(known.profile, "pcie")) return {};
    return known.profile == "h100" && has_limited_power(name, source) ? "h100-500w" : known.profile;
  }
  return {};
}

std::string_view name_in_zoo(std::string_view model) {
  const auto* const found = std::find_if(
      kOtherNames.begin(), kOtherNames.end(),
      [letters = plain_letters(model)](const OtherName& name) { return name.letters == letters; });
  return found == kOtherNames.end() ? model : found->in_zoo;
}

std::optional<int> month_in(std::string_view text) {
  constexpr std::int64_t kFirst = 202001;
  constexpr std::int64_t kLast = 204912;
  std::istringstream words(plain_words(text));
  std::string before;
  for (std::string word; words >> word; before = word) {
    const std::string month = word.size() == 2 ? before + word : word;
    const auto number = parse_integer(month, kFirst, kLast);
    if (month.size() == 6 && number && *number % 100 >= 1 && *number % 100 <= 12)
      return static_cast<int>(*number);
  }
  return std::nullopt;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string plain_words(std::string_view text) {
  std::string words;
  for (const char c : text) {
    const char letter = lower_case(c);
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) {
      words.push_back(letter);
    } else if (!words.empty() && words.back() != ' ') {
      words.push_back(' ');
    }
  }
  while (!words.empty() && words.back() == ' ')
    words.pop_back();
  return words;
}

std::string plain_letters(std::string_view text) {
  std::string letters = plain_words(text);
  std::erase(letters, ' ');
  return letters;
}

}  // namespace vtrain
