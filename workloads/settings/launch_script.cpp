#include "workloads/settings/launch_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "workloads/settings/shell_expander.hpp"

namespace vtrain {
namespace {

using Word = std::pair<std::string, std::int64_t>;
using Words = std::vector<Word>;

/// Options that only a training command has.
constexpr std::array<std::string_view, 8> kTrainingMarks = {"num_layers",
                                                            "hidden_size",
                                                            "micro_batch_size",
                                                            "global_batch_size",
                                                            "seq_length",
                                                            "tensor_model_parallel_size",
                                                            "pipeline_model_parallel_size",
                                                            "deepspeed_config"};

/// True for `--num-layers` and for `-N`; numbers like `-1` are values.
bool is_option(std::string_view word) {
  if (word.starts_with("--"))
    return word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[2])) != 0;
  return false;
}

/// Words as text, with those that hold several options split.
Words words_of(const ShellCommand& command) {
  Words words;
  for (const ShellText& word : command.words) {
    const std::string text = word.shown();
    const std::string known = word.known();
    const bool holds_options = is_option(trim(known)) || known.find(" --") != std::string::npos;
    if (!holds_options || text.find_first_of(" \t\n") == std::string::npos) {
      words.emplace_back(text, word.line());
      continue;
    }
    ShellText part;
    for (std::size_t i = 0; i <= word.chars.size(); ++i) {
      const bool ends =
          i == word.chars.size() || std::isspace(static_cast<unsigned char>(word.chars[i])) != 0;
      if (!ends) part.add(word.chars[i], word.lines[i]);
      if (ends && !part.chars.empty()) {
        words.emplace_back(part.shown(), part.line());
        part = {};
      }
    }
  }
  return words;
}

bool has_training_mark(const Words& words) {
  return std::any_of(words.begin(), words.end(), [](const Word& word) {
    if (!is_option(word.first)) return false;
    const std::string name = plain_setting_name(word.first.substr(0, word.first.find('=')));
    return std::find(kTrainingMarks.begin(), kTrainingMarks.end(), name) != kTrainingMarks.end();
  });
}

/// Position after the program that is trained with: a Python file, or a module after `-m`. 0 without one.
std::size_t first_argument(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].first.ends_with(".py")) return i + 1;
    const bool is_module = words[i].first == "-m" && i + 1 < words.size();
    const bool is_launcher = is_module && words[i + 1].first.starts_with("torch.distributed");
    if (is_module && !is_launcher) return i + 2;
  }
  return 0;
}

/// Options of launchers and of Slurm that give the number of GPUs, under the names of torchrun.
constexpr auto kLauncherOptions = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"nproc_per_node", "nproc_per_node"},
    {"nnodes", "nnodes"},
    {"num_gpus", "nproc_per_node"},
    {"num_nodes", "nnodes"},
    {"nodes", "nnodes"},
    {"gpus_per_node", "nproc_per_node"},
    {"ntasks_per_node", "nproc_per_node"},
    {"gres", "nproc_per_node"},
});

void add_launcher_options(const Words& words, bool is_slurm, std::vector<NamedSetting>& settings) {
  for (NamedSetting setting : settings_of_words(words)) {
    const std::string name = plain_setting_name(setting.name);
    for (const auto& [known, alias] : kLauncherOptions) {
      if (name != known || (is_slurm != (known == "nodes" || known == "gpus_per_node" ||
                                         known == "ntasks_per_node" || known == "gres")))
        continue;
      // gpu:8 and gpu:h100:8
      if (known == "gres" || known == "gpus_per_node")
        setting.value = setting.value.substr(setting.value.rfind(':') + 1);
      if (setting.value.find(' ') != std::string::npos) setting.value.resize(setting.value.find(' '));
      const auto is_number = std::all_of(setting.value.begin(), setting.value.end(),
                                         [](char c) { return c >= '0' && c <= '9'; });
      if (is_slurm && (!is_number || setting.value.empty())) continue;
      setting.alias = alias;
      settings.push_back(setting);
    }
  }
}

tl::unexpected<Error> no_options(const std::string& file) {
  return fail(
      {.file = file,
       .message = "no training command: expected options as --num-layers 32, in a launch script or alone"});
}

}  // namespace

std::vector<NamedSetting> settings_of_words(const std::vector<std::pair<std::string, std::int64_t>>& words) {
  std::vector<NamedSetting> settings;
  for (const auto& [word, line] : words) {
    if (is_option(word)) {
      const std::size_t equals = word.find('=');
      settings.push_back({.name = word.substr(0, equals),
                          .value = equals == std::string::npos ? "" : word.substr(equals + 1),
                          .line = line});
    } else if (!settings.empty()) {
      std::string& value = settings.back().value;
      if (!value.empty()) value += ' ';
      value += word;
    }
  }
  return settings;
}

Result<LaunchScript> parse_launch_script(std::string_view text, const std::string& file) {
  ShellExpander expander(file);
  if (auto run = expander.run(text); !run) return fail(std::move(run.error()));
  LaunchScript script{.settings = {}, .remarks = expander.remarks()};
  for (const ShellCommand& options : expander.slurm_options())
    add_launcher_options(words_of(options), true, script.settings);
  const Words* chosen = nullptr;
  std::vector<Words> commands;
  for (const ShellCommand& command : expander.commands())
    commands.push_back(words_of(command));
  for (const Words& words : commands) {
    if (!has_training_mark(words)) {
      add_launcher_options(words, true, script.settings);
      continue;
    }
    if (chosen != nullptr && *chosen != words) {
      const auto line_of = [](const Words& of) { return of.front().second; };
      return fail({.file = file,
                   .line = line_of(words),
                   .message = fmt::format("expected one training command, found another one in line {}",
                                          line_of(*chosen))});
    }
    chosen = &words;
  }
  Words assigned;
  if (chosen == nullptr) {
    for (const ShellCommand& values : expander.assigned()) {
      const Words words = words_of(values);
      if (std::any_of(words.begin(), words.end(), [](const Word& word) { return is_option(word.first); }))
        assigned.insert(assigned.end(), words.begin(), words.end());
    }
    if (!has_training_mark(assigned)) return no_options(file);
    script.remarks.emplace_back(
        "no training command: all options that the script assigns to variables are read");
    chosen = &assigned;
  }
  const std::size_t first = first_argument(*chosen);
  const auto middle = chosen->begin() + static_cast<std::ptrdiff_t>(first);
  add_launcher_options({chosen->begin(), middle}, false, script.settings);
  add_launcher_options({chosen->begin(), middle}, true, script.settings);
  const std::vector<NamedSetting> options = settings_of_words({middle, chosen->end()});
  script.settings.insert(script.settings.end(), options.begin(), options.end());
  return script;
}

}  // namespace vtrain
