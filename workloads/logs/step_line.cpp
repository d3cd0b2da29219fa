#include "workloads/logs/step_line.hpp"

#include <algorithm>
#include <array>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMostIterations = std::int64_t{1} << 53;
constexpr double kMegabyte = 1024.0 * 1024.0;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool begins_with_three_digits(std::string_view text) {
  return text.size() >= 3 && std::all_of(text.begin(), text.begin() + 3, is_digit);
}

/// The text after the first `mark`, without blanks before it; none without the mark.
std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + mark.size());
  const std::size_t first = text.find_first_not_of(" \t=:");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

/// The number at the beginning of a text, whose thousands may be separated: `6,344`, `1.249e+03`.
std::optional<double> leading_number(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == ',' && i > 0 && is_digit(text[i - 1]) && begins_with_three_digits(text.substr(i + 1)))
      continue;
    const bool is_exponent = (letter == 'e' || letter == 'E') && i > 0 && is_digit(text[i - 1]);
    const bool is_sign = (letter == '+' || letter == '-') && i > 0 && lower_case(text[i - 1]) == 'e';
    if (!is_digit(letter) && letter != '.' && !is_exponent && !is_sign) break;
    digits += letter;
  }
  // `2.34e` or `12.` of a sentence.
  while (!digits.empty() && !is_digit(digits.back()))
    digits.pop_back();
  const auto number = parse_number(digits, 0, 1e18);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<double> positive_after(std::string_view text, std::string_view mark) {
  const auto rest = after(text, mark);
  const auto number = rest ? leading_number(*rest) : std::nullopt;
  return number && *number > 0 ? number : std::nullopt;
}

std::optional<std::int64_t> whole_after(std::string_view text, std::string_view mark) {
  const auto rest = after(text, mark);
  if (!rest) return std::nullopt;
  const std::size_t length =
      static_cast<std::size_t>(std::find_if_not(rest->begin(), rest->end(), is_digit) - rest->begin());
  const auto number = parse_integer(rest->substr(0, length), 0, kMostIterations);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<StepLine> step(StepLineKind kind, std::optional<std::int64_t> iteration,
                             std::optional<double> value) {
  if (!iteration || !value || *value <= 0) return std::nullopt;
  return StepLine{.kind = kind, .iteration = iteration, .value = *value};
}

std::optional<StepLine> with_batch(std::optional<StepLine> step_line, std::string_view line) {
  if (!step_line) return step_line;
  auto batch = whole_after(line, "global batch size");
  if (!batch) batch = whole_after(line, "global_batch_size");
  step_line->global_batch = batch.value_or(0);
  return step_line;
}

std::optional<StepLine> read_megatron(std::string_view line) {
  auto milliseconds = positive_after(line, "elapsed time per iteration (ms)");
  if (!milliseconds) milliseconds = positive_after(line, "elapsed_time_per_iteration_ms");
  if (!milliseconds) return std::nullopt;
  return with_batch(step(StepLineKind::Megatron, whole_after(line, "iteration"), *milliseconds / 1e3), line);
}

std::optional<StepLine> read_nemo(std::string_view line) {
  const auto seconds = positive_after(line, "train_step_timing in s");
  if (!seconds || !after(line, "Training epoch")) return std::nullopt;
  // The number within the epoch begins anew with each one.
  const auto global = whole_after(line, "global_step");
  return with_batch(step(StepLineKind::NeMo, global ? global : whole_after(line, "iteration"), seconds),
                    line);
}

std::optional<StepLine> read_torchtitan(std::string_view line) {
  if (!after(line, "loss:")) return std::nullopt;
  auto tokens = positive_after(line, " tps:");
  if (!tokens) tokens = positive_after(line, " wps:");
  return tokens ? step(StepLineKind::Torchtitan, whole_after(line, "step:"), tokens) : std::nullopt;
}

std::optional<StepLine> read_deepspeed_pipe(std::string_view line) {
  const auto seconds = positive_after(line, "iter time (s)");
  if (!seconds) return std::nullopt;
  const auto iteration = whole_after(line, "steps:");
  return step(StepLineKind::DeepSpeedPipe, iteration ? iteration : whole_after(line, "step:"), seconds);
}

std::optional<StepLine> read_deepspeed(std::string_view line) {
  auto samples = positive_after(line, "CurrSamplesPerSec");
  if (!samples) samples = positive_after(line, "SamplesPerSec");
  if (!samples) return std::nullopt;
  auto iteration = whole_after(line, "global_step");
  if (!iteration) {
    // `0/40, SamplesPerSec=83.49`: epoch and step
    const std::size_t comma = line.find(", ");
    const std::size_t slash = line.substr(0, comma).rfind('/');
    if (slash != std::string_view::npos) iteration = whole_after(line.substr(slash, comma - slash), "/");
  }
  return step(StepLineKind::DeepSpeed, iteration, samples);
}

/// A name of memory in a log.
struct MemoryName {
  std::string_view name;
  double unit = 1;
  bool is_reserved = false;
};

/// Names in the order in which they are looked for: of a kind, the first one counts.
constexpr std::array kMemoryNames = {
    MemoryName{"max allocated:", kMegabyte, false},
    MemoryName{"max reserved:", kMegabyte, true},
    MemoryName{"mem-max-allocated-gigabytes:", 1e9, false},
    MemoryName{"mem-max-reserved-gigabytes:", 1e9, true},
    MemoryName{"max_memory_allocated:", 1, false},
    MemoryName{"max_memory_reserved:", 1, true},
    MemoryName{"MaxMemAllocated=", kGibibyte, false},
};

}  // namespace

StepUnit unit_of(StepLineKind kind) {
  switch (kind) {
    case StepLineKind::Torchtitan:
      return StepUnit::TokensPerGpu;
    case StepLineKind::DeepSpeed:
      return StepUnit::Samples;
    default:
      return StepUnit::Time;
  }
}

std::optional<StepLine> read_step_line(std::string_view line) {
  if (line.find("per") == std::string_view::npos && line.find("tim") == std::string_view::npos &&
      line.find("Time") == std::string_view::npos && line.find("ps:") == std::string_view::npos &&
      line.find("PerSec") == std::string_view::npos) {
    return std::nullopt;
  }
  if (auto found = read_megatron(line)) return found;
  if (auto found = read_nemo(line)) return found;
  if (auto found = read_deepspeed_pipe(line)) return found;
  if (line.find("GPU utilization") != std::string_view::npos) {
    auto seconds = positive_after(line, "Step Time :");
    if (!seconds) seconds = positive_after(line, "Step Time:");
    if (seconds) return StepLine{.kind = StepLineKind::BridgeStep, .iteration = {}, .value = *seconds};
  }
  if (auto found = read_torchtitan(line)) return found;
  return read_deepspeed(line);
}

MemoryLine read_memory_line(std::string_view line) {
  MemoryLine memory;
  if (line.find("em") == std::string_view::npos) return memory;
  for (const MemoryName& name : kMemoryNames) {
    std::optional<Bytes>& peak = name.is_reserved ? memory.reserved : memory.allocated;
    if (peak) continue;
    if (const auto number = positive_after(line, name.name)) peak = Bytes(*number * name.unit);
  }
  // torchtitan: `memory: 66.91GiB(37.51%)` is the allocator's peak.
  const auto titan = after(line, "memory:");
  if (!memory.reserved && titan && titan->substr(0, 16).find("GiB(") != std::string_view::npos) {
    const auto number = leading_number(*titan);
    if (number && *number > 0) memory.reserved = Bytes(*number * kGibibyte);
  }
  return memory;
}

bool marks_start(std::string_view line) {
  constexpr std::array<std::string_view, 3> kMarks = {"[before the start of training step]",
                                                      "Training starts at step",
                                                      "Starting training loop at iteration"};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [line](std::string_view mark) { return line.find(mark) != std::string_view::npos; });
}

std::string without_escapes(std::string_view line) {
  std::string text;
  text.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b' || i + 1 == line.size() || line[i + 1] != '[') {
      text += line[i];
      continue;
    }
    // Parameters of the sequence end with a letter (ECMA-48, 5.4).
    for (i += 2; i < line.size() && (line[i] < '@' || line[i] > '~');)
      ++i;
  }
  return text;
}

std::string_view rank_label(std::string_view line) {
  const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = line.substr(blanks);
  const auto label = [&](std::size_t length) { return text.substr(0, length); };
  if (text.starts_with("[rank") || text.starts_with("[default")) {
    const std::size_t end = text.find("]:");
    if (end != std::string_view::npos && end < 16) return label(end + 2);
  }
  if (text.starts_with('(')) {
    const std::size_t end = text.find(')');
    if (end != std::string_view::npos && label(end).find("pid=") != std::string_view::npos)
      return label(end + 1);
  }
  const std::size_t digits =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  if (digits > 0 && digits < 7 && text.substr(digits, 2) == ": ") return label(digits + 1);
  return {};
}

}  // namespace vtrain
