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
#include "tools/experiment/predict_request.hpp"
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
  PredictionArguments prediction;
  std::string calibration;  ///< file of `vtrain profile calibrate`, empty for none
  fs::path timeline;
  fs::path graph;
  std::string extrapolated;  ///< file for extrapolated kernels, empty for none
  std::string detail = "operators";
  bool json = false;
  PredictPlanArguments plan;
};

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
std::string headline(const PredictionAnswer& answer) {
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

std::string to_text(const PredictionAnswer& answer, const std::string& list) {
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
  if (arguments.prediction.semantics == name_of(Semantics::Release)) {
    warn("--stack", !arguments.prediction.stack.empty(), "physical");
    warn("--calibrate", !arguments.calibration.empty(), "physical");
  } else {
    warn("--traces", !arguments.prediction.traces.empty(), "vtrain");
    warn("--collectives", !arguments.prediction.collectives.empty(), "vtrain");
    warn("--detail kernels", arguments.detail == "kernels", "vtrain");
  }
}

/// Reads `--calibrate`; the release's semantics has no calibration.
Result<Calibration> read_calibration_option(const PredictArguments& arguments) {
  if (arguments.prediction.semantics == name_of(Semantics::Release)) return Calibration{};
  return read_calibration(arguments.calibration);
}

/// Compares a log with its prediction. Options of other inputs and outputs are an error.
Result<void> compare_with_log(const PredictArguments& arguments) {
  if (!arguments.inputs.empty())
    return fail({.field = "--from-log", .message = "takes no configurations; --config names the run's"});
  if (arguments.prediction.semantics == name_of(Semantics::Release))
    return fail({.field = "--semantics", .message = "--from-log needs physical"});
  if (!arguments.timeline.empty() || !arguments.graph.empty())
    return fail({.field = "--timeline, --graph", .message = "--from-log writes none; predict the --config"});
  FromLogArguments from_log = arguments.from_log;
  from_log.num_gpus = arguments.plan.num_gpus;
  from_log.profile = arguments.prediction.profile;
  from_log.stack = arguments.prediction.stack;
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
    const auto config = read_predict_input(file, *options);
    if (!config) return fail(config.error());
    const auto answer = answer_prediction(*config, file, arguments.prediction, *calibration);
    if (!answer) return fail(answer.error());
    if (answer->notes) {
      if (const std::string ignored = describe_ignored_settings(*answer->notes); !ignored.empty())
        log_warning(fmt::format("{}: {}", printable(file), ignored));
    }
    std::string files_written;
    if (auto done = write_graph_files(arguments, answer->prediction.work, files_written); !done) return done;
    list.push_back(prediction_to_json(*answer));
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
      ->add_option("--semantics", arguments->prediction.semantics,
                   "Predictor: physical, or vtrain (reproduces the public vTrain release to the nanosecond)")
      ->check(one_of({"physical", "vtrain"}))
      ->capture_default_str();
  command->add_option(
      "--profile", arguments->prediction.profile,
      fmt::format("GPU profile: {}; see `vtrain profile list`; default: the configuration's, or a100",
                  kProfileNameHelp));
  command->add_option("--calibrate", arguments->calibration,
                      "Correct predictions with a file of `vtrain profile calibrate`, or with `published` "
                      "(factors that come with the program)");
  command->add_option("--stack", arguments->prediction.stack,
                      fmt::format("Software stack: {}. Default: the configuration's, or {}", stack_names(),
                                  kDefaultStackHelp));
  add_set_up_option(*command, arguments->prediction.set_up);
  add_predict_plan_options(*command, arguments->plan);
  command->add_option("--traces", arguments->prediction.traces,
                      "Folder of kernel traces, for --semantics vtrain; default: the traces of the recording "
                      "given as --profile, or the configuration's trace_path");
  command->add_option("--collectives", arguments->prediction.collectives,
                      "Folder of all-reduce tables AR_GPU*_LUT");
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
  command->add_flag("--strict", arguments->prediction.strict,
                    "Exit 2 if a number was missing or had to be extrapolated");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return predict_all(*arguments); }; });
}

}  // namespace vtrain
