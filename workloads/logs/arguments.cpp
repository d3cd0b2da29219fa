#include "workloads/logs/arguments.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

/// Longest block that is read; a longer one was cut off before its end.
constexpr std::int64_t kMostBlockLines = 4000;

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.' ||
         letter == '-';
}

/// Reads `name ........ value`, or `name  value` of a name that leaves no room for dots.
std::optional<LogArgument> read_row(std::string_view line, std::int64_t number) {
  line = trim(line);
  const std::size_t end =
      static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_name_letter) - line.begin());
  if (end == 0 || end == line.size() || line[end] != ' ') return std::nullopt;
  const std::string_view name = line.substr(0, end);
  std::string_view rest = line.substr(end);
  const std::size_t dots = rest.find_first_not_of(' ');
  if (dots == std::string_view::npos) return std::nullopt;
  const std::size_t after = std::min(rest.find_first_not_of('.', dots), rest.size());
  const bool has_dots = after > dots && after < rest.size() && rest[after] == ' ';
  if (!has_dots && dots < 2) return std::nullopt;  // words of a sentence
  return LogArgument{.name = std::string(name),
                     .value = std::string(trim(rest.substr(has_dots ? after : dots))),
                     .line = number};
}

/// True for a command that starts a training program, as `set -x` and `echo` of a shell print it.
bool is_command(std::string_view line) {
  constexpr std::array<std::string_view, 5> kPrograms = {"torchrun", "torch.distributed", "pretrain_",
                                                         "torchtitan", "deepspeed "};
  constexpr std::size_t kLeastOptions = 3;
  if (std::none_of(kPrograms.begin(), kPrograms.end(), [&](auto program) { return has_part(line, program); }))
    return false;
  std::size_t options = 0;
  for (std::size_t at = line.find(" --"); at != std::string_view::npos; at = line.find(" --", at + 1)) {
    if (at + 3 < line.size() && std::isalpha(static_cast<unsigned char>(line[at + 3])) != 0) ++options;
  }
  return options >= kLeastOptions;
}

bool is_sign_of_number(std::string_view word) {
  return std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.';
}

/// True for a word after which a shell ends a command or redirects its output.
bool ends_command(std::string_view word) {
  return word.find_first_of("|;&>") != std::string_view::npos;
}

/// The options of a command. Values of an option end before a program, or an option with a single hyphen.
std::vector<LogArgument> read_command(std::string_view line, std::int64_t number) {
  std::vector<LogArgument> arguments;
  bool takes_values = false;
  for (std::string_view word : split(line, ' ')) {
    if (ends_command(word) && !arguments.empty()) break;
    if (word.starts_with("--") && word.size() > 2) {
      const auto [name, value] = split_once(word.substr(2), '=');
      arguments.push_back(
          {.name = std::string(name), .value = std::string(value.value_or("")), .line = number});
      takes_values = true;
    } else if (word.ends_with(".py") || (word.size() > 1 && word[0] == '-' && !is_sign_of_number(word))) {
      takes_values = false;
    } else if (takes_values && !word.empty()) {
      std::string& value = arguments.back().value;
      value += (value.empty() ? "" : " ") + std::string(word);
    }
  }
  for (LogArgument& argument : arguments)
    std::erase_if(argument.value, [](char letter) { return letter == '\'' || letter == '"'; });
  return arguments;
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Appends the leaves of a document, with paths as names.
void add_leaves(const JsonDocument& document, const nlohmann::json& object, const std::string& path,
                std::int64_t first_line, std::vector<LogArgument>& arguments) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_object()) {
      add_leaves(document, value, name, first_line, arguments);
    } else {
      const std::int64_t line = document.error_at(object, key, "").line;
      arguments.push_back(
          {.name = name, .value = text_of(value), .line = first_line + std::max<std::int64_t>(line, 1) - 1});
    }
  }
}

}  // namespace

bool ArgumentCollector::take(std::string_view line, std::string_view label, std::int64_t number) {
  if (opens_block(line, label, number)) return true;
  if (open_ != ArgumentForm::None) {
    take_inside(line, label, number);
    return false;
  }
  // The engine of DeepSpeed prints each row as a message of its own.
  const std::size_t print = line.find(":print]");
  if (print != std::string_view::npos && has_part(line.substr(0, print), "config.py:")) {
    if (auto row = read_row(line.substr(print + 7), number))
      list(ArgumentForm::DeepSpeed).push_back(std::move(*row));
    return false;
  }
  if (!is_command(line)) return false;
  list(ArgumentForm::CommandLine) = read_command(line, number);
  return true;
}

bool ArgumentCollector::opens_block(std::string_view line, std::string_view label, std::int64_t number) {
  ArgumentForm form = ArgumentForm::None;
  if (has_part(line, "- arguments -") && !has_part(line, "end of")) {
    form = ArgumentForm::Block;
  } else if (has_part(line, "DeepSpeedEngine configuration:")) {
    list(ArgumentForm::DeepSpeed).clear();
    return true;
  } else if (has_part(line, "Running with args: {") || has_part(line, "Running with configs: {")) {
    form = ArgumentForm::Json;
  } else {
    return false;
  }
  open_ = form;
  list(form).clear();
  label_ = label;
  first_line_ = number;
  num_lines_ = 0;
  if (form == ArgumentForm::Json) {
    json_.clear();
    depth_ = 0;
    take_json_line(line.substr(line.find(": {") + 2));
  }
  return true;
}

void ArgumentCollector::take_inside(std::string_view line, std::string_view label, std::int64_t number) {
  if (label != label_) return;
  if (++num_lines_ > kMostBlockLines) {
    close();
  } else if (open_ == ArgumentForm::Json) {
    take_json_line(line);
  } else if (has_part(line, "end of arguments")) {
    close();
  } else if (auto row = read_row(line, number)) {
    list(open_).push_back(std::move(*row));
  }
}

void ArgumentCollector::take_json_line(std::string_view line) {
  json_ += line;
  json_ += '\n';
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_text && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      in_text = !in_text;
    } else if (!in_text) {
      depth_ += line[i] == '{' ? 1 : line[i] == '}' ? -1 : 0;
    }
  }
  if (depth_ > 0) return;
  const auto document = JsonDocument::parse(json_, "", NonFinite::Null);
  if (document && document->root().is_object())
    add_leaves(*document, document->root(), "", first_line_, list(ArgumentForm::Json));
  close();
}

void ArgumentCollector::close() {
  open_ = ArgumentForm::None;
  json_.clear();
}

void ArgumentCollector::clear() {
  for (std::vector<LogArgument>& arguments : found_)
    arguments.clear();
}

bool may_change_speed(std::string_view name) {
  constexpr std::array<std::string_view, 50> kOther = {
      "addr",   "commit",  "consumed", "date",        "dataset",   "decay",     "description", "dir",
      "dump",   "entity",  "eval",     "exit",        "exp",       "file",      "folder",      "freq",
      "hash",   "host",    "hostname", "id",          "interval",  "iteration", "iterations",  "iters",
      "load",   "log",     "logging",  "lr",          "master",    "name",      "path",        "port",
      "prefix", "project", "rank",     "resume",      "run",       "samples",   "save",        "seed",
      "split",  "steps",   "tag",      "tensorboard", "timestamp", "tokenizer", "version",     "wandb",
      "warmup", "weight"};
  std::string word;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool ends = i == name.size() || name[i] == '_' || name[i] == '.' || name[i] == '-';
    if (!ends) {
      word += lower_case(name[i]);
      continue;
    }
    if (std::find(kOther.begin(), kOther.end(), word) != kOther.end()) return false;
    word.clear();
  }
  return true;
}

const LogArgument* first_difference(const std::vector<LogArgument>& first,
                                    const std::vector<LogArgument>& later) {
  for (const LogArgument& argument : later) {
    if (!may_change_speed(argument.name)) continue;
    const auto same = std::find_if(first.begin(), first.end(),
                                   [&](const LogArgument& other) { return other.name == argument.name; });
    if (same == first.end() || same->value != argument.value) return &argument;
  }
  return nullptr;
}

}  // namespace vtrain
