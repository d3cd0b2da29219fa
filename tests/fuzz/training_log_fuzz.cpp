// Any bytes give an error with a file and a message, or a log whose steps are positive, in order of their
// lines and starts. Its steady time, if there is one, lies within the range of its steps.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/logs/steady_time.hpp"
#include "workloads/logs/training_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto log = parse_training_log(text, "input");
  if (!log) {
    if (log.error().message.empty() || log.error().file != "input" || log.error().line < 1) std::abort();
    return 0;
  }
  if (log->steps.empty() || log->num_starts != log->steps.back().start + 1) std::abort();
  const LoggedStep* before = nullptr;
  for (const LoggedStep& step : log->steps) {
    if (!(step.value > 0) || !std::isfinite(step.value) || step.line < 1) std::abort();
    if (before != nullptr && (step.line < before->line || step.start < before->start)) std::abort();
    before = &step;
  }
  for (const LogArgument& argument : log->arguments) {
    if (argument.name.empty() || argument.line < 1) std::abort();
  }
  const std::vector<LoggedStep> steps = steps_in_seconds(*log, {.samples = 8, .tokens = 32768, .gpus = 8});
  const auto time = steady_time(*log, steps);
  if (!time) {
    if (time.error().line < 1) std::abort();
    return 0;
  }
  const auto [least, most] = std::minmax_element(
      steps.begin(), steps.end(), [](const LoggedStep& a, const LoggedStep& b) { return a.value < b.value; });
  if (time->median.count() < least->value || time->median.count() > most->value) std::abort();
  if (time->num_steady + time->num_warm_up + time->num_slow + time->num_fast != steps.size()) std::abort();
  return 0;
}
