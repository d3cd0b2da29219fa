/// CSV files of Weights & Biases: of a chart (`"Step","RUN - METRIC","RUN - METRIC__MIN",…`) or of the
/// history of a run (`_step,_runtime,METRIC,…`).
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "workloads/logs/training_log.hpp"

namespace vtrain {
namespace {

/// A metric that frameworks send to Weights & Biases.
struct WandbMetric {
  std::string_view name;
  StepUnit unit = StepUnit::Time;
  double factor = 1;              ///< factor that turns a value into its unit
  bool is_time_of_start = false;  ///< time since the start; its differences count
};

/// Metrics by preference.
constexpr std::array kMetrics = {
    WandbMetric{"iteration-time", StepUnit::Time},              // Megatron-LM
    WandbMetric{"train_step_timing in s", StepUnit::Time},      // NeMo
    WandbMetric{"train_step_timing", StepUnit::Time},           // NeMo
    WandbMetric{"time_metrics/end_to_end(s)", StepUnit::Time},  // torchtitan
    WandbMetric{"iteration_time_ms", StepUnit::Time, 1e-3},
    WandbMetric{"throughput(tps)", StepUnit::TokensPerGpu},  // torchtitan
    WandbMetric{"tps", StepUnit::TokensPerGpu},
    WandbMetric{"wps", StepUnit::TokensPerGpu},
    WandbMetric{"tokens_per_sec_per_gpu", StepUnit::TokensPerGpu},            // NeMo
    WandbMetric{"throughput/device/tokens_per_sec", StepUnit::TokensPerGpu},  // Composer
    WandbMetric{"throughput/tokens_per_sec", StepUnit::Tokens},               // Composer
    WandbMetric{"throughput/samples_per_sec", StepUnit::Samples},
    WandbMetric{"train/samples_per_second", StepUnit::Samples},
    WandbMetric{"train/train_samples_per_second", StepUnit::Samples},
    WandbMetric{"_runtime", StepUnit::Time, 1, true},
    WandbMetric{"Relative Time (Process)", StepUnit::Time, 1, true},
};

bool is_step_column(std::string_view name) {
  return name == "_step" || name == "Step" || name == "step" || name == "global_step" ||
         name == "trainer/global_step";
}

/// The metric of a column: its name, or what follows the run's name; none for bounds of several values.
std::string_view metric_of(std::string_view column) {
  if (column.ends_with("__MIN") || column.ends_with("__MAX")) return {};
  const std::size_t dash = column.rfind(" - ");
  return dash == std::string_view::npos ? column : column.substr(dash + 3);
}

/// The first metric of the list that the file has, with the position of its column.
struct Found {
  const WandbMetric* metric = nullptr;
  int column = -1;
  int other = -1;  ///< a second column with this metric, which is that of another run
};

Found find_metric(const std::vector<std::string>& columns) {
  for (const WandbMetric& metric : kMetrics) {
    Found found{.metric = &metric};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (metric_of(columns[i]) != metric.name) continue;
      (found.column < 0 ? found.column : found.other) = static_cast<int>(i);
    }
    if (found.column >= 0) return found;
  }
  return {};
}

int find_steps(const std::vector<std::string>& columns) {
  const auto found = std::find_if(columns.begin(), columns.end(), is_step_column);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

}  // namespace

bool is_wandb_export(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  constexpr std::size_t kLongest = std::size_t{1} << 16;
  if (first.size() > kLongest || first.find(',') == std::string_view::npos) return false;
  const auto reader = CsvReader::open(first, "");
  return reader && find_steps(reader->columns()) >= 0 && find_metric(reader->columns()).metric != nullptr;
}

Result<TrainingLog> parse_wandb_export(std::string_view text, const std::string& file) {
  auto opened = CsvReader::open(text, file);
  if (!opened) return fail(std::move(opened.error()));
  CsvReader& reader = *opened;
  const int steps = find_steps(reader.columns());
  const Found found = find_metric(reader.columns());
  if (steps < 0 || found.metric == nullptr)
    return fail({.file = file, .line = 1, .message = "no columns of steps and of their times"});
  if (found.other >= 0) {
    return fail(
        {.file = file,
         .line = 1,
         .field = printable(reader.columns()[static_cast<std::size_t>(found.other)]),
         .message = fmt::format("the table has two runs: '{}' is the other one. Export each run alone",
                                printable(reader.columns()[static_cast<std::size_t>(found.column)]))});
  }
  constexpr double kMost = 1e18;
  TrainingLog log{.file = file, .framework = LogFramework::Wandb, .unit = found.metric->unit};
  std::optional<LoggedStep> before;  // the row before, of times since the start
  std::int64_t line = 1;
  while (true) {
    const auto more = reader.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    line = reader.line();
    const std::string_view cell = trim(reader.field(found.column));
    if (cell.empty() || equal_in_any_case(cell, "nan")) continue;  // a row of other metrics
    const auto iteration = reader.integer(steps, 0, std::int64_t{1} << 53);
    if (!iteration) return fail(iteration.error());
    const auto value = reader.number(found.column, 0, kMost);
    if (!value) return fail(value.error());
    LoggedStep step{.iteration = *iteration, .value = *value * found.metric->factor, .line = line};
    if (!log.steps.empty()) {
      step.start = log.steps.back().start;
      if (step.iteration < log.steps.back().iteration) ++step.start;
    }
    if (found.metric->is_time_of_start) {
      const std::optional<LoggedStep> last = std::exchange(before, step);
      if (!last || step.iteration <= last->iteration) continue;
      step.value = (step.value - last->value) / static_cast<double>(step.iteration - last->iteration);
    }
    if (step.value > 0) log.steps.push_back(step);
  }
  if (log.steps.empty())
    return fail({.file = file,
                 .line = line,
                 .message = fmt::format("no row has a value of '{}'", found.metric->name)});
  log.num_starts = log.steps.back().start + 1;
  return log;
}

}  // namespace vtrain
