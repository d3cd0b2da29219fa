/// `vtrain validate`: predictions against published measurements, by group.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "core/io/file.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/cross_validation.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "workloads/calibration/accuracy.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/validation/case_prediction.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct ValidateArguments {
  std::string truth;
  std::string profile;
  std::string calibration;
  std::string set_up = "recipe";
  double fit_percent = 0;
  std::string predictions;
  bool spreadsheet_safe = false;
  bool json = false;
};

/// Results for one file.
struct Validation {
  bool are_measured = true;  ///< true: the times are measured iterations
  CasePredictions cases{};
  std::vector<Outcome> outcomes{};  ///< corrected outcomes of `cases`
  std::string calibration{};        ///< calibration of the predictions; empty for none
  GroupedAccuracy times{};
  GroupedAccuracy allocated{};
  GroupedAccuracy reserved{};
  std::int64_t num_not_fitting = 0;
  std::vector<Interval> intervals{};  ///< interval of each case's time, as factors on the prediction
};

/// Share of the cases within their intervals and the mean half of an interval's width, per cent.
struct Coverage {
  double covered_percent = 0;
  double half_width_percent = 0;
};

/// Coverage of at least one case.
Coverage coverage_of(const Validation& validation) {
  Coverage coverage;
  const auto num_cases = static_cast<double>(validation.outcomes.size());
  for (std::size_t i = 0; i < validation.outcomes.size(); ++i) {
    const Interval& interval = validation.intervals[i];
    const double ratio = validation.outcomes[i].measured / validation.outcomes[i].predicted;
    if (interval.low <= ratio && ratio <= interval.high) coverage.covered_percent += 100 / num_cases;
    coverage.half_width_percent += 50 * (interval.high - interval.low) / num_cases;
  }
  return coverage;
}

std::string number_or_dash(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::vector<std::string> accuracy_row(const std::string& name, const Accuracy& accuracy) {
  if (accuracy.num_rows == 0) return {name, "0", "0", "-", "-", "-", "-", "-", "-", "-"};
  return {name,
          with_thousands(accuracy.num_rows),
          with_thousands(accuracy.num_distinct),
          fmt::format("{:.1f} %", accuracy.mape_percent),
          fmt::format("{:.1f} %", accuracy.median_ape_percent),
          fmt::format("{:.1f} %", accuracy.p95_ape_percent),
          fmt::format("{:+.1f} %", accuracy.bias_percent),
          number_or_dash(accuracy.r2, 3),
          number_or_dash(accuracy.spearman, 3),
          accuracy.top1_regret_percent ? fmt::format("{:.1f} %", *accuracy.top1_regret_percent) : "-"};
}

std::string accuracy_table(const GroupedAccuracy& accuracy) {
  TextTable table({"group", "rows", "distinct", "MAPE", "median", "p95", "bias", "R2", "Spearman", "regret"});
  for (const auto& [name, figures] : accuracy.groups)
    table.add_row(accuracy_row(name, figures));
  table.add_row(accuracy_row("all", accuracy.all));
  return table.to_string();
}

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json accuracy_json(const Accuracy& accuracy) {
  const auto of_rows = [&accuracy](double figure) {
    return accuracy.num_rows > 0 ? ordered_json(figure) : ordered_json(nullptr);
  };
  return {{"n", accuracy.num_rows},
          {"distinct", accuracy.num_distinct},
          {"mape_percent", of_rows(accuracy.mape_percent)},
          {"median_ape_percent", of_rows(accuracy.median_ape_percent)},
          {"p95_ape_percent", of_rows(accuracy.p95_ape_percent)},
          {"bias_percent", of_rows(accuracy.bias_percent)},
          {"r2", optional_json(accuracy.r2)},
          {"spearman", optional_json(accuracy.spearman)},
          {"top1_regret_percent", optional_json(accuracy.top1_regret_percent)}};
}

ordered_json groups_json(const GroupedAccuracy& accuracy) {
  ordered_json groups = ordered_json::array();
  for (const auto& [name, figures] : accuracy.groups) {
    ordered_json group = {{"group", name}};
    group.update(accuracy_json(figures));
    groups.push_back(std::move(group));
  }
  return groups;
}

/// `calibrated with published, which has factors for 12 of 28`.
std::string describe_calibrated(const Calibration& calibration, const CasePredictions& cases) {
  const auto has_factors = [&](const CasePrediction& prediction) {
    return calibration.factors(prediction.measured.stack.name, prediction.profile) != KernelFactors{};
  };
  const auto calibrated = std::count_if(cases.predicted.begin(), cases.predicted.end(), has_factors);
  return fmt::format("calibrated with {}, which has factors for {} of {}", printable(calibration.file),
                     with_thousands(calibrated), with_thousands(std::ssize(cases.predicted)));
}

/// Kind of the times in the file.
std::string_view kind_of(const Validation& validation) {
  return validation.are_measured ? "measured iterations" : "agreement with vTrain's simulator";
}

ordered_json to_json(const ValidateArguments& arguments, const Validation& validation) {
  ordered_json skipped = ordered_json::array();
  for (const SkippedCase& skip : validation.cases.skipped)
    skipped.push_back({{"id", skip.id}, {"reason", skip.reason}});
  ordered_json assumed = ordered_json::array();
  for (const CasePrediction& prediction : validation.cases.predicted) {
    if (prediction.measured.assumed.empty()) continue;
    assumed.push_back({{"id", prediction.measured.id}, {"assumed", prediction.measured.assumed}});
  }
  ordered_json root = {{"truth", arguments.truth}, {"kind", kind_of(validation)}};
  root["calibration"] =
      validation.calibration.empty() ? ordered_json(nullptr) : ordered_json(validation.calibration);
  root.update(accuracy_json(validation.times.all));
  root["interval"] = nullptr;
  if (!validation.outcomes.empty()) {
    const Coverage coverage = coverage_of(validation);
    root["interval"] = {{"coverage", kCoverage},
                        {"covered_percent", coverage.covered_percent},
                        {"mean_half_width_percent", coverage.half_width_percent}};
  }
  root["groups"] = groups_json(validation.times);
  root["memory"] = {{"allocated", accuracy_json(validation.allocated.all)},
                    {"allocated_groups", groups_json(validation.allocated)},
                    {"reserved", accuracy_json(validation.reserved.all)},
                    {"runs", validation.cases.predicted.size()},
                    {"runs_said_not_to_fit", validation.num_not_fitting}};
  root["skipped"] = std::move(skipped);
  root["assumed"] = std::move(assumed);
  root["unread_keys"] = validation.cases.unread;
  return root;
}

/// The skipped cases by reason, the most frequent first.
std::string skipped_text(const std::vector<SkippedCase>& skipped) {
  if (skipped.empty()) return {};
  std::map<std::string, std::int64_t> reasons;
  for (const SkippedCase& skip : skipped)
    ++reasons[skip.reason];
  std::vector<std::pair<std::string, std::int64_t>> ordered(reasons.begin(), reasons.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = fmt::format("\nnot predicted: {}, by what is missing or does not fit together\n",
                                 with_thousands(static_cast<std::int64_t>(skipped.size())));
  for (const auto& [reason, count] : ordered)
    text += fmt::format("  {:>4}  {}\n", with_thousands(count), reason);
  return text;
}

std::string unread_text(const std::map<std::string, std::int64_t>& unread) {
  std::string text;
  for (const auto& [key, count] : unread)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", printable(key), with_thousands(count));
  return text.empty() ? text : fmt::format("\nnot read, by number of records: {}\n", text);
}

std::string to_text(const ValidateArguments& arguments, const Validation& validation) {
  const auto num_predicted = static_cast<std::int64_t>(validation.cases.predicted.size());
  const auto num_skipped = static_cast<std::int64_t>(validation.cases.skipped.size());
  std::string text = fmt::format("truth        {}: {}\n", arguments.truth, kind_of(validation));
  text += fmt::format("predicted    {} of {} records, {}\n\n", with_thousands(num_predicted),
                      with_thousands(num_predicted + num_skipped),
                      validation.calibration.empty() ? "without calibration" : validation.calibration);
  text += accuracy_table(validation.times);
  text +=
      "distinct: configurations; regret: slowdown of the predicted-best over the measured-best "
      "configuration\n";
  if (!validation.outcomes.empty()) {
    const Coverage coverage = coverage_of(validation);
    text += fmt::format(
        "90 % intervals, each judged by other runs: {} of the rows are within; mean half-width {}\n",
        as_percent(coverage.covered_percent / 100), as_percent(coverage.half_width_percent / 100));
  }
  if (validation.allocated.all.num_rows > 0)
    text += "\npeak memory that tensors take\n" + accuracy_table(validation.allocated);
  if (validation.reserved.all.num_rows > 0)
    text += "\npeak memory that the allocator reserves\n" + accuracy_table(validation.reserved);
  if (validation.are_measured) {
    text += fmt::format("\n{1} of {0} that did run {2} wrongly predicted to run out of memory ({3})\n",
                        count_of(num_predicted, "run"), with_thousands(validation.num_not_fitting),
                        validation.num_not_fitting == 1 ? "is" : "are",
                        as_percent(num_predicted == 0 ? 0
                                                      : static_cast<double>(validation.num_not_fitting) /
                                                            static_cast<double>(num_predicted)));
  }
  return text + unread_text(validation.cases.unread) + skipped_text(validation.cases.skipped);
}

double in_gibibytes(Bytes bytes) {
  return bytes.value / kGibibyte;
}

/// Measured memory (if known) and predicted memory, in GiB, as fields of CSV.
std::string memory_fields(const std::optional<Bytes>& measured, Bytes predicted) {
  const std::string known = measured ? fmt::format("{}", in_gibibytes(*measured)) : std::string();
  return fmt::format("{},{}", known, in_gibibytes(predicted));
}

/// One line for each case: measured, predicted and assumed values.
Result<void> write_predictions(const std::string& path, const Validation& validation, CellText cells) {
  std::string csv =
      "id,group,stack,profile,tensor,context,data,pipeline,virtual_stages,expert,micro_batch,measured_s,"
      "predicted_s,error_percent,allocated_gib,predicted_allocated_gib,reserved_gib,predicted_reserved_gib,"
      "predicted_peak_gib,fits,source,kind,generation,furthest,interval_low_s,interval_high_s,assumed\n";
  for (std::size_t i = 0; i < validation.outcomes.size(); ++i) {
    const CasePrediction& prediction = validation.cases.predicted[i];
    const MeasuredCase& measured = prediction.measured;
    const ParallelPlan& plan = measured.plan;
    const Outcome& outcome = validation.outcomes[i];
    append_csv_field(csv, measured.id, cells);
    csv += fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},", measured.group, measured.stack.name,
                       prediction.profile, plan.tensor, plan.context, plan.data, plan.pipeline,
                       plan.virtual_stages, plan.expert, plan.micro_batch, outcome.measured.count(),
                       outcome.predicted.count(), 100 * relative_error(outcome));
    csv += fmt::format("{},{},{},{},", memory_fields(measured.allocated, prediction.allocated),
                       memory_fields(measured.reserved, prediction.reserved),
                       in_gibibytes(prediction.memory.peak), name_of(prediction.memory.fit()));
    append_csv_field(csv, measured.source, cells);
    const double predicted = outcome.predicted.count();
    csv += fmt::format(",{},{},{},{},{},", name_of(kind_of(measured.model)), prediction.generation,
                       prediction.furthest, predicted * validation.intervals[i].low,
                       predicted * validation.intervals[i].high);
    std::string assumed;
    for (const std::string& assumption : measured.assumed)
      assumed += (assumed.empty() ? "" : "; ") + assumption;
    append_csv_field(csv, assumed, cells);
    csv += '\n';
  }
  return write_file(path, csv);
}

Result<void> validate(const ValidateArguments& arguments) {
  const auto cases = read_measured_cases(arguments.truth);
  if (!cases) return fail(cases.error());
  const auto calibration = read_calibration(arguments.calibration);
  if (!calibration) return fail(calibration.error());
  auto targets = CaseTargets::open(arguments.profile);
  if (!targets) return fail(in_target_option(std::move(targets.error())));
  const SetUp set_up = parse_set_up(arguments.set_up).value();
  Validation validation{.are_measured = cases->are_measured, .cases = predict_cases(*cases, *targets)};
  for (const CasePrediction& prediction : validation.cases.predicted) {
    if (!prediction.memory.fits()) ++validation.num_not_fitting;
    validation.intervals.push_back(uncertainty_of(prediction, set_up).time);
  }
  if (arguments.fit_percent > 0) {
    const int num_folds = num_folds_of(arguments.fit_percent);
    CrossValidation tested = cross_validate(validation.cases, *targets, num_folds);
    validation.times = std::move(tested.accuracy);
    validation.outcomes = std::move(tested.outcomes);
    validation.calibration = fmt::format(
        "factors for each stack and GPU, fitted on one of {} parts and tested on the rest (mean over all "
        "parts)",
        num_folds);
  } else {
    validation.outcomes = calibrated_outcomes(validation.cases, *calibration, *targets);
    validation.times = accuracy_by_group(validation.outcomes);
    if (!calibration->file.empty())
      validation.calibration = describe_calibrated(*calibration, validation.cases);
  }
  validation.allocated = accuracy_by_group(allocated_outcomes(validation.cases));
  validation.reserved = accuracy_by_group(reserved_outcomes(validation.cases));
  if (!arguments.predictions.empty()) {
    if (auto written =
            write_predictions(arguments.predictions, validation,
                              arguments.spreadsheet_safe ? CellText::SpreadsheetSafe : CellText::Exact);
        !written)
      return written;
  }
  print_text(summary_stream(arguments.predictions), "{}",
             arguments.json ? json_text(to_json(arguments, validation)) : to_text(arguments, validation));
  return {};
}

}  // namespace

void add_validate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate",
                         "Compare predictions with published measurements of training iterations.\n\n"
                         "  vtrain validate docs/measured/torchtitan.json\n"
                         "  vtrain validate runs.json --fit 10 --predictions predictions.csv");
  const auto arguments = std::make_shared<ValidateArguments>();
  command
      ->add_option(
          "truth", arguments->truth,
          "Measured iterations: a JSON file of runs with their settings (docs/measured/README.md); the "
          "program `normalise` makes it of records in other forms")
      ->required();
  command->add_option(
      "--profile", arguments->profile,
      fmt::format("One GPU profile for all cases, in place of each GPU's own: {}", kProfileNameHelp));
  command->add_option("--calibrate", arguments->calibration,
                      "Correct predictions with a file of `vtrain profile calibrate`, or with `published` "
                      "(factors that come with the program)");
  add_set_up_option(*command, arguments->set_up);
  command
      ->add_option("--fit", arguments->fit_percent,
                   "Fit factors on at most this percentage of each stack's and GPU's configurations, and "
                   "report errors on the rest; mean over all such parts")
      ->transform(number_between(1, 50))
      ->excludes("--calibrate");
  command->add_option(
      "--predictions", arguments->predictions,
      "Write a CSV file with a line for each predicted case; with --fit the mean over the tests");
  add_spreadsheet_option(*command, arguments->spreadsheet_safe);
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return validate(*arguments); }; });
}

}  // namespace vtrain
