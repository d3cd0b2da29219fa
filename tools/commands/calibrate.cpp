/// `vtrain profile calibrate`: factors for software stacks and GPUs, fitted to measured iterations.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/cross_validation.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/validation/case_prediction.hpp"

namespace vtrain {
namespace {

struct CalibrateArguments {
  std::vector<std::string> cases;
  std::string output;
  std::string profile;
  double percent = 10;
  std::size_t least_rows = 3;
  bool json = false;
};

std::string command_line(const CalibrateArguments& arguments) {
  std::string text = "vtrain profile calibrate";
  for (const std::string& file : arguments.cases)
    text += " " + printable(std::filesystem::path(file).filename().string());
  if (!arguments.profile.empty()) text += " --profile " + printable(arguments.profile);
  return text + fmt::format(" --percent {} --least-rows {}", arguments.percent, arguments.least_rows);
}

std::string percent_or_dash(const Accuracy& accuracy) {
  return accuracy.num_rows == 0 ? "-" : fmt::format("{:.1f} %", accuracy.mape_percent);
}

/// Number of pairs of stack and GPU that have runs.
std::size_t num_stacks_and_gpus(const CasePredictions& cases) {
  std::set<std::pair<std::string, std::string>> found;
  for (const CasePrediction& prediction : cases.predicted)
    found.emplace(prediction.measured.stack.name, prediction.profile);
  return found.size();
}

std::string to_text(const Calibration& calibration) {
  TextTable table({"stack", "GPU", "products", "memory", "comm", "fitted rows", "MAPE", "tested rows",
                   "before", "after"});
  for (const CalibratedStack& stack : calibration.stacks) {
    table.add_row({stack.stack, stack.profile, fmt::format("{:.3f}", stack.factors.product),
                   fmt::format("{:.3f}", stack.factors.memory),
                   fmt::format("{:.3f}", stack.factors.communication), std::to_string(stack.fitted.num_rows),
                   percent_or_dash(stack.fitted), std::to_string(stack.held_out.num_rows),
                   percent_or_dash(stack.held_out_before), percent_or_dash(stack.held_out)});
  }
  return table.to_string();
}

/// Reports the number of records of a file that the fit leaves out.
void warn_of_skipped(const CasePredictions& cases, const std::string& file) {
  if (cases.skipped.empty()) return;
  log_warning(fmt::format("{}: {} of {} records cannot be predicted; `vtrain validate` says why", file,
                          cases.skipped.size(), cases.skipped.size() + cases.predicted.size()));
}

/// Warns of stacks with large remaining errors. Factors are always kept near 1.
void warn_of_what_is_left(const Calibration& calibration) {
  constexpr double kMuchPercent = 10;
  for (const CalibratedStack& stack : calibration.stacks) {
    const double bias = stack.fitted.bias_percent;
    if (std::abs(bias) < kMuchPercent) continue;
    log_warning(fmt::format(
        "{} on {}: after fitting the runs still take {:.0f} % {} time than predicted. Factors stay near 1 by "
        "design: check the profile, the stack and the GPUs' clocks",
        stack.stack, stack.profile, std::abs(100 / (1 + bias / 100) - 100), bias < 0 ? "more" : "less"));
  }
}

Result<void> calibrate_stacks(const CalibrateArguments& arguments) {
  if (auto checked = check_files_differ("file", arguments.cases); !checked) return checked;
  auto targets = CaseTargets::open(arguments.profile);
  if (!targets) return fail(in_target_option(std::move(targets.error())));
  CasePredictions cases;
  for (const std::string& file : arguments.cases) {
    auto read = read_measured_cases(file);
    if (!read) return fail(read.error());
    // The rows of tables have numbers, not names.
    for (MeasuredCase& measured : read->cases) {
      if (measured.id.starts_with("line "))
        measured.id = std::filesystem::path(file).filename().string() + " " + measured.id;
    }
    CasePredictions predicted = predict_cases(*read, *targets);
    warn_of_skipped(predicted, file);
    std::move(predicted.predicted.begin(), predicted.predicted.end(), std::back_inserter(cases.predicted));
  }
  // Part 0 of as many parts as make up the whole.
  const int num_parts = num_folds_of(arguments.percent);
  Calibration calibration = calibrate(cases, *targets, [num_parts](const std::string& configuration) {
    return fold_of(configuration, num_parts) == 0;
  });
  std::erase_if(calibration.stacks,
                [&](const CalibratedStack& stack) { return stack.fitted_on.size() < arguments.least_rows; });
  calibration.made_by = command_line(arguments);
  if (calibration.stacks.empty()) {
    return fail(
        {.kind = ErrorKind::Failed,
         .message = fmt::format("no stack and GPU has {} cases that can be predicted in one of {} parts: "
                                "--percent makes parts larger, --least-rows asks for fewer",
                                arguments.least_rows, num_parts)});
  }
  warn_of_what_is_left(calibration);
  const std::string document = calibration_json(calibration);
  if (auto written = write_file(arguments.output, document); !written) return written;
  std::string text = to_text(calibration);
  const std::size_t num_stacks = num_stacks_and_gpus(cases);
  if (calibration.stacks.size() < num_stacks) {
    text += fmt::format(
        "left out: {} of {} stacks and GPUs, fewer than {} records in the part to fit on (--least-rows)\n",
        num_stacks - calibration.stacks.size(), num_stacks, arguments.least_rows);
  }
  text += fmt::format("\nwritten: {}\n", arguments.output);
  print_text(summary_stream(arguments.output), "{}", arguments.json ? document : text);
  return {};
}

}  // namespace

void add_calibrate_command(CLI::App& profile, Action& action) {
  CLI::App* command = profile.add_subcommand(
      "calibrate",
      "Fit correction factors for each software stack and GPU to measured iterations, and test them on "
      "iterations that were not fitted.\n\n  vtrain profile calibrate runs.json --out calibration.json\n  "
      "vtrain validate runs.json --calibrate calibration.json");
  const auto arguments = std::make_shared<CalibrateArguments>();
  command
      ->add_option("CASES", arguments->cases, "Files of measured iterations, as `vtrain validate` reads them")
      ->required();
  command->add_option("--out", arguments->output, "File to write")->required();
  command
      ->add_option("--percent", arguments->percent,
                   "Largest share of configurations to fit on, in per cent; the rest is for testing")
      ->transform(number_between(1, 50))
      ->capture_default_str();
  command
      ->add_option("--least-rows", arguments->least_rows,
                   "Fewest cases to fit on; stacks and GPUs with fewer are left out")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--profile", arguments->profile,
                      "One GPU profile for all cases, in place of each GPU's own");
  command->add_flag("--json", arguments->json, "Print the file that is written");
  command->callback([=, &action] { action = [=] { return calibrate_stacks(*arguments); }; });
}

}  // namespace vtrain
