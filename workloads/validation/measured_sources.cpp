#include "workloads/validation/measured_sources.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"

namespace vtrain {
namespace {

constexpr std::array kSources = {
    MeasuredSource{"Composer/FSDP", "mpt", "fsdp-eager", Sharding::Full},
    MeasuredSource{"LLM Foundry", "mpt", "fsdp-eager", Sharding::Full},
    MeasuredSource{"Megatron-Bridge", "mbridge", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo Megatron-Bridge", "mbridge", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo AutoModel", "automodel", "nemo-automodel", Sharding::Full},
    MeasuredSource{"NeMo 24", "nemo", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo Framework 24", "nemo", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"NeMo", "dgxc", "megatron-bridge", Sharding::Optimizer},
    MeasuredSource{"torchtitan", "torchtitan", "torchtitan", Sharding::Full},
    MeasuredSource{"PyTorch 2.1 eager (HF transformers)", "transformers", "transformers-eager",
                   Sharding::None},
    // What profiler/validation writes.
    MeasuredSource{"PyTorch compiled", "pytorch-compiled", "pytorch-compiled", Sharding::None},
    MeasuredSource{"PyTorch eager, unfused attention", "pytorch-unfused", "pytorch-unfused", Sharding::None},
    MeasuredSource{"PyTorch eager", "pytorch-eager", "pytorch-eager", Sharding::None},
    MeasuredSource{"DeepSpeed", "mtnlg", "deepspeed-megatron", Sharding::None},
    MeasuredSource{"Megatron-DeepSpeed", "mtnlg", "deepspeed-megatron", Sharding::None},
    MeasuredSource{"Megatron-LM 23e00ed09", "simumax", "megatron-core", Sharding::Optimizer},
    MeasuredSource{"Megatron-Core", "megatron24", "megatron-core", Sharding::Optimizer},
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

/// Whether a text of `plain_words` has the word.
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

/// A model that sources call otherwise than the zoo, by its `plain_letters`.
struct OtherName {
  std::string_view letters;
  std::string_view in_zoo;
};

constexpr std::array kOtherNames = {
    OtherName{"nemotron15b", "nemotron4-15b"},    // NeMo 25
    OtherName{"nemotron340b", "nemotron4-340b"},  // NeMo 24
    OtherName{"qwen3moe30b", "qwen3-30b-a3b"},    // NeMo AutoModel
    OtherName{"qwen330b", "qwen3-30b-a3b"},
    OtherName{"qwen3moe235b", "qwen3-235b-a22b"},
    OtherName{"qwen3235b", "qwen3-235b-a22b"},
    OtherName{"llama3405b", "llama3.1-405b"},  // of the three sizes of Llama 3 the one that is 3.1 alone
    OtherName{"llama3.370b", "llama3.1-70b"},
    OtherName{"deepseekr1", "deepseek-v3"},
};

/// What makes a run another one than the pretraining of the model that is named before it, or the model
/// another one.
constexpr std::array<std::string_view, 18> kOtherRuns = {
    "lora",   "qlora", "dora", "peft", "sft",  "dpo", "grpo",  "finetune", "finetuning",
    "tuning", "fine",  "lite", "mini", "tiny", "vl",  "proxy", "vision",   "distill"};

/// H100 with 96 GB of HBM2e and 500 W: those of all published runs of torchtitan on H100
/// (benchmarks/llama3_h100_202412_torchtitan.md, asyncTP_llama3_h100_2025-06_torchtitan.md).
bool has_limited_power(std::string_view letters, const MeasuredSource* source) {
  return contains(letters, "500w") || contains(letters, "hbm2e") || contains(letters, "96gb") ||
         (source != nullptr && source->family == "torchtitan" && !contains(letters, "700w"));
}

/// Lower case letters, digits and the dots between digits; one blank for whatever else stands between them.
/// Tells a size of 1.3 from one of 13.
std::string words_with_points(std::string_view text) {
  const auto is_digit = [text](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::string words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string word = plain_words(text.substr(i, 1));
    if (!word.empty()) {
      words += word;
    } else if (text[i] == '.' && i > 0 && is_digit(i - 1) && is_digit(i + 1)) {
      words += '.';
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  while (!words.empty() && words.back() == ' ')
    words.pop_back();
  return words;
}

/// `671b`, `1.3b`, `760m` or `1t`: so many parameters.
std::optional<double> parameters_in(std::string_view word) {
  constexpr std::array kUnits = {std::pair('m', 1e6), std::pair('b', 1e9), std::pair('t', 1e12)};
  for (const auto& [letter, unit] : kUnits) {
    if (word.empty() || word.back() != letter) continue;
    const auto number = parse_number(word.substr(0, word.size() - 1), 0, 1e6);
    if (number) return *number * unit;
  }
  return std::nullopt;
}

/// Whether a word after a model's name leaves it that model, and the run its pretraining.
bool is_remark(std::string_view word, const TransformerModel& model) {
  if (std::ranges::find(kOtherRuns, word) != kOtherRuns.end()) return false;
  constexpr double kRounding = 1.1;
  const auto said = parameters_in(word);
  const auto parameters = static_cast<double>(model.num_parameters());
  return !said || std::max(*said / parameters, parameters / *said) < kRounding;
}

/// A name that stands for a model, without blanks.
struct ModelName {
  std::string letters;
  const ZooModel* model;
};

/// The names of the zoo and the others, the longest first.
std::vector<ModelName> model_names() {
  std::vector<ModelName> names;
  const auto without_blanks = [](std::string words) {
    std::erase(words, ' ');
    return words;
  };
  for (const ZooModel& entry : model_zoo()) {
    const std::string_view name = entry.name();
    names.push_back({without_blanks(words_with_points(name)), &entry});
    for (const OtherName& other : kOtherNames) {
      if (other.in_zoo == name) names.push_back({std::string(other.letters), &entry});
    }
  }
  std::ranges::stable_sort(
      names, [](const ModelName& a, const ModelName& b) { return a.letters.size() > b.letters.size(); });
  return names;
}

/// Whether `letters` are the first of the words, run together, and the others are remarks.
bool is_named(const std::vector<std::string_view>& words, const ModelName& name) {
  std::string_view rest = name.letters;
  for (const std::string_view word : words) {
    if (rest.empty()) {
      if (!is_remark(word, name.model->model())) return false;
    } else if (rest.starts_with(word)) {
      rest.remove_prefix(word.size());
    } else {
      return false;
    }
  }
  return rest.empty();
}

}  // namespace

const MeasuredSource* find_source(std::string_view framework, const RunFacts& run) {
  const std::string name = plain_letters(framework);
  const auto* const found = std::ranges::find_if(kSources, [&name](const MeasuredSource& source) {
    return name.starts_with(plain_letters(source.framework));
  });
  if (found == kSources.end())
    return name.starts_with("megatronlm") ? find_megatron(framework, run) : nullptr;
  return found->family == "transformers" && run.has_several_gpus ? &kAccelerate : found;
}

std::string_view find_profile(std::string_view gpu, const MeasuredSource* source) {
  std::string name = plain_words(gpu);
  for (const std::string_view maker : {"nvidia ", "tesla ", "dgx ", "hgx "}) {
    if (name.starts_with(maker)) name.erase(0, maker.size());
  }
  const std::string letters = plain_letters(name);
  const std::string_view model = split(name, ' ').front();
  const bool is_pcie = contains(letters, "pcie");
  if (contains(letters, "nvl") || std::ranges::find(kGpus, model) == kGpus.end()) return {};
  if (model == "v100") return is_pcie ? "v100-pcie" : contains(letters, "sxm3") ? "v100-sxm3" : "";
  if (model == "a100") {
    const bool is_small = contains(letters, "40gb");
    if (is_pcie) return is_small ? "a100-pcie-40gb" : "a100-pcie";
    return is_small ? "a100-40gb" : "a100";
  }
  if (is_pcie) return {};
  if (model == "h100") return has_limited_power(letters, source) ? "h100-500w" : "h100";
  return *std::ranges::find(kGpus, model);
}

const ZooModel* find_recorded_model(std::string_view recorded) {
  static const std::vector<ModelName> names = model_names();
  const std::string text = words_with_points(recorded);
  const std::vector<std::string_view> words = split(text, ' ');
  const auto found =
      std::ranges::find_if(names, [&words](const ModelName& name) { return is_named(words, name); });
  if (found != names.end()) return found->model;
  // Without its points, where only one model can be meant: `LLAMA31_405B`.
  const auto without_points = [](std::string name) {
    std::erase(name, '.');
    return name;
  };
  const ZooModel* model = nullptr;
  for (const ZooModel& entry : model_zoo()) {
    if (without_points(words_with_points(entry.name())) != without_points(text)) continue;
    if (model != nullptr) return nullptr;
    model = &entry;
  }
  return model;
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

bool affirms(std::string_view text, std::string_view part) {
  for (std::size_t place = text.find(part); place != std::string_view::npos;
       place = text.find(part, place + 1)) {
    const std::string_view before = text.substr(0, place);
    const std::string_view after = text.substr(place + part.size());
    const auto ends_before = [before](std::string_view word) { return before.ends_with(word); };
    const auto starts_after = [after](std::string_view word) { return after.starts_with(word); };
    constexpr std::array<std::string_view, 6> kNo = {"no ",       "not ",       "without ",
                                                     "no torch ", "not torch ", "without torch "};
    constexpr std::array<std::string_view, 3> kOff = {" off", " false", " disabled"};
    if (std::ranges::none_of(kNo, ends_before) && std::ranges::none_of(kOff, starts_after)) return true;
  }
  return false;
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
