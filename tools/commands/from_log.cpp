#include "tools/commands/from_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/utf8.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/predict.hpp"
#include "workloads/validation/logged_run.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// A run with its prediction.
struct RunComparison {
  LoggedRun run{};
  Prediction prediction{};  ///< with the calibration, if there is one
  Target target{};          ///< with the calibration
  AllocatorMemory memory{};
  std::optional<Accuracy> validated{};  ///< published runs of this stack on this GPU, without calibration
};

/// Measured time over predicted time, minus 1.
double excess_of(const RunComparison& one) {
  return one.run.time.median / Seconds(one.prediction.times.iteration) - 1;
}

std::optional<Accuracy> accuracy_of_published(const LoggedRun& run) {
  const auto published = read_calibration(std::string(kPublishedCalibration));
  if (!published) return std::nullopt;
  for (const CalibratedStack& stack : published->stacks) {
    if (stack.stack != run.target.stack.name || stack.profile != run.target.profile.base_name) continue;
    if (stack.held_out_before.num_rows > 0) return stack.held_out_before;
  }
  return std::nullopt;
}

Result<RunComparison> compare_run(const FromLogArguments& arguments) {
  const auto calibration = read_calibration(arguments.calibration);
  if (!calibration) return fail(calibration.error());
  auto run = read_logged_run(arguments.log, {.config = arguments.config,
                                             .profile = arguments.profile,
                                             .stack = arguments.stack,
                                             .num_gpus = arguments.num_gpus});
  if (!run) return fail(run.error().file.empty() ? in_target_option(std::move(run.error())) : run.error());
  RunComparison one{.run = *std::move(run)};
  one.target = one.run.target;
  one.target.calibration = calibration->file;
  one.target.stack.factors = calibration->factors(one.target.stack.name, one.target.profile.base_name);
  auto prediction = predict(one.run.config.model, one.run.plan, one.target);
  if (!prediction) return fail(std::move(prediction.error()));
  one.prediction = *std::move(prediction);
  if (one.prediction.memory) one.memory = predict_allocator(one.run, one.prediction.memory->stage);
  one.validated = accuracy_of_published(one.run);
  return one;
}

/// A part of the predicted time, and what could make it longer than predicted.
struct Part {
  std::string_view key;
  std::string label;
  Nanoseconds time{0};
  std::string causes;
};

std::vector<Part> parts_of(const RunComparison& one) {
  const Breakdown& parts = one.prediction.times.breakdown;
  std::string compute =
      "lower clocks (power limit, heat), other kernels than those of the stack, a CPU that issues kernels "
      "too "
      "slowly";
  if (one.run.config.model.experts.num_experts > 0) compute += ", uneven experts";
  return {
      {"compute", "compute", parts.compute, compute},
      {"tensor_comm", fmt::format("{} communication", layer_communication(one.run.plan)), parts.tensor_comm,
       "slower links, another algorithm, less overlap"},
      {"pipeline_comm", "pipeline communication", parts.pipeline_comm, "the network between stages"},
      {"bubble", "bubble", parts.bubble, "uneven stages, a slow GPU"},
      {"data_comm", "data-parallel communication", parts.data_comm,
       "the network between nodes, less overlap with the backward pass"},
      {"optimizer", "optimizer", parts.optimizer, "an optimizer on the CPU, or one that is not fused"},
  };
}

/// A part that could explain the difference alone.
struct Suspect {
  Part part{};
  double factor = 1;  ///< its time over the predicted one, if it explained all
};

/// The parts that would explain the difference alone at no more than twice their time; the likeliest first.
std::vector<Suspect> suspects_of(const RunComparison& one) {
  constexpr double kMostFactor = 2;
  std::vector<Suspect> suspects;
  const double missing = one.run.time.median.count() - Seconds(one.prediction.times.iteration).count();
  if (missing <= 0) return suspects;
  for (Part& part : parts_of(one)) {
    const double time = Seconds(part.time).count();
    if (time <= 0 || 1 + missing / time > kMostFactor) continue;
    const double factor = 1 + missing / time;
    suspects.push_back({.part = std::move(part), .factor = factor});
  }
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const Suspect& a, const Suspect& b) { return a.factor < b.factor; });
  return suspects;
}

/// Sentences on the difference; possibilities, not findings.
std::vector<std::string> reasons_of(const RunComparison& one) {
  std::vector<std::string> reasons;
  const double excess = excess_of(one);
  const SteadyTime& time = one.run.time;
  if (one.validated && std::abs(excess) * 100 <= one.validated->mape_percent) {
    reasons.push_back("no larger than the mean error of validated runs: there may be nothing to explain");
    return reasons;
  }
  if (excess < 0) {
    reasons.push_back(
        "a run that is faster than predicted may have recomputed less, overlapped more, or used a narrower "
        "precision, a smaller batch or a shorter sequence than the plan states");
    return reasons;
  }
  for (const Suspect& suspect : suspects_of(one)) {
    reasons.push_back(fmt::format(
        "{}, predicted as {}: {:.2f} times as long would explain it all. Possible: {}", suspect.part.label,
        iteration_text(suspect.part.time), suspect.factor, suspect.part.causes));
  }
  if (reasons.empty())
    reasons.push_back("no part of the prediction explains it alone, not even at twice its time");
  reasons.push_back("not part of any prediction: waiting for data, logging and synchronising in every step");
  constexpr double kWide = 0.05;
  const double spread = (time.third_quartile - time.first_quartile) / time.median;
  if (spread > kWide) {
    reasons.push_back(
        fmt::format("steady iterations vary by {:.0f} % (middle half): other jobs on the network, "
                    "uneven experts or documents of uneven length may be the cause",
                    spread * 100));
  }
  return reasons;
}

std::string validated_text(const RunComparison& one) {
  const std::string where =
      fmt::format("{} on {}", one.run.target.stack.name, one.run.target.profile.base_name);
  if (!one.validated)
    return fmt::format("the calibration `published` has no runs of {} to tell how large errors are", where);
  return fmt::format("{} published runs of {}: mean error {:.1f} %, bias {:+.1f} %", one.validated->num_rows,
                     where, one.validated->mape_percent, one.validated->bias_percent);
}

std::string under_label(std::string_view label, const std::vector<std::string>& lines) {
  constexpr std::size_t kIndent = 17;
  std::string text;
  for (const std::string& line : lines) {
    text += fmt::format("{:<{}}{}\n", label, kIndent, wrap_text(line, text_columns() - kIndent, kIndent));
    label = "";
  }
  return text;
}

/// `median of 44 lines; left out: 3 after starts, 1 slow`.
std::string measured_text(const LoggedRun& run) {
  const SteadyTime& time = run.time;
  std::string text = fmt::format("median of {}, middle half {} to {}",
                                 count_of(static_cast<std::int64_t>(time.num_steady), "line"),
                                 iteration_text(time.first_quartile), iteration_text(time.third_quartile));
  std::vector<std::string> left_out;
  if (time.num_warm_up > 0) left_out.push_back(fmt::format("{} after starts", time.num_warm_up));
  if (time.num_slow > 0)
    left_out.push_back(
        fmt::format("{} slow (with them the mean is {})", time.num_slow, iteration_text(time.mean)));
  if (time.num_fast > 0) left_out.push_back(fmt::format("{} fast", time.num_fast));
  if (!left_out.empty()) text += fmt::format("; left out: {}", fmt::join(left_out, ", "));
  return text;
}

std::string memory_line(std::string_view kind, const std::optional<Bytes>& measured, Bytes predicted) {
  if (!measured) return {};
  return fmt::format("{} {} measured, {} predicted ({:+.0f} %)", kind, as_gibibytes(measured->value),
                     as_gibibytes(predicted.value), (predicted.value / measured->value - 1) * 100);
}

std::string run_text(const LoggedRun& run) {
  std::string text =
      fmt::format("{}, {}", name_of(run.log.framework),
                  count_of(static_cast<std::int64_t>(run.log.steps.size()), "line") + " of iterations");
  if (run.log.num_starts > 1)
    text += fmt::format(", {}", count_of(static_cast<std::int64_t>(run.log.num_starts) - 1, "restart"));
  if (run.log.num_repeated > 0) text += fmt::format(", {} of other ranks passed over", run.log.num_repeated);
  return text;
}

/// Lines on arguments that do not enter the prediction.
std::vector<std::string> argument_lines(const PredictConfig& config) {
  std::vector<std::string> lines;
  if (!config.settings) return lines;
  const SettingNotes& notes = *config.settings;
  if (!notes.without_effect.empty())
    lines.push_back(
        fmt::format("{} without effect on the prediction (--json lists them)",
                    count_of(static_cast<std::int64_t>(notes.without_effect.size()), "argument")));
  if (!notes.unknown.empty()) {
    std::string names;
    constexpr std::size_t kShown = 8;
    for (std::size_t i = 0; i < std::min(kShown, notes.unknown.size()); ++i)
      names += (i > 0 ? ", " : "") + printable(notes.unknown[i]);
    if (notes.unknown.size() > kShown) names += ", ...";
    lines.push_back(fmt::format(
        "{} not known: {}", count_of(static_cast<std::int64_t>(notes.unknown.size()), "argument"), names));
  }
  for (const std::string& remark : notes.remarks)
    lines.push_back(remark);
  return lines;
}

std::string to_text(const RunComparison& one) {
  const LoggedRun& run = one.run;
  const double excess = excess_of(one);
  std::string text = under_label("run", {run_text(run)});
  const TransformerModel& model = run.config.model;
  text += under_label(
      "plan", {fmt::format("{}, {} {}, tensor {} x context {} x data {} x pipeline {}, global batch {}, {}",
                           model.name.empty() ? "the model" : printable(model.name),
                           with_thousands(run.plan.num_gpus().value), run.target.profile.name,
                           run.plan.tensor, run.plan.context, run.plan.data, run.plan.pipeline,
                           with_thousands(run.plan.global_batch), run.target.stack.name)});
  text += under_label("measured",
                      {fmt::format("{:>9}   {}", iteration_text(run.time.median), measured_text(run))});
  const std::string calibration = describe_calibration(one.target.calibration, one.target.stack);
  text += under_label("predicted", {fmt::format("{:>9}{}", iteration_text(one.prediction.times.iteration),
                                                calibration.empty() ? "" : "   " + calibration)});
  text += under_label("difference", {fmt::format("{:>+7.1f} %   the run is {} than predicted", excess * 100,
                                                 excess < 0 ? "faster" : "slower"),
                                     validated_text(one)});
  text += under_label("possible", reasons_of(one));
  std::vector<std::string> memory = {memory_line("allocated", run.log.allocated, one.memory.allocated),
                                     memory_line("reserved", run.log.reserved, one.memory.reserved)};
  std::erase(memory, "");
  text += under_label("memory", memory);
  text += under_label("arguments", argument_lines(run.config));
  return text;
}

ordered_json number_or_null(const std::optional<Bytes>& bytes) {
  return bytes ? ordered_json(bytes->value) : ordered_json(nullptr);
}

ordered_json to_json(const RunComparison& one) {
  const LoggedRun& run = one.run;
  const SteadyTime& time = run.time;
  ordered_json suspects = ordered_json::array();
  for (const Suspect& suspect : suspects_of(one)) {
    suspects.push_back({{"part", suspect.part.key},
                        {"predicted_s", Seconds(suspect.part.time).count()},
                        {"factor_that_explains_all", suspect.factor}});
  }
  ordered_json document = {{"log", run.log.file},
                           {"framework", name_of(run.log.framework)},
                           {"starts", run.log.num_starts},
                           {"repeated_lines", run.log.num_repeated},
                           {"measured",
                            {{"iteration_time_s", time.median.count()},
                             {"first_quartile_s", time.first_quartile.count()},
                             {"third_quartile_s", time.third_quartile.count()},
                             {"mean_after_warm_up_s", time.mean.count()},
                             {"steady_lines", time.num_steady},
                             {"warm_up_lines", time.num_warm_up},
                             {"slow_lines", time.num_slow},
                             {"fast_lines", time.num_fast},
                             {"allocated_bytes", number_or_null(run.log.allocated)},
                             {"reserved_bytes", number_or_null(run.log.reserved)}}},
                           {"predicted",
                            {{"iteration_time_s", Seconds(one.prediction.times.iteration).count()},
                             {"breakdown", breakdown_to_json(one.prediction.times.breakdown)},
                             {"allocated_bytes", one.memory.allocated.value},
                             {"reserved_bytes", one.memory.reserved.value}}},
                           {"measured_over_predicted", excess_of(one) + 1},
                           {"profile", run.target.profile.name},
                           {"stack", run.target.stack.name},
                           {"plan", plan_to_json(run.plan)},
                           {"suspects", suspects},
                           {"possible_reasons", reasons_of(one)}};
  document["validated"] = one.validated ? ordered_json{{"runs", one.validated->num_rows},
                                                       {"mape_percent", one.validated->mape_percent},
                                                       {"bias_percent", one.validated->bias_percent}}
                                        : ordered_json(nullptr);
  const std::string calibration = describe_calibration(one.target.calibration, one.target.stack);
  document["calibration"] = calibration.empty() ? ordered_json(nullptr) : ordered_json(calibration);
  const SettingNotes notes = run.config.settings.value_or(SettingNotes{});
  document["arguments"] = {
      {"without_effect", notes.without_effect}, {"unknown", notes.unknown}, {"remarks", notes.remarks}};
  return document;
}

}  // namespace

Result<void> predict_from_log(const FromLogArguments& arguments) {
  const auto one = compare_run(arguments);
  if (!one) return fail(one.error());
  if (one->run.profile_is_assumed) {
    log_warning(fmt::format("{}: nothing names the GPUs; {} is assumed. --profile names them", arguments.log,
                            one->run.target.profile.name));
  }
  print_text(stdout, "{}", arguments.json ? json_text(to_json(*one)) : to_text(*one));
  return {};
}

}  // namespace vtrain
