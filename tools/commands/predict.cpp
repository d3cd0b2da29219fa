/// `vtrain predict`: configurations in, iteration times out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/graph/execution_graph.hpp"
#include "core/io/file.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/from_log.hpp"
#include "tools/commands/predict_plan.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/config/predict_config.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/graph_export.hpp"
#include "workloads/physical/extrapolation_list.hpp"
#include "workloads/predict.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The arguments as given.
struct PredictArguments {
  std::vector<std::string> inputs;
  FromLogArguments from_log;
  std::string semantics = "physical";
  std::string profile;      ///< empty: the configuration's, or a100
  std::string calibration;  ///< file of `vtrain profile calibrate`, empty for none
  std::string stack;        ///< empty: the configuration's, or the default
  std::string set_up = "own";
  fs::path traces;
  fs::path collectives;
  fs::path timeline;
  fs::path graph;
  std::string extrapolated;  ///< file for extrapolated kernels, empty for none
  std::string detail = "operators";
  bool strict = false;
  bool json = false;
  PredictPlanArguments plan;
};

/// One configuration with its prediction.
struct Answer {
  std::string config{};
  TransformerModel model{};
  std::string profile{};      ///< GPU type, in lower case
  std::string stack{};        ///< its name; the public vTrain release has none
  Stack rules{};              ///< its rules; for the public vTrain release: attention is not fused
  std::string calibration{};  ///< sentence on the calibration; empty without one
  Prediction prediction{};
  std::vector<std::string> warnings{};  ///< parts of the model's configuration that are not modelled
  std::vector<std::string> settings{};  ///< sentences on the settings of a training framework
  std::optional<SettingNotes> notes{};  ///< settings of a training framework that are ignored
};

TrainingSpeed speed_of(const Answer& answer) {
  const Prediction& prediction = answer.prediction;
  return training_speed(answer.model, prediction.plan, answer.rules, prediction.times.iteration,
                        prediction.peak_rate);
}

/// Sources, remarks and warnings, a sentence each.
std::vector<std::string> sources_of(const Answer& answer) {
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

/// Folder of kernel traces: as given, or the folder of a recording that was given as the profile.
fs::path trace_folder(const PredictArguments& arguments) {
  if (!arguments.traces.empty() || arguments.profile.empty()) return arguments.traces;
  const fs::path recorded = fs::path(arguments.profile) / "traces";
  std::error_code no_path;
  return fs::is_directory(recorded, no_path) ? recorded : arguments.traces;
}

/// Names of a configuration's target: from the command line, or else from the configuration. The release's
/// own semantics uses the A100's constants.
TargetNames target_names(const PredictArguments& arguments, const PredictConfig& config) {
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
Error place_target_error(const PredictArguments& arguments, const PredictConfig& config, Error error) {
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

Result<Answer> predict_config(const PredictArguments& arguments, const Calibration& calibration,
                              const ConfigOptions& options, const std::string& path) {
  const auto config = read_predict_input(path, options);
  if (!config) return fail(config.error());
  auto target = resolve_target(target_names(arguments, *config), calibration);
  if (!target) return fail(place_target_error(arguments, *config, std::move(target.error())));
  const bool is_release = target->semantics == Semantics::Release;
  if (is_release && !config->release) {
    return fail({.file = path,
                 .field = "--semantics vtrain",
                 .message = "needs a configuration of the public vTrain release"});
  }
  ParallelPlan plan = config->plan;
  if (!is_release && !config->has_precision) plan.precision = target->stack.choices.precision;
  auto prediction = predict(config->model, plan, *target);
  if (!prediction) {
    Error error = std::move(prediction.error());
    if (is_release) name_release_option(error);
    // Whatever goes wrong with a configuration, the user wants to know which one.
    if (error.file.empty()) error = place_in_config(*config, std::move(error));
    return fail(std::move(error));
  }
  const Fallbacks& fallbacks = prediction->provenance.fallbacks;
  if (arguments.strict && !fallbacks.empty()) {
    return fail({.file = path, .field = "--strict", .message = "fallback: " + fallbacks.sentences().front()});
  }
  Answer answer{.config = path, .model = config->model};
  answer.profile = is_release ? lower_case(target->release.machine.gpu_name) : target->profile.name;
  answer.stack = target->stack.name;
  answer.rules = target->stack;
  if (is_release) answer.rules.attention = AttentionKernel::Unfused;
  answer.calibration = describe_calibration(target->calibration, target->stack);
  answer.prediction = *std::move(prediction);
  if (!is_release) answer.warnings = config->warnings;
  answer.settings = describe_settings(*config);
  answer.notes = config->settings;
  return answer;
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json to_json(const Answer& answer) {
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
  ordered_json json = {
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
    json["settings"] = {{"format", answer.notes->format},
                        {"without_effect", answer.notes->without_effect},
                        {"unknown", answer.notes->unknown}};
  }
  return json;
}

/// `43.9 s` and the like, flush right in eight columns.
std::string breakdown_line(std::string_view label, Nanoseconds part, Nanoseconds whole) {
  const double share = whole.count() > 0 ? part.count() / whole.count() : 0;
  constexpr double kBlocksPerWhole = 30;
  std::string bar;
  for (long i = std::lround(share * kBlocksPerWhole); i > 0; --i)
    bar += "█";
  std::string line =
      fmt::format("  {:<14} {:>9}  {:>3.0f} %  {}", label, iteration_text(part), share * 100, bar);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// `label` and lines of words, the lines under each other.
std::string labelled(std::string_view label, std::string_view words) {
  constexpr std::size_t kIndent = 17;
  return fmt::format("{:<{}}{}\n", label, kIndent, wrap_text(words, text_columns() - kIndent, kIndent));
}

/// `GPT 530B   105 layers, ...        3,360 A100 = tensor 8 x data 12 x pipeline 35`, only degrees above 1
/// but for these three.
std::string headline(const Answer& answer) {
  const TransformerModel& model = answer.model;
  const ParallelPlan& plan = answer.prediction.plan;
  std::string text =
      fmt::format("{}   {}, hidden {}, {} heads, sequence {}        {} {} = tensor {}",
                  model.name.empty() ? answer.config : model.name, count_of(model.num_layers, "layer"),
                  model.hidden_size, model.num_heads, model.sequence_length,
                  with_thousands(plan.num_gpus().value), answer.profile, plan.tensor);
  if (plan.context > 1) text += fmt::format(" x context {}", plan.context);
  text += fmt::format(" x data {} x pipeline {}", plan.data, plan.pipeline);
  if (plan.replicate > 1) text += fmt::format(", sharded in {} sets", plan.replicate);
  if (plan.virtual_stages > 1) text += fmt::format(" ({} virtual)", plan.virtual_stages);
  if (plan.expert > 1) text += fmt::format(", experts over {}", plan.expert * plan.expert_tensor);
  return text + "\n";
}

std::string_view fit_text(Fit fit) {
  switch (fit) {
    case Fit::Yes:
      return "fits";
    case Fit::Tight:
      return "TIGHT, only a run can tell";
    case Fit::No:
      return "DOES NOT FIT";
  }
  return "";
}

std::string to_text(const Answer& answer, const std::string& list) {
  const Prediction& prediction = answer.prediction;
  const ParallelPlan& plan = prediction.plan;
  const IterationTimes& times = prediction.times;
  std::string text = headline(answer);
  text +=
      fmt::format("iteration        {:>9}      global batch {}   micro-batch {}   {} per pipeline   {}{}\n",
                  iteration_text(times.iteration), with_thousands(plan.global_batch), plan.micro_batch,
                  plan.num_micro_batches(), name_of(plan.precision),
                  plan.pipeline > 1 ? fmt::format("   {}", name_of(plan.schedule)) : "");
  if (prediction.uncertainty) {
    text +=
        fmt::format("  {:<14} {}\n", "90 % interval",
                    uncertainty_text(times.iteration, *prediction.uncertainty, answer.stack, answer.model));
  }
  if (prediction.semantics == Semantics::Release) {
    text += breakdown_line("compute", times.breakdown.compute, times.iteration);
  } else {
    text += breakdown_line("products", times.breakdown.products, times.iteration);
    text += breakdown_line("attention", times.breakdown.attention, times.iteration);
    text += breakdown_line("memory-bound", times.breakdown.memory_bound(), times.iteration);
    text += breakdown_line("CPU wait", times.breakdown.cpu_wait, times.iteration);
  }
  text += breakdown_line(fmt::format("{} comm", layer_communication(plan)), times.breakdown.tensor_comm,
                         times.iteration);
  text += breakdown_line("pipeline comm", times.breakdown.pipeline_comm, times.iteration);
  text += breakdown_line("bubble", times.breakdown.bubble, times.iteration);
  text += breakdown_line("data comm", times.breakdown.data_comm, times.iteration);
  text += breakdown_line("optimizer", times.breakdown.optimizer, times.iteration);
  if (prediction.memory) {
    const MemoryEstimate& memory = *prediction.memory;
    const std::string offloaded =
        plan.offloaded_layers == 0
            ? ""
            : fmt::format("   {} a stage offloaded", count_of(plan.offloaded_layers, "layer"));
    text += fmt::format(
        "memory           {} of {} on the fullest stage (stage {}): {}   recompute {}   sharding {}{}\n",
        as_gibibytes(memory.peak.value), as_gibibytes(memory.capacity.value), memory.stage,
        fit_text(memory.fit()), recompute_text(plan), name_of(plan.sharding), offloaded);
  }
  text += labelled("speed", speed_text(speed_of(answer)));
  std::string_view label = "from";
  for (const std::string& source : sources_of(answer)) {
    text += labelled(label, source);
    label = "";
  }
  const Fallbacks& from = prediction.provenance.fallbacks;
  std::vector<std::string> fallbacks = from.missing;
  if (!from.extrapolated.empty()) fallbacks.insert(fallbacks.begin(), extrapolation_text(from, "", list));
  text += labelled("fallbacks", fallbacks.empty() ? "0" : fallbacks.front());
  for (std::size_t i = 1; i < fallbacks.size(); ++i)
    text += labelled("", fallbacks[i]);
  return text;
}

/// The named files; a folder is replaced by its `.json` files in the order of their names.
Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    std::error_code code;
    if (!fs::is_directory(input, code)) {
      files.push_back(input);  // reading it says what is wrong
      continue;
    }
    std::vector<std::string> found;
    for (fs::directory_iterator entry(input, code), end; !code && entry != end; entry.increment(code)) {
      if (entry->path().extension() == ".json") found.push_back(entry->path().string());
    }
    if (code)
      return fail(
          {.kind = ErrorKind::Io, .file = input, .message = "cannot read the folder: " + code.message()});
    if (found.empty())
      return fail({.kind = ErrorKind::NotFound, .file = input, .message = "no .json file in the folder"});
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

GraphDetail detail_of(std::string_view name) {
  if (name == "blocks") return GraphDetail::Blocks;
  return name == "kernels" ? GraphDetail::Kernels : GraphDetail::Operators;
}

/// Writes the requested timeline and graph, and adds them to `written`.
Result<void> write_graph_files(const PredictArguments& arguments, const IterationWork& work,
                               std::string& written) {
  if (arguments.timeline.empty() && arguments.graph.empty()) return {};
  const auto graph = build_graph(work, detail_of(arguments.detail));
  if (!graph) return fail(graph.error());
  const auto write = [&](const std::string& path, const std::string& text) -> Result<void> {
    if (path.empty()) return {};
    if (auto done = write_file(path, text); !done) return done;
    written += fmt::format("wrote {}: {}, {}\n", printable(path),
                           count_of(static_cast<std::int64_t>(graph->num_tasks()), "task"),
                           as_file_size(text.size()));
    constexpr std::size_t kMuch = 10'000'000;
    if (text.size() > kMuch && arguments.detail != "blocks")
      written += "  smaller, with a task for each pass of a micro-batch: --detail blocks\n";
    return {};
  };
  if (!arguments.timeline.empty()) {
    if (auto done = write(arguments.timeline, timeline_json(work, *graph)); !done) return done;
  }
  if (!arguments.graph.empty()) return write(arguments.graph, graph_dot(work, *graph));
  return {};
}

/// Warns of options that only the other semantics reads.
void warn_of_options_without_effect(const PredictArguments& arguments) {
  const auto warn = [](std::string_view option, bool is_given, std::string_view semantics) {
    if (is_given) log_warning(fmt::format("{}: without effect; it is for --semantics {}", option, semantics));
  };
  if (arguments.semantics == name_of(Semantics::Release)) {
    warn("--stack", !arguments.stack.empty(), "physical");
    warn("--calibrate", !arguments.calibration.empty(), "physical");
  } else {
    warn("--traces", !arguments.traces.empty(), "vtrain");
    warn("--collectives", !arguments.collectives.empty(), "vtrain");
    warn("--detail kernels", arguments.detail == "kernels", "vtrain");
  }
}

/// Reads `--calibrate`; the release's semantics has no calibration.
Result<Calibration> read_calibration_option(const PredictArguments& arguments) {
  if (arguments.semantics == name_of(Semantics::Release)) return Calibration{};
  return read_calibration(arguments.calibration);
}

/// Compares a log with its prediction. Options of other inputs and outputs are an error.
Result<void> compare_with_log(const PredictArguments& arguments) {
  if (!arguments.inputs.empty())
    return fail({.field = "--from-log", .message = "takes no configurations; --config names the run's"});
  if (arguments.semantics == name_of(Semantics::Release))
    return fail({.field = "--semantics", .message = "--from-log needs physical"});
  if (!arguments.timeline.empty() || !arguments.graph.empty())
    return fail({.field = "--timeline, --graph", .message = "--from-log writes none; predict the --config"});
  FromLogArguments from_log = arguments.from_log;
  from_log.num_gpus = arguments.plan.num_gpus;
  from_log.profile = arguments.profile;
  from_log.stack = arguments.stack;
  from_log.calibration = arguments.calibration;
  from_log.json = arguments.json;
  return predict_from_log(from_log);
}

Result<void> predict_all(const PredictArguments& arguments) {
  if (!arguments.from_log.log.empty()) return compare_with_log(arguments);
  if (arguments.inputs.empty())
    return fail({.field = "configs", .message = "name one, or a log with --from-log"});
  warn_of_options_without_effect(arguments);
  const auto files = expand_inputs(arguments.inputs);
  if (!files) return fail(files.error());
  const auto calibration = read_calibration_option(arguments);
  if (!calibration) return fail(calibration.error());
  const auto options = read_predict_plan(arguments.plan);
  if (!options) return fail(options.error());
  std::error_code no_path;
  const bool one = files->size() == 1 && !fs::is_directory(arguments.inputs.front(), no_path);
  if (!one && (!arguments.timeline.empty() || !arguments.graph.empty())) {
    return fail({.field = "--timeline, --graph", .message = "need exactly one configuration"});
  }
  ordered_json list = ordered_json::array();
  ExtrapolationList extrapolated;
  std::string text;
  for (const std::string& file : *files) {
    const auto answer = predict_config(arguments, *calibration, *options, file);
    if (!answer) return fail(answer.error());
    if (answer->notes) {
      if (const std::string ignored = describe_ignored_settings(*answer->notes); !ignored.empty())
        log_warning(fmt::format("{}: {}", printable(file), ignored));
    }
    std::string files_written;
    if (auto done = write_graph_files(arguments, answer->prediction.work, files_written); !done) return done;
    list.push_back(to_json(*answer));
    extrapolated.add(answer->prediction.provenance.fallbacks);
    text += (text.empty() ? "" : "\n") + to_text(*answer, extrapolated_list(arguments.extrapolated)) +
            files_written;
  }
  if (!arguments.extrapolated.empty()) {
    const std::string rows = extrapolated.to_csv("predictions");
    if (auto done = write_file(arguments.extrapolated, rows); !done) return done;
  }
  std::FILE* const stream =
      summary_stream(arguments.timeline) == stderr ? stderr : summary_stream(arguments.graph);
  print_text(stream, "{}", arguments.json ? json_text(one ? list.front() : list) : text);
  return {};
}

}  // namespace

void add_predict_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "predict",
      "Predict the time of one training iteration from a model and its parallel plan.\n\n"
      "  vtrain predict config.json\n"
      "  vtrain predict llama3-8b --gpus 64 --profile h100 --plan tp=2,pp=2,mbs=1,gbs=128\n"
      "  vtrain predict train.sh --gpus 64 --profile h100\n"
      "  cat train.sh | vtrain predict - --gpus 64 --tensor-model-parallel-size 4\n"
      "  vtrain predict --from-log train.log --profile h100\n"
      "  vtrain predict configs/ --semantics vtrain --traces traces --collectives a100 --json");
  const auto arguments = std::make_shared<PredictArguments>();
  command->add_option(
      "configs", arguments->inputs,
      "Configuration files, or a folder of them: {\"model\": NAME or FILE, \"plan\": {...}}, launch scripts "
      "of Megatron-LM, torchtitan's TOML, DeepSpeed's JSON, NeMo's YAML, or those of the public vTrain "
      "release; or a model with --gpus and a plan");
  CLI::Option* const log = command->add_option(
      "--from-log", arguments->from_log.log,
      "Compare the log of a training run with its prediction: of Megatron-LM, Megatron-Bridge, NeMo, "
      "torchtitan or DeepSpeed, or a CSV file of Weights & Biases");
  command
      ->add_option("--config", arguments->from_log.config,
                   "Configuration of the run of --from-log, where the log lacks the arguments")
      ->needs(log);
  command
      ->add_option("--semantics", arguments->semantics,
                   "Predictor: physical, or vtrain (reproduces the public vTrain release to the nanosecond)")
      ->check(one_of({"physical", "vtrain"}))
      ->capture_default_str();
  command->add_option(
      "--profile", arguments->profile,
      fmt::format("GPU profile: {}; see `vtrain profile list`; default: the configuration's, or a100",
                  kProfileNameHelp));
  command->add_option("--calibrate", arguments->calibration,
                      "Correct predictions with a file of `vtrain profile calibrate`, or with `published` "
                      "(factors that come with the program)");
  command->add_option("--stack", arguments->stack,
                      fmt::format("Software stack: {}. Default: the configuration's, or {}", stack_names(),
                                  kDefaultStackHelp));
  add_set_up_option(*command, arguments->set_up);
  add_predict_plan_options(*command, arguments->plan);
  command->add_option("--traces", arguments->traces,
                      "Folder of kernel traces, for --semantics vtrain; default: the traces of the recording "
                      "given as --profile, or the configuration's trace_path");
  command->add_option("--collectives", arguments->collectives, "Folder of all-reduce tables AR_GPU*_LUT");
  command->add_option("--timeline", arguments->timeline,
                      "Write the iteration as Chrome trace events, for Perfetto");
  command->add_option("--graph", arguments->graph, "Write the execution graph as DOT, for Graphviz");
  command
      ->add_option("--detail", arguments->detail,
                   "Detail of --timeline and --graph: blocks (one pass of a micro-batch on a stage), "
                   "operators, or kernels (with --semantics vtrain)")
      ->check(one_of({"blocks", "operators", "kernels"}))
      ->capture_default_str();
  command
      ->add_option("--extrapolated", arguments->extrapolated,
                   "Write all kernels outside measured sizes as CSV, with their distance from them")
      ->check(plain_file());
  command->add_flag("--strict", arguments->strict,
                    "Exit 2 if a number was missing or had to be extrapolated");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return predict_all(*arguments); }; });
}

}  // namespace vtrain
