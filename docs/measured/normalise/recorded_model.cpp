#include "docs/measured/normalise/recorded_model.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "docs/measured/normalise/measured_sources.hpp"
#include "docs/measured/normalise/recorded_words.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;  // of any size or number of tokens

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
    OtherName{"deepseekv3.1", "deepseek-v3"},
    OtherName{"nemotron5h56b", "nemotron-h-56b"},
    OtherName{"gpt3126m", "gpt3-125m"},
    OtherName{"mtnlg", "mtnlg-530b"},
    OtherName{"megatronturingnlg530b", "mtnlg-530b"},
};

/// Words after a model's name that mean another run than its pretraining, or another model.
constexpr std::array<std::string_view, 19> kOtherRuns = {
    "lora",  "qlora",  "dora", "peft", "sft",  "dpo", "grpo",  "finetune", "finetuned", "finetuning",
    "tuned", "tuning", "lite", "mini", "tiny", "vl",  "proxy", "vision",   "distill"};

/// Number of parameters in `671b`, `1.3b`, `760m` or `1t`.
std::optional<double> parameters_in(std::string_view word) {
  constexpr std::array kUnits = {std::pair('m', 1e6), std::pair('b', 1e9), std::pair('t', 1e12)};
  for (const auto& [letter, unit] : kUnits) {
    if (word.empty() || word.back() != letter) continue;
    const auto number = parse_number(word.substr(0, word.size() - 1), 0, 1e6);
    if (number) return *number * unit;
  }
  return std::nullopt;
}

/// True if the words after a model's name change neither the model nor its pretraining. A size is that of all
/// or of the active parameters, unless it counts tokens.
bool are_remarks(std::span<const std::string_view> words, const TransformerModel& model) {
  constexpr double kRounding = 1.1;
  const auto is_near = [](double said, std::int64_t parameters) {
    const double ratio = said / static_cast<double>(parameters);
    return std::max(ratio, 1 / ratio) < kRounding;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(kOtherRuns, words[i]) != kOtherRuns.end()) return false;
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : std::string_view();
    const auto said = parameters_in(words[i]);
    if (!said || next == "active" || next == "tokens" || next == "context") continue;
    if (!is_near(*said, model.num_parameters()) && !is_near(*said, model.active_parameters())) return false;
  }
  return true;
}

/// A name that means a model, without blanks.
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

/// True if the first words, joined, are the name, and the others are remarks.
bool is_named(std::span<const std::string_view> words, const ModelName& name) {
  std::string_view rest = name.letters;
  while (!rest.empty() && !words.empty() && rest.starts_with(words.front())) {
    rest.remove_prefix(words.front().size());
    words = words.subspan(1);
  }
  return rest.empty() && are_remarks(words, name.model->model());
}

/// The name without whose it is: `meta-llama/Llama-3.1-8B`, `NVIDIA Nemotron 3 Super`.
std::string_view without_owner(std::string_view name) {
  const std::size_t slash = name.find('/');
  const bool is_owner =
      slash != std::string_view::npos && name.substr(0, slash).find_first_of(" (") == std::string_view::npos;
  if (is_owner) name.remove_prefix(slash + 1);
  for (const std::string_view maker : {"nvidia", "meta"}) {
    const bool ends = name.size() > maker.size() && plain_letters(name.substr(maker.size(), 1)).empty();
    if (ends && plain_letters(name.substr(0, maker.size())) == maker) name.remove_prefix(maker.size() + 1);
  }
  return name;
}

/// Keys of a dense model in a record in addition to `layers`, `hidden` and `heads`.
constexpr std::array kArchitectureKeys = {"ffn_hidden", "kv_heads", "vocab", "activation", "pos"};

class ModelReader {
 public:
  ModelReader(JsonFields& fields, bool is_neusight, MeasuredCase& measured)
      : model_(fields), is_neusight_(is_neusight), case_(measured) {}

  std::string read() {
    read_model();
    return zoo_name_.empty() ? case_.model.name : zoo_name_;
  }

 private:
  void read_model() {
    case_.model.name = model_.string_or("name", "");
    const std::int64_t sequence = model_.integer_or("seq_len", 1, kMost, 0);
    const bool has_sizes = model_.has("hidden") && model_.has("layers") && model_.has("heads");
    const ZooModel* const named = find_recorded_model(case_.model.name);
    // One of other sizes under the name is another model.
    const ZooModel* const zoo = named != nullptr && has_width_of(named->model()) ? named : nullptr;
    if (has_sizes && (zoo == nullptr || !is_beyond_sizes(zoo->model()))) {
      read_architecture(zoo);
    } else if (!take_from_zoo(named)) {
      miss(fmt::format("the architecture of '{}' is neither in the record nor in the zoo",
                       printable(case_.model.name)));
    }
    if (sequence == 0) return miss("the sequence length");
    case_.model.sequence_length = sequence;
  }

  /// True if a model has the hidden size and the heads of the record, if recorded.
  bool has_width_of(const TransformerModel& model) {
    return model_.integer_or("hidden", 1, kMost, model.hidden_size) == model.hidden_size &&
           model_.integer_or("heads", 1, kMost, model.num_heads) == model.num_heads;
  }

  /// True for models that a record's sizes cannot describe: experts, latent attention, windows and state
  /// spaces.
  static bool is_beyond_sizes(const TransformerModel& model) {
    return model.has_experts() || model.has_latent_attention() || model.window.size > 0 || model.is_hybrid();
  }

  /// The sizes of the record; what it leaves out is as the zoo has it, or else GPT-3.
  void read_architecture(const ZooModel* zoo) {
    for (const char* const key : kArchitectureKeys) {
      if (!model_.has(key))
        assume(fmt::format("{}: as {} has it", key, zoo == nullptr ? "GPT-3" : zoo->name()));
    }
    TransformerModel& model = case_.model;
    model.num_layers = model_.integer("layers", 1, kMost);
    model.hidden_size = model_.integer("hidden", 1, kMost);
    model.num_heads = model_.integer("heads", 1, kMost);
    TransformerModel absent;
    absent.hidden_size = model.hidden_size;
    absent.num_heads = model.num_heads;
    if (zoo != nullptr) absent = zoo->model();
    model.num_kv_heads = model_.integer_or("kv_heads", 1, kMost, absent.kv_heads());
    model.ffn_size = model_.integer_or("ffn_hidden", 1, kMost, absent.mlp_size());
    model.vocab_size = model_.integer_or("vocab", 1, kMost, absent.vocab_size);
    model.activation = model_.has("activation") ? activation() : absent.activation;
    if (!model_.has("pos") && zoo != nullptr) {
      model.positions = absent.positions;
      model.normalization = absent.normalization;
      model.tied_embeddings = absent.tied_embeddings;
      model.has_bias = model_.boolean_or("bias", absent.has_bias);
      return;
    }
    const std::string positions = plain_letters(model_.string_or("pos", "learned"));
    const bool is_rotary = positions.starts_with("rope") || positions.starts_with("rotary");
    if (!is_rotary && !positions.starts_with("learned") && !positions.starts_with("absolute"))
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
    if (name.starts_with("swiglu")) return Activation::SwiGlu;
    if (name == "squaredrelu" || name == "relu2") return Activation::SquaredRelu;
    if (!name.starts_with("gelu"))
      miss(fmt::format("the activation: gelu, swiglu or squared_relu, found '{}'",
                       printable(model_.string("activation"))));
    return Activation::Gelu;
  }

  bool take_from_zoo(const ZooModel* named) {
    if (is_neusight_) {
      if (const auto model = neusight_model(plain_letters(case_.model.name))) return take_model(*model);
    }
    return named != nullptr && take_model(named->model());
  }

  /// A model under the record's name, and what the record says otherwise.
  bool take_model(const TransformerModel& model) {
    const std::string recorded = case_.model.name;
    zoo_name_ = model.name;
    case_.model = model;
    case_.model.name = recorded;
    const bool is_of_zoo = find_model(model.name).has_value();
    assume(fmt::format("architecture: '{}'{}", model.name, is_of_zoo ? " of the zoo" : ""));
    for (const char* const key :
         {"hidden", "heads", "ffn_hidden", "kv_heads", "vocab", "activation", "pos", "bias"}) {
      if (model_.has(key)) case_.unread.push_back(fmt::format("model.{}", key));
    }
    if (model_.has("layers")) take_fewer_layers(model_.integer("layers", 1, 100'000));
    if (contains(plain_letters(recorded), "tokendrop")) case_.model.experts.capacity_factor = 1;
    return true;
  }

  /// A model cut down to fit a node keeps at most one dense layer (SimuMax's runs).
  void take_fewer_layers(std::int64_t layers) {
    if (layers == case_.model.num_layers) return;
    case_.model.num_layers = layers;
    std::int64_t& dense = case_.model.experts.num_dense_layers;
    dense = std::min<std::int64_t>(dense, 1);
  }

  void miss(std::string what) { case_.missing.push_back(std::move(what)); }
  void assume(std::string what) { case_.assumed.push_back(std::move(what)); }

  JsonFields& model_;
  bool is_neusight_;
  MeasuredCase& case_;
  std::string zoo_name_;  ///< name of the zoo's model for the record's
};

}  // namespace

const ZooModel* find_recorded_model(std::string_view recorded) {
  static const std::vector<ModelName> names = model_names();
  const std::string text = words_with_points(without_owner(recorded));
  const std::vector<std::string_view> words = split(text, ' ');
  const auto found =
      std::ranges::find_if(names, [&words](const ModelName& name) { return is_named(words, name); });
  if (found != names.end()) return found->model;
  if (contains(text, ".")) return nullptr;
  // Without its points, where only one model can be meant: `LLAMA31_405B`.
  const auto without_points = [](std::string name) {
    std::erase(name, '.');
    return name;
  };
  const ZooModel* model = nullptr;
  for (const ZooModel& entry : model_zoo()) {
    if (without_points(words_with_points(entry.name())) != text) continue;
    if (model != nullptr) return nullptr;
    model = &entry;
  }
  return model;
}

std::string read_recorded_model(JsonFields& fields, bool is_neusight, MeasuredCase& measured) {
  return ModelReader(fields, is_neusight, measured).read();
}

}  // namespace vtrain
