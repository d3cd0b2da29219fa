#include "tools/experiment/predict_request.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/strings.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_table.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/config/plan_json.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Folder of kernel traces: as given, or the folder of a recording that was given as the profile.
fs::path trace_folder(const PredictionArguments& arguments) {
  if (!arguments.traces.empty() || arguments.profile.empty()) return arguments.traces;
  const fs::path recorded = fs::path(arguments.profile) / "traces";
  std::error_code no_path;
  return fs::is_directory(recorded, no_path) ? recorded : arguments.traces;
}

/// Names of a configuration's target: from the command line, or else from the configuration. The release's
/// own semantics uses the A100's constants.
TargetNames target_names(const PredictionArguments& arguments, const PredictConfig& config) {
  TargetNames names{.profile = arguments.profile, .stack = arguments.stack};
  if (arguments.semantics == name_of(Semantics::Release)) {
    names.semantics = Semantics::Release;
    names.release = {.traces = trace_folder(arguments), .collectives = arguments.collectives};
    if (config.release) names.release.machine = config.release->machine;
    return names;
  }
  names.set_up = parse_set_up(arguments.set_up).value();
  if (names.profile.empty()) names.profile = config.profile;
  if (names.stack.empty()) {
    names.stack = config.stack;
    names.changed_stack = config.changed_stack;
  }
  if (config.release && config.release->machine.inter_node_bandwidth) {
    constexpr double kGigabit = 1e9 / 8;
    names.node_network = BytesPerSecond(*config.release->machine.inter_node_bandwidth * kGigabit);
  }
  return names;
}

/// An error in the names of a target, with the option or the place in the configuration that has the name.
Error place_target_error(const PredictionArguments& arguments, const PredictConfig& config, Error error) {
  if (!error.file.empty()) return error;
  const bool is_profile = error.field.starts_with("profile");
  if (!(is_profile ? arguments.profile : arguments.stack).empty()) return in_target_option(std::move(error));
  if (is_profile) error.field = config.release ? "gpu_name" : "profile";
  return place_in_config(config, std::move(error));
}

/// Adds a hint on the option that names files missing at the release configuration's path, which is usual.
void name_release_option(Error& error) {
  if (error.kind != ErrorKind::Io) return;
  error.message += error.file.find("AR_GPU") != std::string::npos
                       ? "; --collectives names the folder of all-reduce tables"
                       : "; --traces names the folder of kernel traces, in place of the configuration's "
                         "trace_path";
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

}  // namespace

TrainingSpeed speed_of(const PredictionAnswer& answer) {
  const Prediction& prediction = answer.prediction;
  return training_speed(answer.model, prediction.plan, answer.rules, prediction.times.iteration,
                        prediction.peak_rate);
}

std::vector<std::string> sources_of(const PredictionAnswer& answer) {
  const PredictionProvenance& provenance = answer.prediction.provenance;
  std::vector<std::string> sentences;
  for (const PredictionSource& source : provenance.sources)
    sentences.push_back(source.text);
  sentences.insert(sentences.end(), provenance.remarks.begin(), provenance.remarks.end());
  for (const std::string& warning : answer.warnings)
    sentences.push_back("model: " + warning);
  for (const std::string& setting : answer.settings)
    sentences.push_back("settings: " + setting);
  return sentences;
}

std::vector<std::string> describe_settings(const PredictConfig& config) {
  if (!config.settings || config.settings->format.empty()) return {};
  std::vector<std::string> lines = {
      fmt::format("{}{}", config.settings->format,
                  config.stack.empty() ? "" : fmt::format(", which imply the stack {}", config.stack))};
  lines.insert(lines.end(), config.settings->remarks.begin(), config.settings->remarks.end());
  return lines;
}

Result<PredictionAnswer> answer_prediction(const PredictConfig& config, const std::string& name,
                                           const PredictionArguments& arguments,
                                           const Calibration& calibration) {
  auto target = resolve_target(target_names(arguments, config), calibration);
  if (!target) return fail(place_target_error(arguments, config, std::move(target.error())));
  const bool is_release = target->semantics == Semantics::Release;
  if (is_release && !config.release) {
    return fail({.file = name,
                 .field = "--semantics vtrain",
                 .message = "needs a configuration of the public vTrain release"});
  }
  ParallelPlan plan = config.plan;
  if (!is_release && !config.has_precision) plan.precision = target->stack.choices.precision;
  auto prediction = predict(config.model, plan, *target);
  if (!prediction) {
    Error error = std::move(prediction.error());
    if (is_release) name_release_option(error);
    // Whatever goes wrong with a configuration, the user wants to know which one.
    if (error.file.empty()) error = place_in_config(config, std::move(error));
    return fail(std::move(error));
  }
  const Fallbacks& fallbacks = prediction->provenance.fallbacks;
  if (arguments.strict && !fallbacks.empty()) {
    return fail({.file = name, .field = "--strict", .message = "fallback: " + fallbacks.sentences().front()});
  }
  PredictionAnswer answer{.config = name, .model = config.model};
  answer.profile = is_release ? lower_case(target->release.machine.gpu_name) : target->profile.name;
  answer.stack = target->stack.name;
  answer.rules = target->stack;
  if (is_release) answer.rules.attention = AttentionKernel::Unfused;
  answer.calibration = describe_calibration(target->calibration, target->stack);
  answer.prediction = *std::move(prediction);
  if (!is_release) answer.warnings = config.warnings;
  answer.settings = describe_settings(config);
  answer.notes = config.settings;
  return answer;
}

nlohmann::ordered_json prediction_to_json(const PredictionAnswer& answer) {
  const Prediction& prediction = answer.prediction;
  const IterationTimes& times = prediction.times;
  ordered_json stages = ordered_json::array();
  for (const StageTimes& stage : times.stages) {
    stages.push_back({{"end_ns", stage.end.count()}, {"compute_ns", stage.compute.count()}});
  }
  const TrainingSpeed speed = speed_of(answer);
  ordered_json breakdown = breakdown_to_json(times.breakdown);
  // The kernels of a trace are not told apart.
  if (prediction.semantics == Semantics::Release) breakdown["compute_parts"] = nullptr;
  ordered_json object = {
      {"config", answer.config},
      {"iteration_time_ns", times.iteration.count()},
      {"iteration_time_s", Seconds(times.iteration).count()},
      {"iteration_time_interval_s",
       prediction.uncertainty
           ? interval_to_json(Seconds(times.iteration).count(), prediction.uncertainty->time)
           : ordered_json(nullptr)},
      {"semantics", name_of(prediction.semantics)},
      {"profile", answer.profile},
      {"stack", text_or_null(answer.stack)},
      {"calibration", text_or_null(answer.calibration)},
      {"parameters", answer.model.num_parameters()},
      {"active_parameters", answer.model.active_parameters()},
      {"num_gpus", prediction.plan.num_gpus().value},
      {"plan", plan_to_json(prediction.plan)},
      {"layers_by_stage", layers_by_stage(answer.model, prediction.plan)},
      {"breakdown", breakdown},
      {"slowest_stage", times.slowest_stage},
      {"stages", stages},
      {"communication_end_ns", times.communication_end.count()},
      {"communication_sum_ns", times.communication_sum.count()},
      {"memory", prediction.memory ? memory_to_json(*prediction.memory, prediction.uncertainty->memory)
                                   : ordered_json(nullptr)},
      {"tokens_per_s", speed.tokens_per_s},
      {"tokens_per_s_per_gpu", speed.tokens_per_s_per_gpu},
      {"model_tflops_per_gpu", speed.per_gpu.value / 1e12},
      {"mfu", speed.mfu},
      {"hfu", speed.hfu},
      {"provenance",
       {{"from", sources_of(answer)}, {"fallbacks", prediction.provenance.fallbacks.sentences()}}}};
  if (answer.notes && !answer.notes->format.empty()) {
    object["settings"] = {{"format", answer.notes->format},
                          {"without_effect", answer.notes->without_effect},
                          {"unknown", answer.notes->unknown}};
  }
  return object;
}

}  // namespace vtrain
