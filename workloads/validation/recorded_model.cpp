#include "workloads/validation/recorded_model.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "workloads/validation/neusight_runs.hpp"
#include "workloads/validation/recorded_words.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000;

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

/// What a record of a dense model may say of it beside `layers`, `hidden` and `heads`.
constexpr std::array kArchitectureKeys = {"ffn_hidden", "kv_heads", "vocab", "activation", "pos"};

class ModelReader {
 public:
  ModelReader(JsonFields& fields, bool is_neusight, MeasuredCase& measured)
      : model_(fields), is_neusight_(is_neusight), case_(measured) {}

  void read() {
    case_.model.name = model_.string_or("name", "");
    const std::int64_t sequence = model_.integer_or("seq_len", 1, kMostTokens, 0);
    const bool has_sizes = model_.has("hidden") && model_.has("layers") && model_.has("heads");
    if (has_sizes && !is_known_better()) {
      read_architecture();
    } else if (!take_from_zoo()) {
      miss(fmt::format("the architecture of '{}' is neither in the record nor in the zoo",
                       printable(case_.model.name)));
    }
    if (sequence == 0) return miss("the sequence length");
    case_.model.sequence_length = sequence;
  }

 private:
  /// Whether the zoo knows more of a model than a record's sizes can tell: experts, latent attention, windows
  /// and state spaces, or sizes that the record leaves out. One of other sizes under the name is another
  /// model.
  bool is_known_better() {
    const ZooModel* const known = find_recorded_model(case_.model.name);
    if (known == nullptr) return false;
    const TransformerModel& model = known->model();
    constexpr std::int64_t kMost = 1'000'000'000;
    if (model_.integer("hidden", 1, kMost) != model.hidden_size ||
        model_.integer("heads", 1, kMost) != model.num_heads)
      return false;
    if (model.has_experts() || model.has_latent_attention() || model.window.size > 0 || model.is_hybrid())
      return true;
    return std::ranges::any_of(kArchitectureKeys, [this](const char* key) { return !model_.has(key); });
  }

  void read_architecture() {
    constexpr std::int64_t kMost = 1'000'000'000;
    for (const char* const key : kArchitectureKeys) {
      if (!model_.has(key)) assume(fmt::format("{}: as GPT-3 has it", key));
    }
    TransformerModel& model = case_.model;
    model.num_layers = model_.integer("layers", 1, kMost);
    model.hidden_size = model_.integer("hidden", 1, kMost);
    model.num_heads = model_.integer("heads", 1, kMost);
    model.num_kv_heads = model_.integer_or("kv_heads", 1, kMost, model.num_heads);
    model.ffn_size = model_.integer_or("ffn_hidden", 1, kMost, 4 * model.hidden_size);
    model.vocab_size = model_.integer_or("vocab", 1, kMost, model.vocab_size);
    model.activation = activation();
    const std::string positions = plain_letters(model_.string_or("pos", "learned"));
    const bool is_rotary = positions == "rope" || positions == "rotary";
    if (!is_rotary && positions != "learned")
      miss(fmt::format("the positions: learned or rope, found '{}'", printable(model_.string("pos"))));
    if (is_rotary) {
      model.positions = Positions::Rotary;
      model.normalization = Normalization::RmsNorm;
      model.tied_embeddings = false;
      model.has_bias = false;
    }
    model.has_bias = model_.boolean_or("bias", model.has_bias);
  }

  Activation activation() {
    const std::string name = plain_letters(model_.string_or("activation", "gelu"));
    if (name == "swiglu") return Activation::SwiGlu;
    if (name == "squaredrelu") return Activation::SquaredRelu;
    if (name != "gelu")
      miss(fmt::format("the activation: gelu, swiglu or squared_relu, found '{}'",
                       printable(model_.string("activation"))));
    return Activation::Gelu;
  }

  bool take_from_zoo() {
    if (is_neusight_) {
      if (const auto model = neusight_model(plain_letters(case_.model.name))) return take_model(*model);
    }
    const ZooModel* const known = find_recorded_model(case_.model.name);
    return known != nullptr && take_model(known->model());
  }

  /// A model under the record's name, and what the record says otherwise.
  bool take_model(const TransformerModel& model) {
    const std::string recorded = case_.model.name;
    case_.model = model;
    case_.model.name = recorded;
    const bool is_of_zoo = find_model(model.name).has_value();
    assume(fmt::format("architecture: '{}'{}", model.name, is_of_zoo ? " of the zoo" : ""));
    for (const char* const key :
         {"hidden", "heads", "ffn_hidden", "kv_heads", "vocab", "activation", "pos", "bias"}) {
      if (model_.has(key)) case_.unread.push_back(fmt::format("model.{}", key));
    }
    if (model_.has("layers")) take_fewer_layers(model_.integer("layers", 1, 100'000));
    if (contains(plain_words(recorded), "tokendrop")) case_.model.experts.capacity_factor = 1;
    return true;
  }

  /// A model cut down to fit a node keeps at most one dense layer (SimuMax's runs).
  void take_fewer_layers(std::int64_t layers) {
    case_.model.num_layers = layers;
    std::int64_t& dense = case_.model.experts.num_dense_layers;
    dense = std::min<std::int64_t>(dense, 1);
  }

  void miss(std::string what) { case_.missing.push_back(std::move(what)); }
  void assume(std::string what) { case_.assumed.push_back(std::move(what)); }

  JsonFields& model_;
  bool is_neusight_;
  MeasuredCase& case_;
};

}  // namespace

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

void read_recorded_model(JsonFields& fields, bool is_neusight, MeasuredCase& measured) {
  ModelReader(fields, is_neusight, measured).read();
}

}  // namespace vtrain
