#include "profiler/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

/// Number of insertions, deletions and replacements of letters that turn one word into another.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

constexpr std::size_t kHelpColumn = 30;

}  // namespace

void ArgumentParser::add(std::string_view name, std::string_view value_name, std::string_view help,
                         std::function<void(std::string_view)> take) {
  options_.push_back({std::string(name), std::string(value_name), std::string(help), std::move(take)});
}

const ArgumentParser::Option& ArgumentParser::find(std::string_view name) const {
  const Option* nearest = &options_.front();
  for (const Option& option : options_) {
    if (option.name == name) return option;
    if (edit_distance(option.name, name) < edit_distance(nearest->name, name)) nearest = &option;
  }
  throw InputError("unknown option '" + std::string(name.substr(0, 60)) + "'; did you mean '" +
                   nearest->name + "'?");
}

bool ArgumentParser::parse(const std::vector<std::string>& arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") return false;
    const std::size_t equals = argument.find('=');
    const Option& option = find(argument.substr(0, equals));
    if (option.value_name.empty()) {
      if (equals != std::string_view::npos)
        throw expected_found(option.name, "no value", argument.substr(equals + 1));
      option.take({});
    } else if (equals != std::string_view::npos) {
      option.take(argument.substr(equals + 1));
    } else {
      if (++i == arguments.size())
        throw InputError(option.name + ": expected " + option.value_name + " after it");
      option.take(arguments[i]);
    }
  }
  return true;
}

/// Text in lines of at most `columns`, cut at blanks; all but the first are indented.
static std::string folded(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string lines;
  while (text.size() > columns) {
    const std::size_t blank = text.rfind(' ', columns);
    if (blank == std::string_view::npos) break;
    lines += std::string(text.substr(0, blank)) + "\n" + std::string(indent, ' ');
    text.remove_prefix(blank + 1);
  }
  return lines + std::string(text);
}

std::string ArgumentParser::help() const {
  constexpr std::size_t kColumns = 80;
  std::string text = usage_ + "\nOptions:\n";
  for (const Option& option : options_) {
    std::string line = "  " + option.name + (option.value_name.empty() ? "" : " " + option.value_name);
    line.resize(std::max(line.size() + 1, kHelpColumn), ' ');
    text += line + folded(option.help, kColumns - kHelpColumn, kHelpColumn) + "\n";
  }
  return text;
}

std::int64_t parse_whole(std::string_view option, std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  // Sizes multiply to less than 2^63 elements.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || value < least || value > kMost) {
    throw expected_found(option, "a whole number of at least " + std::to_string(least), text);
  }
  return value;
}

double parse_positive(std::string_view option, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || !std::isfinite(value) || value <= 0) {
    throw expected_found(option, "a number above 0", text);
  }
  return value;
}

std::vector<std::string_view> split_list(std::string_view option, std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (parts.back().empty()) throw expected_found(option, "a value between the separators", text);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::int64_t> parse_whole_list(std::string_view option, std::string_view text,
                                           std::int64_t least) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : split_list(option, text))
    values.push_back(parse_whole(option, part, least));
  return values;
}

namespace {

/// Largest size. It is far above any model, and keeps every product of sizes below 2^63.
constexpr std::int64_t kMostHidden = 1 << 20;
constexpr std::int64_t kMostTokens = 1 << 21;
constexpr std::int64_t kMostVocabulary = 1 << 24;

std::string usage_of(const std::string& program) {
  return "Measure the GPU kernels of transformer layers on this node's GPU, and its\n"
         "collectives if it has several. Only what the table in the folder lacks is\n"
         "measured; an interrupted recording goes on where it was.\n\n"
         "  " +
         program +
         " --out h200\n"
         "  " +
         program +
         " --out h200 --family llama --hidden 4096 --time-limit 450\n"
         "  " +
         program + " --dry-run\n";
}

LayerWidth parse_width(std::string_view text) {
  const auto parts = split_list("--hidden", text, ':');
  if (parts.size() > 2) throw expected_found("--hidden", "WIDTH or WIDTH:HEADS", text);
  LayerWidth width{.hidden = parse_whole("--hidden", parts[0], 1), .heads = 0};
  if (parts.size() == 2) width.heads = parse_whole("--hidden", parts[1], 1);
  return width;
}

Variant parse_gradients(std::string_view text) {
  if (text == "fp32") return Variant::Fp32Output;
  if (text == "same") return Variant::SameOutput;
  throw expected_found("--gradients", "fp32 or same", text);
}

Variant parse_attention(std::string_view text) {
  if (text == "fused") return Variant::Fused;
  if (text == "unfused") return Variant::Unfused;
  throw expected_found("--attention", "fused or unfused", text);
}

/// All parts of a list through `parse`.
template <typename Value, typename Parse>
std::vector<Value> parse_list(std::string_view option, std::string_view text, Parse parse) {
  std::vector<Value> values;
  for (const std::string_view part : split_list(option, text))
    values.push_back(parse(part));
  return values;
}

void add_model_options(ArgumentParser& parser, GridSpec& grid) {
  parser.add("--family", "NAME", "gpt (default) or llama: what layers are made of",
             [&](std::string_view text) { grid.family = parse_family(text); });
  parser.add(
      "--hidden", "LIST", "layer widths, each with :HEADS or with heads of 128 [1024,...,8192]",
      [&](std::string_view text) { grid.widths = parse_list<LayerWidth>("--hidden", text, parse_width); });
  parser.add("--sequence", "LIST", "tokens of a sequence [1024,2048,4096,8192]",
             [&](std::string_view text) { grid.sequences = parse_whole_list("--sequence", text, 1); });
  parser.add("--micro-batch", "LIST", "sequences of a micro-batch [1,2,4,8]",
             [&](std::string_view text) { grid.micro_batches = parse_whole_list("--micro-batch", text, 1); });
  parser.add("--tensor", "LIST", "tensor-parallel degrees; a shard is measured on one GPU [1,2,4,8]",
             [&](std::string_view text) { grid.tensors = parse_whole_list("--tensor", text, 1); });
  parser.add(
      "--key-value-heads", "N", "heads of keys and values [gpt: all, llama: 8]",
      [&](std::string_view text) { grid.key_value_heads = parse_whole("--key-value-heads", text, 1); });
  parser.add("--ffn-ratio", "X", "width of the MLP relative to hidden [gpt: 4, llama: 3.5]",
             [&](std::string_view text) { grid.ffn_ratio = parse_positive("--ffn-ratio", text); });
  parser.add("--vocabulary", "N", "tokens of the vocabulary [gpt: 51200, llama: 128256]",
             [&](std::string_view text) { grid.vocabulary = parse_whole("--vocabulary", text, 1); });
  parser.add(
      "--precision", "LIST", "of the layers' products: bf16, fp16, fp8 [bf16]",
      [&](std::string_view text) { grid.formats = parse_list<Format>("--precision", text, parse_format); });
  parser.add("--gradients", "LIST",
             "of weights: fp32 (added up, as Megatron does) or same (as the inputs) [fp32]",
             [&](std::string_view text) {
               grid.gradients = parse_list<Variant>("--gradients", text, parse_gradients);
             });
  parser.add("--attention", "LIST", "fused or unfused [fused]", [&](std::string_view text) {
    grid.attentions = parse_list<Variant>("--attention", text, parse_attention);
  });
}

void add_sweep_options(ArgumentParser& parser, RecordArguments& arguments) {
  parser.add("--only", "PART", "operators or collectives [both]", [&](std::string_view text) {
    if (text != "operators" && text != "collectives")
      throw expected_found("--only", "operators or collectives", text);
    arguments.operators = text == "operators";
    arguments.collectives = !arguments.operators;
  });
  parser.add("--bytes", "LEAST:MOST", "sizes of collectives, doubled from least to most [1024:1073741824]",
             [&](std::string_view text) {
               const auto parts = split_list("--bytes", text, ':');
               if (parts.size() != 2) throw expected_found("--bytes", "LEAST:MOST", text);
               arguments.sweep.least_bytes = parse_whole("--bytes", parts[0], 1);
               arguments.sweep.most_bytes = parse_whole("--bytes", parts[1], arguments.sweep.least_bytes);
             });
  parser.add("--gpus", "LIST", "GPUs of a collective [2,4,8,... and all]", [&](std::string_view text) {
    arguments.sweep.gpu_counts = parse_whole_list("--gpus", text, 2);
  });
}

}  // namespace

ArgumentParser record_parser(const std::string& program, RecordArguments& arguments) {
  ArgumentParser parser(usage_of(program));
  parser.add("--out", "DIR", "folder of the table and the traces; made if it is not there",
             [&](std::string_view text) { arguments.folder = std::string(text); });
  add_model_options(parser, arguments.grid);
  add_sweep_options(parser, arguments);
  parser.add("--time-limit", "SECONDS", "begin nothing new after so long; run again to go on",
             [&](std::string_view text) { arguments.time_limit_s = parse_positive("--time-limit", text); });
  parser.add("--repetitions", "N", "of each operator, at most [20]", [&](std::string_view text) {
    arguments.protocol.most_repetitions = static_cast<std::size_t>(parse_whole("--repetitions", text, 5));
  });
  parser.add("--device", "N", "GPU of this node, from 0 [0]", [&](std::string_view text) {
    arguments.device = static_cast<int>(std::min<std::int64_t>(parse_whole("--device", text, 0), 1 << 20));
  });
  parser.add("--dry-run", "", "say what would be measured and how long it takes; needs no GPU",
             [&](std::string_view) { arguments.dry_run = true; });
  parser.add("--list", "", "with --dry-run: every operator, one a line",
             [&](std::string_view) { arguments.list = true; });
  return parser;
}

void check(const RecordArguments& arguments) {
  if (arguments.folder.empty() && !arguments.dry_run)
    throw InputError("--out: expected a folder for the table");
  const auto at_most = [](std::string_view option, std::int64_t value, std::int64_t most) {
    if (value > most) throw expected_found(option, "at most " + std::to_string(most), std::to_string(value));
  };
  const GridSpec& grid = arguments.grid;
  for (const LayerWidth& width : grid.widths)
    at_most("--hidden", width.hidden, kMostHidden);
  const std::int64_t sequence = *std::max_element(grid.sequences.begin(), grid.sequences.end());
  const std::int64_t micro_batch = *std::max_element(grid.micro_batches.begin(), grid.micro_batches.end());
  at_most("--sequence", sequence, kMostTokens);
  at_most("--micro-batch", micro_batch, kMostTokens / sequence);
  at_most("--vocabulary", grid.vocabulary, kMostVocabulary);
  if (grid.ffn_ratio > 64) throw expected_found("--ffn-ratio", "at most 64", std::to_string(grid.ffn_ratio));
}

}  // namespace vtrain::profiler
