/// `vtrain profile calibrate`: factors for software stacks and GPUs, fitted to measured iterations.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/cross_validation.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/validation/case_prediction.hpp"
#include "workloads/validation/logged_run.hpp"

namespace vtrain {
namespace {

struct CalibrateArguments {
  std::vector<std::string> cases;
  std::vector<std::string> logs;
  std::vector<std::string> configs;  ///< configurations of the logs: none, one for all, or one for each
  std::string stack;                 ///< stack of the logs; empty: that of their arguments
  std::int64_t num_gpus = 0;         ///< GPUs of each logged run; 0: the arguments say
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

/// Names of the arguments that logs need, for the n-th log.
LoggedRunNames names_of_log(const CalibrateArguments& arguments, std::size_t position) {
  LoggedRunNames names{
      .profile = arguments.profile, .stack = arguments.stack, .num_gpus = arguments.num_gpus};
  if (!arguments.configs.empty())
    names.config = arguments.configs[arguments.configs.size() == 1 ? 0 : position];
  return names;
}

std::string command_line_of_logs(const CalibrateArguments& arguments) {
  std::string text = "vtrain profile calibrate";
  const auto add = [&text](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, printable(value));
  };
  for (const std::string& file : arguments.logs)
    add("--log", std::filesystem::path(file).filename().string());
  for (const std::string& file : arguments.configs)
    add("--config", std::filesystem::path(file).filename().string());
  add("--profile", arguments.profile);
  add("--stack", arguments.stack);
  if (arguments.num_gpus > 0) text += fmt::format(" --gpus {}", arguments.num_gpus);
  return text;
}

/// Measured over predicted time in per cent above 1: `+12.4 %`.
std::string excess_text(double log_ratio) {
  return fmt::format("{:+.1f} %", round_to_decimals((std::exp(log_ratio) - 1) * 100, 1) + 0.0);  // no -0.0
}

/// A row for each log: measured and predicted time without the calibration.
std::string runs_text(const std::vector<LoggedRun>& runs) {
  TextTable table(
      {"log", "framework", "stack", "GPU", "measured", "predicted", "difference", "lines", "left out"});
  for (const LoggedRun& run : runs) {
    const Seconds predicted = predict_time(run, {});
    const SteadyTime& time = run.time;
    table.add_row({run.log.file, std::string(name_of(run.log.framework)), run.target.stack.name,
                   run.target.profile.base_name, iteration_text(time.median), iteration_text(predicted),
                   excess_text(std::log(time.median / predicted)), std::to_string(time.num_steady),
                   std::to_string(time.num_warm_up + time.num_slow + time.num_fast)});
  }
  return table.to_string();
}

/// A sentence on the interval of a stack of one's own, from the residuals of runs that were left out.
std::string interval_text(const CalibratedStack& stack) {
  const std::string name = fmt::format("{} on {}", stack.stack, stack.profile);
  if (stack.left_out.empty()) {
    return fmt::format("{}: no interval, {} or more logs are needed ({})\n", name, kLeastRunsToLeaveOut,
                       stack.fitted_on.size());
  }
  const auto [least, most] = std::minmax_element(stack.left_out.begin(), stack.left_out.end());
  const auto runs = static_cast<double>(stack.left_out.size());
  return fmt::format(
      "{}: each log predicted from the others is off by {} to {}; the next run lies between with a chance of "
      "about {:.0f} %\n",
      name, excess_text(*least), excess_text(*most), (runs - 1) / (runs + 1) * 100);
}

std::string own_factors_text(const Calibration& calibration) {
  TextTable table(
      {"stack", "GPU", "logs", "products", "memory", "comm", "fitted", "left out", "without factors"});
  for (const CalibratedStack& stack : calibration.stacks) {
    table.add_row({stack.stack, stack.profile, std::to_string(stack.fitted_on.size()),
                   fmt::format("{:.3f}", stack.factors.product), fmt::format("{:.3f}", stack.factors.memory),
                   fmt::format("{:.3f}", stack.factors.communication), percent_or_dash(stack.fitted),
                   percent_or_dash(stack.held_out), percent_or_dash(stack.held_out_before)});
  }
  std::string text = table.to_string();
  for (const CalibratedStack& stack : calibration.stacks)
    text += interval_text(stack);
  return text;
}

/// Fits the factors of a user's own stack to logs.
Result<void> calibrate_logs(const CalibrateArguments& arguments) {
  if (!arguments.cases.empty())
    return fail({.field = "CASES", .message = "give either files of measured iterations or logs (--log)"});
  if (auto checked = check_files_differ("log", arguments.logs); !checked) return checked;
  if (arguments.configs.size() > 1 && arguments.configs.size() != arguments.logs.size()) {
    return fail({.field = "--config",
                 .message = fmt::format("expected one for all logs or one for each of {}, found {}",
                                        arguments.logs.size(), arguments.configs.size())});
  }
  std::vector<LoggedRun> runs;
  for (std::size_t i = 0; i < arguments.logs.size(); ++i) {
    auto run = read_logged_run(arguments.logs[i], names_of_log(arguments, i));
    if (!run) return fail(run.error().file.empty() ? in_target_option(std::move(run.error())) : run.error());
    if (run->profile_is_assumed) {
      log_warning(fmt::format("{}: nothing names the GPUs; {} is assumed. --profile names them",
                              run->log.file, run->target.profile.name));
    }
    runs.push_back(*std::move(run));
  }
  Calibration calibration = calibrate_runs(runs);
  calibration.made_by = command_line_of_logs(arguments);
  const std::string document = calibration_json(calibration);
  if (auto written = write_file(arguments.output, document); !written) return written;
  const std::string text = runs_text(runs) + "\n" + own_factors_text(calibration) +
                           fmt::format("\nwritten: {}\n", arguments.output);
  print_text(summary_stream(arguments.output), "{}", arguments.json ? document : text);
  return {};
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
  if (!arguments.logs.empty()) return calibrate_logs(arguments);
  if (arguments.cases.empty())
    return fail({.field = "CASES", .message = "name files of measured iterations, or logs with --log"});
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
      "iterations that were not fitted. Or fit a stack of your own to the logs of your runs.\n\n  vtrain "
      "profile calibrate runs.json --out calibration.json\n  vtrain profile calibrate --log a.log --log "
      "b.log "
      "--log c.log --profile h100 --out mine.json");
  const auto arguments = std::make_shared<CalibrateArguments>();
  command->add_option("CASES", arguments->cases,
                      "Files of measured iterations, as `vtrain validate` reads them");
  CLI::Option* const log = command->add_option(
      "--log", arguments->logs,
      "Log of a training run, in place of CASES; once for each run. Three or more give an interval");
  log->take_all()->expected(1);
  command
      ->add_option(
          "--config", arguments->configs,
          "Configuration of `vtrain predict` with the plan of the logs, where they lack the arguments; one "
          "for all, or one for each --log in their order")
      ->take_all()
      ->expected(1)
      ->needs(log);
  command
      ->add_option("--stack", arguments->stack, "Stack of the logs, in place of the one of their arguments")
      ->needs(log);
  command
      ->add_option("--gpus", arguments->num_gpus,
                   "Number of GPUs of each logged run, where the arguments lack it")
      ->transform(gpu_count())
      ->needs(log);
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
