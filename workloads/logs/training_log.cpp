#include "workloads/logs/training_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.hpp"
#include "core/io/input.hpp"
#include "workloads/logs/arguments.hpp"
#include "workloads/logs/step_line.hpp"

namespace vtrain {
namespace {

/// The steps of one kind of line.
struct StepSeries {
  std::vector<LoggedStep> steps{};
  std::string label{};  ///< rank of the first line, whose lines count
  std::int64_t num_repeated = 0;
  bool started = false;           ///< a mark of a start came since the last step
  bool begins_with_mark = false;  ///< a mark came before the first step
};

/// Groups of kinds that one run can print.
enum class LogFamily : std::uint8_t { Megatron, NeMo, Torchtitan };

LogFamily family_of(StepLineKind kind) {
  if (kind == StepLineKind::NeMo) return LogFamily::NeMo;
  return kind == StepLineKind::Torchtitan ? LogFamily::Torchtitan : LogFamily::Megatron;
}

LogFramework framework_of(StepLineKind kind) {
  switch (kind) {
    case StepLineKind::BridgeStep:
      return LogFramework::MegatronBridge;
    case StepLineKind::NeMo:
      return LogFramework::NeMo;
    case StepLineKind::Torchtitan:
      return LogFramework::Torchtitan;
    case StepLineKind::DeepSpeedPipe:
    case StepLineKind::DeepSpeed:
      return LogFramework::DeepSpeed;
    case StepLineKind::Megatron:
      break;
  }
  return LogFramework::Megatron;
}

/// True if more iterations came before the first line than a line covers.
bool begins_amid(const std::vector<LoggedStep>& steps) {
  if (steps.size() < 2 || steps[1].start != 0) return false;
  constexpr std::int64_t kFirst = 3;
  return steps[0].iteration > kFirst && steps[0].iteration > steps[1].iteration - steps[0].iteration;
}

/// Forms of arguments, those that say most first.
constexpr std::array kForms = {ArgumentForm::Block, ArgumentForm::Json, ArgumentForm::CommandLine,
                               ArgumentForm::DeepSpeed};

void keep_peak(std::optional<Bytes>& peak, const std::optional<Bytes>& other) {
  if (other && (!peak || *peak < *other)) peak = other;
}

/// Reads a log line by line.
class LogScan {
 public:
  explicit LogScan(const std::string& file) { log_.file = file; }

  Result<void> take(std::string_view raw, std::int64_t number);
  Result<TrainingLog> finish(std::int64_t num_lines);

 private:
  StepSeries& series(StepLineKind kind) { return series_[static_cast<std::size_t>(kind)]; }
  void mark_start() {
    for (StepSeries& one : series_)
      one.started = true;
  }
  Result<void> check_batch(const StepLine& step, std::int64_t number);
  void add_step(const StepLine& step, std::string_view label, std::int64_t number);
  Result<void> keep_arguments();
  Result<StepLineKind> choose_kind(std::int64_t num_lines) const;

  TrainingLog log_;
  std::array<StepSeries, kNumStepLineKinds> series_{};
  ArgumentCollector collector_;
  bool has_new_arguments_ = false;
  std::int64_t batch_line_ = 0;  ///< first line that says the global batch
  std::array<std::vector<LogArgument>, kNumArgumentForms> arguments_{};  ///< arguments of the first start
};

Result<void> LogScan::take(std::string_view raw, std::int64_t number) {
  const std::string line = without_escapes(raw);
  const std::string_view label = rank_label(line);
  const std::string_view rest =
      label.empty() ? std::string_view(line) : std::string_view(line).substr(line.find(label) + label.size());
  if (const auto step = read_step_line(rest)) {
    collector_.close();
    if (auto kept = keep_arguments(); !kept) return kept;
    if (auto checked = check_batch(*step, number); !checked) return checked;
    add_step(*step, label, number);
  } else if (collector_.take(rest, label, number)) {
    has_new_arguments_ = true;
    mark_start();
  } else if (marks_start(rest)) {
    mark_start();
  }
  const MemoryLine memory = read_memory_line(rest);
  keep_peak(log_.allocated, memory.allocated);
  keep_peak(log_.reserved, memory.reserved);
  return {};
}

Result<void> LogScan::check_batch(const StepLine& step, std::int64_t number) {
  if (step.global_batch == 0 || step.global_batch == log_.global_batch) return {};
  if (log_.global_batch == 0) {
    log_.global_batch = step.global_batch;
    batch_line_ = number;
    return {};
  }
  return fail(
      {.file = log_.file,
       .line = number,
       .field = "global batch size",
       .message = fmt::format("{} here, and {} in line {}: a batch that grows is not predicted. Give a part "
                              "of the log with one batch",
                              step.global_batch, log_.global_batch, batch_line_)});
}

void LogScan::add_step(const StepLine& step, std::string_view label, std::int64_t number) {
  StepSeries& one = series(step.kind);
  if (one.steps.empty()) {
    one.label = label;
    one.begins_with_mark = one.started;
  }
  if (one.label != label) {
    ++one.num_repeated;
    return;
  }
  LoggedStep next{.iteration = step.iteration.value_or(static_cast<std::int64_t>(one.steps.size()) + 1),
                  .value = step.value,
                  .line = number};
  if (!one.steps.empty()) {
    const LoggedStep& last = one.steps.back();
    next.start = last.start;
    const bool is_again = next.iteration == last.iteration ||
                          (one.steps.size() > 1 && next.iteration == (&last - 1)->iteration);
    if (!one.started && is_again) {
      ++one.num_repeated;  // ranks without a label print the same line
      return;
    }
    if (one.started || next.iteration < last.iteration) ++next.start;
  }
  one.started = false;
  one.steps.push_back(next);
}

Result<void> LogScan::keep_arguments() {
  if (!has_new_arguments_) return {};
  has_new_arguments_ = false;
  for (const ArgumentForm form : kForms) {
    std::vector<LogArgument>& first = arguments_[static_cast<std::size_t>(form)];
    const std::vector<LogArgument>& found = collector_.found(form);
    if (found.empty()) continue;
    if (first.empty()) {
      first = found;
    } else if (const LogArgument* other = first_difference(first, found)) {
      const auto before = std::find_if(first.begin(), first.end(),
                                       [&](const LogArgument& one) { return one.name == other->name; });
      return fail({.file = log_.file,
                   .line = other->line,
                   .field = printable(other->name),
                   .message = fmt::format(
                       "the log has two runs: here the argument is '{}', {}. Give each "
                       "run as a log of its own",
                       printable(other->value),
                       before == first.end()
                           ? fmt::format("the start at line {} lacks it", first.front().line)
                           : fmt::format("in line {} it is '{}'", before->line, printable(before->value)))});
    }
  }
  collector_.clear();
  return {};
}

Result<StepLineKind> LogScan::choose_kind(std::int64_t num_lines) const {
  // In this order: of the lines that one program prints, the one with most digits first.
  constexpr std::array kKinds = {StepLineKind::Megatron,   StepLineKind::NeMo,
                                 StepLineKind::Torchtitan, StepLineKind::DeepSpeedPipe,
                                 StepLineKind::BridgeStep, StepLineKind::DeepSpeed};
  const auto steps = [this](StepLineKind kind) -> const std::vector<LoggedStep>& {
    return series_[static_cast<std::size_t>(kind)].steps;
  };
  const auto chosen =
      std::find_if(kKinds.begin(), kKinds.end(), [&](auto kind) { return !steps(kind).empty(); });
  if (chosen == kKinds.end()) {
    return fail({.file = log_.file,
                 .line = num_lines,
                 .message = "no line of a training iteration up to here. Known are the logs of Megatron-LM "
                            "(`iteration 10/ 500 | ... | elapsed time per iteration (ms): 812.0`), "
                            "Megatron-Bridge, NeMo (`train_step_timing in s: 2.1`), torchtitan (`step: 10 "
                            "loss: ... tps: 6,344`), DeepSpeed (`iter time (s): 0.936`, "
                            "`CurrSamplesPerSec=12.5`), and CSV files of Weights & Biases"});
  }
  for (const StepLineKind kind : kKinds) {
    if (steps(kind).empty() || family_of(kind) == family_of(*chosen)) continue;
    const bool later = steps(kind).front().line > steps(*chosen).front().line;
    const StepLineKind first = later ? *chosen : kind;
    const StepLineKind second = later ? kind : *chosen;
    return fail({.file = log_.file,
                 .line = steps(second).front().line,
                 .message = fmt::format("the log has two runs: this is a line of {}, line {} is one of {}. "
                                        "Give each run as a log of its own",
                                        name_of(framework_of(second)), steps(first).front().line,
                                        name_of(framework_of(first)))});
  }
  return *chosen;
}

Result<TrainingLog> LogScan::finish(std::int64_t num_lines) {
  const auto kind = choose_kind(num_lines);
  if (!kind) return fail(kind.error());
  StepSeries& chosen = series(*kind);
  log_.framework = framework_of(*kind);
  if (*kind == StepLineKind::Megatron && !series(StepLineKind::BridgeStep).steps.empty())
    log_.framework = LogFramework::MegatronBridge;
  log_.unit = unit_of(*kind);
  log_.steps = std::move(chosen.steps);
  log_.begins_amid = !chosen.begins_with_mark && begins_amid(log_.steps);
  log_.num_starts = log_.steps.back().start + 1;
  log_.num_repeated = chosen.num_repeated;
  for (const ArgumentForm form : kForms) {
    std::vector<LogArgument>& found = arguments_[static_cast<std::size_t>(form)];
    if (found.empty()) continue;
    log_.form = form;
    log_.arguments = std::move(found);
    break;
  }
  return std::move(log_);
}

}  // namespace

std::string_view name_of(LogFramework framework) {
  switch (framework) {
    case LogFramework::Megatron:
      return "Megatron-LM";
    case LogFramework::MegatronBridge:
      return "Megatron-Bridge";
    case LogFramework::NeMo:
      return "NeMo";
    case LogFramework::Torchtitan:
      return "torchtitan";
    case LogFramework::DeepSpeed:
      return "DeepSpeed";
    case LogFramework::Wandb:
      return "Weights & Biases";
  }
  return "";
}

Result<TrainingLog> parse_training_log(std::string_view text, const std::string& file) {
  if (is_wandb_export(text)) return parse_wandb_export(text, file);
  LogScan scan(file);
  std::int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // Progress bars return to the beginning of their line.
    while (!line.empty()) {
      const std::size_t part = std::min(line.find('\r'), line.size());
      constexpr std::size_t kLongest = std::size_t{1} << 16;
      if (part > 0 && part <= kLongest) {
        if (auto taken = scan.take(line.substr(0, part), number); !taken) return fail(taken.error());
      }
      line.remove_prefix(std::min(part + 1, line.size()));
    }
  }
  return scan.finish(std::max<std::int64_t>(number, 1));
}

Result<TrainingLog> read_training_log(const std::filesystem::path& path) {
  auto text = read_file(path, InputKind::TrainingLog);
  if (!text) return fail(text.error());
  return parse_training_log(*text, path.string());
}

}  // namespace vtrain
