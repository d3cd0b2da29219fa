/// `vtrain predict`: configurations in, iteration times out.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "core/graph/execution_graph.hpp"
#include "core/io/file.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/config/predict_config.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/graph_export.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/release/release_predictor.hpp"
#include "workloads/stack/stack.hpp"
#include "workloads/validation/calibration.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The arguments as given.
struct PredictArguments {
  std::vector<std::string> inputs;
  std::string semantics = "physical";
  std::string profile;      ///< empty: what the configuration says, or a100
  std::string calibration;  ///< file of `vtrain profile calibrate`, empty for none
  std::string stack;        ///< empty: what the configuration says, or the default
  fs::path traces;
  fs::path collectives;
  fs::path timeline;
  fs::path graph;
  std::string detail = "operators";
  bool strict = false;
  bool json = false;
};

/// One configuration's answer, whichever semantics gave it.
struct Prediction {
  std::string config;
  TransformerModel model;
  ParallelPlan plan;
  std::string profile;                           ///< GPU type, in lower case
  std::string stack;                             ///< its name; the public vTrain release has none
  std::string calibration;                       ///< a sentence on what corrects it, or empty
  std::shared_ptr<const TracedKernels> kernels;  ///< what `work` points to
  IterationWork work;
  IterationTimes times;
  std::optional<MemoryEstimate> memory;  ///< the public vTrain release has no memory model
  FlopsPerSecond peak_rate{0};           ///< of one GPU in the precision of the plan
  std::vector<std::string> provenance;
  std::vector<std::string> fallbacks;  ///< numbers that were extrapolated or missing
};

TrainingSpeed speed_of(const Prediction& prediction) {
  return training_speed(prediction.model, prediction.plan, prediction.times.iteration, prediction.peak_rate);
}

/// The folder of kernel traces: as given, or that of a recording which was given as the profile.
fs::path trace_folder(const PredictArguments& arguments) {
  if (!arguments.traces.empty() || arguments.profile.empty()) return arguments.traces;
  const fs::path recorded = fs::path(arguments.profile) / "traces";
  std::error_code no_path;
  return fs::is_directory(recorded, no_path) ? recorded : arguments.traces;
}

Result<Prediction> predict_as_release(const PredictArguments& arguments, const VtrainConfig& config) {
  auto predicted = predict_vtrain(config, trace_folder(arguments), arguments.collectives);
  if (!predicted) {
    Error error = predicted.error();
    // The files lie where the configuration says, which seldom is where they are on this machine.
    if (error.kind == ErrorKind::Io && error.file.find("AR_GPU") != std::string::npos) {
      error.message += "; --collectives names the folder of all-reduce tables";
    } else if (error.kind == ErrorKind::Io) {
      error.message +=
          "; --traces names the folder of kernel traces, in place of the configuration's trace_path";
    }
    return fail(std::move(error));
  }
  const VtrainProvenance& from = predicted->provenance;
  Prediction prediction;
  prediction.plan = config.plan;
  prediction.profile = lower_case(config.gpu_name);
  prediction.kernels = predicted->kernels;
  prediction.work = std::move(predicted->work);
  prediction.times = fast_iteration_times(prediction.work);
  prediction.provenance.push_back("kernels measured: " + from.trace_file);
  if (!from.collectives_folder.empty()) {
    prediction.provenance.push_back(fmt::format(
        "{} measured: {}", count_of(from.measured_collectives, "all-reduce"), from.collectives_folder));
  }
  if (from.modelled_collectives > 0) {
    prediction.provenance.push_back(count_of(from.modelled_collectives, "all-reduce") + " by formula");
  }
  if (from.fallback_collectives > 0) {
    prediction.fallbacks.push_back(count_of(from.fallback_collectives, "all-reduce") +
                                   " beyond the tables, by bandwidth");
  }
  for (const std::string& name : from.operators_without_kernels) {
    prediction.fallbacks.push_back(name + " has no kernels in the trace and takes no time");
  }
  return prediction;
}

/// What the options say of the stacks of all configurations.
struct StackOptions {
  std::optional<Stack> stack;  ///< in place of the configurations'
  Calibration calibration;
};

Result<StackOptions> read_stack_options(const PredictArguments& arguments) {
  StackOptions options;
  // The release's semantics reads neither.
  if (arguments.semantics == "vtrain") return options;
  if (!arguments.stack.empty()) {
    auto stack = find_stack(arguments.stack);
    if (!stack)
      return fail({.kind = stack.error().kind, .field = "--stack", .message = stack.error().message});
    options.stack = *std::move(stack);
  }
  auto calibration = read_calibration(arguments.calibration);
  if (!calibration) return fail(std::move(calibration.error()));
  options.calibration = *std::move(calibration);
  return options;
}

Result<Prediction> predict_from_profile(const PredictArguments& arguments, const StackOptions& options,
                                        const GpuProfile& profile, const PredictConfig& config) {
  Result<Stack> stack = options.stack ? *options.stack : choose_stack(config.stack, profile);
  if (!stack) return fail(stack.error());
  stack->factors = options.calibration.factors(stack->name, profile.base_name);
  ParallelPlan plan = config.plan;
  if (!config.has_precision) plan.precision = stack->choices.precision;
  GpuProfile on_cluster = profile;
  const bool names_network = config.release && config.release->inter_node_bandwidth;
  if (names_network) {
    on_cluster.node_network_bandwidth =
        BytesPerSecond(*config.release->inter_node_bandwidth * 1e9 / 8);  // from Gbit/s
  }
  auto predicted = predict_physical(config.model, plan, on_cluster, *stack);
  if (!predicted) return fail(predicted.error());
  Prediction prediction;
  prediction.plan = plan;
  prediction.profile = profile.name;
  prediction.stack = stack->name;
  prediction.work = std::move(predicted->work);
  prediction.times = fast_iteration_times(prediction.work);
  prediction.memory = predicted->memory;
  prediction.provenance = {fmt::format("profile {}: {}", profile.name, profile.description),
                           fmt::format("stack {}: {}", stack->name, stack->summary),
                           "all-reduces within a node: " + predicted->provenance.all_reduce_source};
  if (names_network) {
    prediction.provenance.push_back(fmt::format("network of a node: {} Gbit/s, from the configuration",
                                                short_number(*config.release->inter_node_bandwidth)));
  }
  prediction.calibration = describe_calibration(arguments.calibration, *stack);
  if (!prediction.calibration.empty()) prediction.provenance.push_back(prediction.calibration);
  const std::vector<std::string>& modelled = predicted->provenance.modelled;
  if (!modelled.empty())
    prediction.provenance.push_back(fmt::format("by formula: {}", fmt::join(modelled, ", ")));
  for (const std::string& remark : predicted->provenance.remarks)
    prediction.provenance.push_back(remark);
  for (const std::string& warning : config.warnings)
    prediction.provenance.push_back("model: " + warning);
  prediction.fallbacks = predicted->provenance.fallbacks.sentences();
  return prediction;
}

/// That of the command line, or else of the configuration, or the A100's, which the release's own semantics
/// takes.
Result<GpuProfile> profile_for(const PredictArguments& arguments, const PredictConfig& config,
                               bool is_release) {
  if (!arguments.profile.empty()) return in_option("--profile", load_gpu_profile(arguments.profile));
  if (is_release || config.profile.empty()) return load_gpu_profile(std::string(kDefaultProfile));
  auto profile = load_gpu_profile(config.profile);
  if (profile) return profile;
  Error error = profile.error();
  if (!error.file.empty()) return fail(std::move(error));
  error.field = config.release ? "gpu_name" : "profile";
  return fail(place_in_config(config, std::move(error)));
}

Result<Prediction> predict_one(const PredictArguments& arguments, const StackOptions& options,
                               const std::string& path) {
  const auto config = read_predict_config(path);
  if (!config) return fail(config.error());
  const bool is_release = arguments.semantics == "vtrain";
  const auto profile = profile_for(arguments, *config, is_release);
  if (!profile) return fail(profile.error());
  if (is_release && !config->release) {
    return fail({.file = path,
                 .field = "--semantics vtrain",
                 .message = "needs a configuration of the public vTrain release"});
  }
  auto prediction = is_release ? predict_as_release(arguments, *config->release)
                               : predict_from_profile(arguments, options, *profile, *config);
  if (!prediction) {
    // Whatever goes wrong with a configuration, the user wants to know which one.
    Error error = prediction.error();
    if (error.file.empty()) error = place_in_config(*config, std::move(error));
    return fail(std::move(error));
  }
  prediction->config = path;
  prediction->model = config->model;
  prediction->peak_rate = profile->peak_rate_of(prediction->plan.precision);
  if (arguments.strict && !prediction->fallbacks.empty()) {
    return fail({.file = path, .field = "--strict", .message = "fallback: " + prediction->fallbacks.front()});
  }
  return prediction;
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json to_json(const Prediction& prediction, const std::string& semantics) {
  const IterationTimes& times = prediction.times;
  ordered_json stages = ordered_json::array();
  for (const StageTimes& stage : times.stages) {
    stages.push_back({{"end_ns", stage.end.count()}, {"compute_ns", stage.compute.count()}});
  }
  const TrainingSpeed speed = speed_of(prediction);
  return {{"config", prediction.config},
          {"iteration_time_ns", times.iteration.count()},
          {"iteration_time_s", Seconds(times.iteration).count()},
          {"semantics", semantics},
          {"profile", prediction.profile},
          {"stack", text_or_null(prediction.stack)},
          {"calibration", text_or_null(prediction.calibration)},
          {"parameters", prediction.model.num_parameters()},
          {"active_parameters", prediction.model.active_parameters()},
          {"num_gpus", prediction.plan.num_gpus().value},
          {"plan", plan_to_json(prediction.plan)},
          {"layers_by_stage", layers_by_stage(prediction.model, prediction.plan)},
          {"breakdown", breakdown_to_json(times.breakdown)},
          {"slowest_stage", times.slowest_stage},
          {"stages", stages},
          {"communication_end_ns", times.communication_end.count()},
          {"communication_sum_ns", times.communication_sum.count()},
          {"memory", prediction.memory ? memory_to_json(*prediction.memory) : ordered_json(nullptr)},
          {"tokens_per_s", speed.tokens_per_s},
          {"model_tflops_per_gpu", speed.per_gpu.value / 1e12},
          {"mfu", speed.of_peak},
          {"provenance", {{"from", prediction.provenance}, {"fallbacks", prediction.fallbacks}}}};
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
  return fmt::format("{:<{}}{}\n", label, kIndent, wrap_text(words, kTextColumns - kIndent, kIndent));
}

/// `GPT 530B   105 layers, ...        3,360 A100 = tensor 8 x data 12 x pipeline 35`, only degrees above 1
/// but for these three.
std::string headline(const Prediction& prediction) {
  const TransformerModel& model = prediction.model;
  const ParallelPlan& plan = prediction.plan;
  std::string text =
      fmt::format("{}   {}, hidden {}, {} heads, sequence {}        {} {} = tensor {}",
                  model.name.empty() ? prediction.config : model.name, count_of(model.num_layers, "layer"),
                  model.hidden_size, model.num_heads, model.sequence_length,
                  with_thousands(plan.num_gpus().value), prediction.profile, plan.tensor);
  if (plan.context > 1) text += fmt::format(" x context {}", plan.context);
  text += fmt::format(" x data {} x pipeline {}", plan.data, plan.pipeline);
  if (plan.replicate > 1) text += fmt::format(", sharded in {} sets", plan.replicate);
  if (plan.virtual_stages > 1) text += fmt::format(" ({} virtual)", plan.virtual_stages);
  if (plan.expert > 1) text += fmt::format(", experts over {}", plan.expert * plan.expert_tensor);
  return text + "\n";
}

std::string to_text(const Prediction& prediction) {
  const ParallelPlan& plan = prediction.plan;
  const IterationTimes& times = prediction.times;
  std::string text = headline(prediction);
  text +=
      fmt::format("iteration        {:>9}      global batch {}   micro-batch {}   {} per pipeline   {}{}\n",
                  iteration_text(times.iteration), with_thousands(plan.global_batch), plan.micro_batch,
                  plan.num_micro_batches(), name_of(plan.precision),
                  plan.pipeline > 1 ? fmt::format("   {}", name_of(plan.schedule)) : "");
  text += breakdown_line("compute", times.breakdown.compute, times.iteration);
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
        as_gigabytes(memory.peak.value), as_gigabytes(memory.capacity.value), memory.stage,
        memory.fits() ? "fits" : "DOES NOT FIT", recompute_text(plan), name_of(plan.sharding), offloaded);
  }
  text += labelled("speed", speed_text(speed_of(prediction)));
  std::string_view label = "from";
  for (const std::string& source : prediction.provenance) {
    text += labelled(label, source);
    label = "";
  }
  text += labelled("fallbacks", prediction.fallbacks.empty() ? "0" : prediction.fallbacks.front());
  for (std::size_t i = 1; i < prediction.fallbacks.size(); ++i)
    text += labelled("", prediction.fallbacks[i]);
  return text;
}

/// The files named, a folder standing for its `.json` files in the order of their names.
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

/// Writes the timeline and the graph that were asked for.
Result<void> write_graph_files(const PredictArguments& arguments, const Prediction& prediction) {
  if (arguments.timeline.empty() && arguments.graph.empty()) return {};
  const auto graph = build_graph(
      prediction.work, arguments.detail == "kernels" ? GraphDetail::Kernels : GraphDetail::Operators);
  if (!graph) return fail(graph.error());
  if (!arguments.timeline.empty()) {
    if (auto written = write_file(arguments.timeline, timeline_json(prediction.work, *graph)); !written)
      return written;
  }
  if (!arguments.graph.empty()) return write_file(arguments.graph, graph_dot(prediction.work, *graph));
  return {};
}

/// Says which options the other semantics would have read.
void warn_of_options_without_effect(const PredictArguments& arguments) {
  const auto warn = [](std::string_view option, bool is_given, std::string_view semantics) {
    if (is_given) log_warning(fmt::format("{}: without effect; it is for --semantics {}", option, semantics));
  };
  if (arguments.semantics == "vtrain") {
    warn("--stack", !arguments.stack.empty(), "physical");
    warn("--calibrate", !arguments.calibration.empty(), "physical");
  } else {
    warn("--traces", !arguments.traces.empty(), "vtrain");
    warn("--collectives", !arguments.collectives.empty(), "vtrain");
    warn("--detail kernels", arguments.detail == "kernels", "vtrain");
  }
}

Result<void> predict(const PredictArguments& arguments) {
  warn_of_options_without_effect(arguments);
  const auto files = expand_inputs(arguments.inputs);
  if (!files) return fail(files.error());
  const auto options = read_stack_options(arguments);
  if (!options) return fail(options.error());
  std::error_code no_path;
  const bool one = files->size() == 1 && !fs::is_directory(arguments.inputs.front(), no_path);
  if (!one && (!arguments.timeline.empty() || !arguments.graph.empty())) {
    return fail({.field = "--timeline, --graph", .message = "need exactly one configuration"});
  }
  ordered_json list = ordered_json::array();
  std::string text;
  for (const std::string& file : *files) {
    const auto prediction = predict_one(arguments, *options, file);
    if (!prediction) return fail(prediction.error());
    if (auto written = write_graph_files(arguments, *prediction); !written) return written;
    list.push_back(to_json(*prediction, arguments.semantics));
    text += (text.empty() ? "" : "\n") + to_text(*prediction);
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
      "  vtrain predict configs/ --semantics vtrain --traces traces --collectives a100 --json");
  const auto arguments = std::make_shared<PredictArguments>();
  command
      ->add_option("configs", arguments->inputs,
                   "Configuration files, or a folder of them: {\"model\": NAME or FILE, \"plan\": {...}}, or "
                   "those of the public vTrain release")
      ->required();
  command
      ->add_option("--semantics", arguments->semantics,
                   "physical: the accurate model; vtrain: the public vTrain release to the nanosecond")
      ->check(one_of({"physical", "vtrain"}))
      ->capture_default_str();
  command->add_option("--profile", arguments->profile,
                      fmt::format("GPU profile, {}; see `vtrain profile list`. Default: the "
                                  "configuration's, or a100",
                                  kProfileNameHelp));
  command->add_option("--calibrate", arguments->calibration,
                      "Correct with a file of `vtrain profile calibrate`, or with `published`, the one that "
                      "is part of the program");
  command->add_option("--stack", arguments->stack,
                      fmt::format("Software stack: {}. Default: the configuration's, or {}", stack_names(),
                                  kDefaultStackHelp));
  command->add_option("--traces", arguments->traces,
                      "Folder of kernel traces, for vtrain semantics; without it that of the recording given "
                      "as the profile, or "
                      "the configuration's trace_path");
  command->add_option("--collectives", arguments->collectives, "Folder of all-reduce tables AR_GPU*_LUT");
  command->add_option("--timeline", arguments->timeline,
                      "Write the iteration as Chrome trace events, for Perfetto");
  command->add_option("--graph", arguments->graph, "Write the execution graph as DOT, for Graphviz");
  command
      ->add_option("--detail", arguments->detail,
                   "Tasks of timeline and graph: operators or, with vtrain semantics, kernels")
      ->check(one_of({"operators", "kernels"}))
      ->capture_default_str();
  command->add_flag("--strict", arguments->strict,
                    "Exit 2 when a number had to be extrapolated or was missing");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return predict(*arguments); }; });
}

}  // namespace vtrain
