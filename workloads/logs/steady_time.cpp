#include "workloads/logs/steady_time.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// The value below which a share of values lies, linear between two of them; `values` are in order.
double quantile(const std::vector<double>& values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

/// The middle value, or the mean of the two in the middle.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

/// The steps after warm-up.
std::vector<LoggedStep> without_warm_up(const std::vector<LoggedStep>& steps, bool begins_amid) {
  std::vector<LoggedStep> rest;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool starts = i == 0 ? !begins_amid : steps[i].start != steps[i - 1].start;
    if (starts) first = steps[i].iteration;
    const bool is_amid = begins_amid && steps[i].start == 0;
    if (is_amid || (!starts && steps[i].iteration >= first + kWarmUpIterations)) rest.push_back(steps[i]);
  }
  return rest;
}

Error too_few(const TrainingLog& log, std::size_t num_steady, std::size_t num_warm_up) {
  return {.file = log.file,
          .line = log.steps.back().line,
          .message = fmt::format(
              "the log ends here with {} steady iteration line{}; expected {} or more after "
              "the first {} iterations of each start ({} left out). Is it cut off?",
              num_steady, num_steady == 1 ? "" : "s", kLeastSteadyLines, kWarmUpIterations, num_warm_up)};
}

/// An error if starts have medians that one run does not have.
Result<void> check_starts(const TrainingLog& log, const std::vector<LoggedStep>& rest) {
  constexpr double kMostRatio = 1.25;
  if (log.form != ArgumentForm::None) return {};
  double first = 0;
  std::int64_t first_line = 0;
  for (auto begin = rest.begin(); begin != rest.end();) {
    const auto end =
        std::find_if(begin, rest.end(), [&](const LoggedStep& step) { return step.start != begin->start; });
    std::vector<double> values;
    std::transform(begin, end, std::back_inserter(values), [](const LoggedStep& step) { return step.value; });
    const double own = median(values);
    if (first_line == 0) {
      first = own;
      first_line = begin->line;
    } else if (std::max(own / first, first / own) > kMostRatio) {
      return fail(
          {.file = log.file,
           .line = begin->line,
           .message = fmt::format("from here an iteration takes {:.4g} s, from line {} {:.4g} s, and no "
                                  "arguments show that both are one run. Give each run as a log of its own",
                                  own, first_line, first)});
    }
    begin = end;
  }
  return {};
}

}  // namespace

std::vector<LoggedStep> steps_in_seconds(const TrainingLog& log, const IterationSize& size) {
  std::vector<LoggedStep> steps = log.steps;
  for (LoggedStep& step : steps) {
    switch (log.unit) {
      case StepUnit::Time:
        break;
      case StepUnit::TokensPerGpu:
        step.value = size.tokens / size.gpus / step.value;
        break;
      case StepUnit::Tokens:
        step.value = size.tokens / step.value;
        break;
      case StepUnit::Samples:
        step.value = size.samples / step.value;
        break;
    }
  }
  return steps;
}

Result<SteadyTime> steady_time(const TrainingLog& log, const std::vector<LoggedStep>& steps) {
  constexpr double kDeviations = 5;
  constexpr double kDeviationOfMedian = 1.4826;  // of a normal distribution
  constexpr double kLeastDifference = 0.05;
  const std::vector<LoggedStep> rest = without_warm_up(steps, log.begins_amid);
  SteadyTime result{.num_warm_up = steps.size() - rest.size()};
  if (rest.size() < kLeastSteadyLines) return fail(too_few(log, rest.size(), result.num_warm_up));
  if (auto checked = check_starts(log, rest); !checked) return fail(checked.error());
  std::vector<double> values;
  for (const LoggedStep& step : rest)
    values.push_back(step.value);
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values)
    distances.push_back(std::abs(value - middle));
  const double limit =
      std::max(kDeviations * kDeviationOfMedian * median(distances), kLeastDifference * middle);
  std::vector<double> steady;
  for (const double value : values) {
    if (value > middle + limit) {
      ++result.num_slow;
    } else if (value < middle - limit) {
      ++result.num_fast;
    } else {
      steady.push_back(value);
    }
  }
  if (steady.size() < kLeastSteadyLines) return fail(too_few(log, steady.size(), result.num_warm_up));
  std::sort(steady.begin(), steady.end());
  result.num_steady = steady.size();
  result.median = Seconds(median(steady));
  result.first_quartile = Seconds(quantile(steady, 0.25));
  result.third_quartile = Seconds(quantile(steady, 0.75));
  result.mean =
      Seconds(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
  return result;
}

}  // namespace vtrain
