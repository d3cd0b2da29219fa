#include "tools/options/options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "core/io/input.hpp"
#include "core/text/quantities.hpp"
#include "sched/metrics/job_groups.hpp"
#include "sched/placement/placement.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "traces/synthesis/generator.hpp"
#include "traces/trace_format.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

constexpr const char* kTerminalGroup = "Terminal";

/// Shows the options that `add` adds to a command under a title in help.
template <class Add>
void in_group(CLI::App& command, const std::string& title, const Add& add) {
  const std::vector<CLI::Option*> before = command.get_options();
  add();
  for (CLI::Option* const option : command.get_options()) {
    if (std::ranges::find(before, option) == before.end()) option->group(title);
  }
}

/// Smallest spread factor: slower jobs are implausible.
constexpr double kLeastSpreadFactor = 0.01;

/// The value of `--max-input`.
Result<std::size_t> read_input_size(std::string_view text) {
  constexpr double kLeast = 1e6;
  constexpr double kMost = 1e12;
  const auto bytes = parse_quantity(text, "B");
  if (!bytes || !(*bytes >= kLeast && *bytes <= kMost))
    return fail({.message = expected_found("a size from 1MB to 1TB", text)});
  return static_cast<std::size_t>(*bytes);
}

/// Adds `--format` and `--throughputs` alone.
void add_trace_options(CLI::App& command, TraceArguments& arguments) {
  std::string formats = "Format of the trace: auto";
  for (const TraceFormat& format : trace_formats())
    formats += fmt::format(", {}", format.name);
  command.add_option("--format", arguments.format, formats)->capture_default_str();
  command.add_option("--throughputs", arguments.throughputs,
                     "File or folder with the throughput tables of a trace that gives work in iterations; "
                     "default: the tables in the trace's folder");
  command
      .add_option("--throughputs-gpu", arguments.throughputs_gpu,
                  "GPU type whose throughputs give run times, if the tables have several")
      ->capture_default_str();
}

/// Adds `--stack`, and `--calibrate` with a file of `vtrain profile calibrate`.
void add_stack_options(CLI::App& command, std::string& name, std::string& calibration) {
  command.add_option("--stack", name,
                     fmt::format("Software stack: {}; default: {}", stack_names(), kDefaultStackHelp));
  command.add_option("--calibrate", calibration,
                     "Correct predictions with a file of `vtrain profile calibrate`, or with `published` "
                     "(factors that come with the program)");
}

void add_disruption_options(CLI::App& command, DisruptionArguments& arguments) {
  command
      .add_option("--interruption-cost", arguments.interruption_cost,
                  "Time that a job loses when it is preempted or resized: none, a duration such as 30s, "
                  "elasticflow (ElasticFlow's table by number of GPUs), checkpoint (saves and loads the "
                  "model's state), auto (checkpoint for jobs of a known model, none for others)")
      ->capture_default_str();
  command
      .add_option("--failures", arguments.failures,
                  "Random failures: none, or mtbf=6300h (mean time between failures of a node) or "
                  "gpu-mtbf=50000h (of a GPU) or both; mtbf:TYPE=... for one GPU type; also repair=4h, "
                  "repair-sigma=1, shape=1 (Weibull), detect=60s; joined by commas")
      ->capture_default_str();
  command.add_option("--outages", arguments.outages,
                     "File of outages, CSV or JSON lines, with node (0, 1, ... or a range 8-15), begin_s, "
                     "end_s and kind: failure, or drain (running jobs may end, none may start)");
  command
      .add_option("--checkpoints", arguments.checkpoints,
                  "Checkpointing: none (a failed job loses all work since its last start), an interval such "
                  "as 30m, young or daly (the best interval for --failures)")
      ->capture_default_str();
  command
      .add_option("--checkpoint-cost", arguments.checkpoint_cost,
                  "Duration of a periodic checkpoint, or bytes (computed from the model's size)")
      ->capture_default_str();
  command
      .add_option("--checkpoint-bandwidth", arguments.checkpoint_bandwidth,
                  "Storage bandwidth for one job that saves or loads its model's state: 10GB/s, 80Gbit/s")
      ->capture_default_str();
  command
      .add_option("--spread-factor", arguments.spread_factor,
                  "Slowdown factor for each level (node, rack) that a gang spans; 0.8 is common. Predicted "
                  "jobs are slowed by their links instead")
      ->transform(number_between(kLeastSpreadFactor, 1))
      ->capture_default_str();
}

/// Help text of `--placement`, with a line for each placement.
std::string placement_help() {
  std::string text =
      "Rule that gives gangs their GPUs; auto is consolidate for generated jobs and count for a trace:";
  for (const PlacementInfo& info : placements())
    text += fmt::format("\n{}: {}", info.name, info.summary);
  return text;
}

/// Adds the options for the cluster of a replay.
void add_cluster_options(CLI::App& command, ScenarioSpec& spec) {
  command.add_option(
      "--cluster", spec.cluster,
      "Cluster as NODESxGPUS:TYPE, for instance 16x8:a100, groups joined by +; or a file: JSON, or a table "
      "of nodes of a published trace, a simulator or Slurm (see `vtrain clusters`)");
  command.add_option("--reference", spec.reference,
                     "Cluster that jobs are generated for and --load is stated for, so that the jobs stay "
                     "the same on other clusters; default: --cluster");
  command.add_option("--tenant-tree", spec.tenant_tree,
                     "JSON file of tenants with weights and quotas, partitions and QoS (docs/tenants.md); "
                     "default: the virtual clusters of the cluster's table, if any");
  command.add_option("--placement", spec.placement, placement_help())->capture_default_str();
}

/// Adds the options for outputs and errors of a run.
void add_result_options(CLI::App& command, ScenarioSpec& spec) {
  command
      .add_option("--timeline", spec.timeline,
                  "Write timeline.json for Perfetto: always, never, or auto (for at most 5,000 jobs)")
      ->check(one_of({"always", "never", "auto"}))
      ->capture_default_str();
  command
      .add_option("--by", spec.by,
                  "Also show the metrics by tenant, user, queue, type of GPUs requested or size (number of "
                  "GPUs requested)")
      ->check(one_of({grouping_names().begin(), grouping_names().end()}));
  command.add_option(
      "--price", spec.price,
      "Price of a GPU-hour in dollars: h100=2.5/h for one GPU type, 2.5/h for all others; several "
      "joined by commas. Adds the cost of jobs");
  add_spreadsheet_option(command, spec.spreadsheet_safe);
  command.add_flag(
      "--strict", spec.trace.strict,
      "Exit 2 instead of going on: at a row that would be skipped, a job larger than the cluster, a deadline "
      "before its submission, a model on GPUs without a profile, or an extrapolated run time");
}

}  // namespace

std::string stack_names() {
  std::string names;
  for (const Stack& stack : all_stacks())
    names += (names.empty() ? "" : ", ") + stack.name;
  return names;
}

void add_trace_arguments(CLI::App& command, TraceArguments& arguments) {
  command
      .add_option("trace", arguments.files,
                  "Trace file, plain, gzip or zstd; several are joined into one trace; - is standard input")
      ->required();
  add_trace_options(command, arguments);
  command.add_flag("--strict", arguments.strict, "Exit 2 at a row that would be skipped");
}

void add_pricing_options(CLI::App& command, PricingArguments& arguments) {
  command.add_option("--profile", arguments.profile,
                     fmt::format("GPU profile used to predict run times of jobs given by model and "
                                 "iterations: {}; default: the profile of the cluster's GPUs, or a100",
                                 kProfileNameHelp));
  add_stack_options(command, arguments.stack, arguments.calibration);
  command
      .add_option("--curves", arguments.kind,
                  "Speed of jobs with a known model by number of GPUs: best-plan (the fastest plan on each "
                  "number), data-parallel (replicas of the smallest plan that fits), none (the best plan on "
                  "the GPUs requested; jobs are rigid)")
      ->capture_default_str();
  command.add_flag("--no-cache", arguments.no_cache,
                   "Do not use the cache of iteration times ($XDG_CACHE_HOME/vtrain)");
}

void add_transformation_options(CLI::App& command, TransformationArguments& arguments) {
  command.add_option("--statuses", arguments.statuses,
                     "Keep only jobs with these recorded end states, for instance completed,failed");
  command
      .add_option("--tenants", arguments.tenants,
                  "Tenants of the jobs: trace (as recorded), clusters (one for each trace file), users (one "
                  "for each user), or a number of tenants, drawn with unequal shares")
      ->capture_default_str();
  command
      .add_option("--assign", arguments.assign,
                  "Give jobs without a model one, with iterations = duration / iteration time: none, lingjun "
                  "(Alibaba Lingjun's mix of 2023, by number of GPUs), zoo (GPT models, evenly), "
                  "model=NAME[,global-batch=SEQUENCES]")
      ->capture_default_str();
  command
      .add_option("--run-times", arguments.run_times,
                  "Run times of jobs that have both a duration and a model with global batch and iterations: "
                  "trace (the duration), or predicted for the GPUs of --cluster")
      ->check(one_of({"trace", "predicted"}))
      ->capture_default_str();
  command
      .add_option(
          "--deadlines", arguments.deadlines,
          "Give jobs without a deadline one, submit + factor x duration: none, elasticflow (factor drawn "
          "from 0.5 to 1.5), LOW:HIGH (other bounds), FACTOR (one for all jobs); ,best-effort=SHARE leaves "
          "that share of jobs without one; auto is elasticflow for the generated day and none for a trace")
      ->capture_default_str();
  command
      .add_option("--estimates", arguments.estimates,
                  "Requested times (walltimes): trace (as recorded), exact (policies know durations), or "
                  "made from the duration and never below it: lognormal:SIGMA, factor:F, rounded (up to 1h, "
                  "4h, 12h, 1d, ...), rounded:1h/4h/1d")
      ->capture_default_str();
  command
      .add_option("--seed", arguments.seed,
                  "Random seed (models, deadlines, requested times, tenants, failures)")
      ->transform(whole_number(0))
      ->capture_default_str();
  command
      .add_option("--resample", arguments.resample,
                  "Draw the trace's days or weeks anew with replacement, by --seed: none, days or weeks; "
                  "auto is none, and what fits the trace where there are several seeds")
      ->check(one_of({"none", "auto", "days", "weeks"}))
      ->capture_default_str();
}

void add_scenario_options(CLI::App& command, ScenarioSpec& spec) {
  in_group(command, "Trace", [&] {
    command.add_option("--trace", spec.trace.files,
                       "Trace file, plain, gzip or zstd; several are joined into one trace; default: a "
                       "generated day of LLM jobs on 16x8 A100");
    add_trace_options(command, spec.trace);
  });
  in_group(command, "Cluster", [&] { add_cluster_options(command, spec); });
  in_group(command, "Predicted run times", [&] {
    add_pricing_options(command, spec.pricing);
    command
        .add_option("--prediction-error", spec.pricing.prediction_error,
                    "Let true run times differ from the predicted ones, which policies know: none, empirical "
                    "(errors of the validated runs), lognormal:SIGMA (such as 0.1)")
        ->capture_default_str();
  });
  in_group(command, "Changes to the jobs", [&] {
    add_transformation_options(command, spec.transformations);
    command
        .add_option("--load", spec.transformations.load,
                    "Offered load: work submitted / work that the cluster can do from the first to the last "
                    "submission; default: 1.1 for generated jobs, for a trace that of its submissions")
        ->transform(number_between(kLeastLoad, kMostLoad));
  });
  in_group(command, "Interruptions and failures", [&] { add_disruption_options(command, spec.disruptions); });
  in_group(command, "Results and checks", [&] { add_result_options(command, spec); });
}

void add_spreadsheet_option(CLI::App& command, bool& spreadsheet_safe) {
  command.add_flag("--spreadsheet-safe", spreadsheet_safe,
                   "Put an apostrophe before names that a spreadsheet would read as formulas");
}

void add_input_option(CLI::App& program) {
  constexpr std::array<std::string_view, 6> kReadNothing = {"policies", "models",     "clusters",
                                                            "list",     "completion", "man"};
  const std::vector<CLI::App*> commands = program.get_subcommands({});
  for (CLI::App* const command : commands)
    add_input_option(*command);
  const auto& names = kReadNothing;
  const bool is_group = program.get_require_subcommand_min() > 0;
  if (is_group || std::find(names.begin(), names.end(), program.get_name()) != names.end()) return;
  program
      .add_option_function<std::string>(
          "--max-input",
          [](const std::string& size) { raise_input_limits(read_input_size(size).value_or(0)); },
          "Largest file to read, unpacked, such as 4GB; default: a limit for each kind of file "
          "(docs/files.md)")
      ->check(CLI::Validator(
          [](const std::string& size) {
            const auto read = read_input_size(size);
            return read ? std::string() : read.error().message;
          },
          {}));
}

void add_terminal_options(CLI::App& program) {
  const std::string group = program.get_parent() == nullptr ? "Options" : kTerminalGroup;
  program
      .add_flag_callback(
          "-q,--quiet",
          [] {
            spdlog::set_level(spdlog::level::err);
            silence_progress();
          },
          "Hide warnings and progress")
      ->group(group);
  program
      .add_option_function<std::string>(
          "--color",
          [](const std::string& when) {
            set_color_mode(when == "always"  ? ColorMode::Always
                           : when == "never" ? ColorMode::Never
                                             : ColorMode::Auto);
          },
          "Colour text: auto (on a terminal, unless NO_COLOR is set), always or never")
      ->check(one_of({"auto", "always", "never"}))
      ->group(group);
  for (CLI::App* const command : program.get_subcommands({}))
    add_terminal_options(*command);
}

void add_cluster_option(CLI::App& command, TargetArguments& arguments) {
  command.add_option(
      "--cluster", arguments.cluster,
      "Cluster as NODESxGPUS:TYPE, for instance 64x8:a100; all its GPUs unless --gpus says fewer");
}

void add_set_up_option(CLI::App& command, std::string& set_up) {
  command
      .add_option("--set-up", set_up,
                  "Who chose the settings, for the interval: own (the user), or recipe (a published run that "
                  "its authors tuned)")
      ->check(one_of({kSetUpNames.begin(), kSetUpNames.end()}))
      ->capture_default_str();
}

void add_target_options(CLI::App& command, TargetArguments& arguments) {
  command.add_option(
      "--profile", arguments.profile,
      fmt::format("GPU profile: {}; default: the profile of the cluster's GPUs, or a100", kProfileNameHelp));
  add_stack_options(command, arguments.stack, arguments.calibration);
  command.add_option("--precision", arguments.precision,
                     "Number format of matrix products: fp32, fp16, bf16, fp8 or fp4; default: the stack's");
  add_set_up_option(command, arguments.set_up);
  command
      .add_option("--headroom", arguments.headroom,
                  "Per cent of GPU memory that plans must leave free for what is not predicted")
      ->transform(number_between(0, 90))
      ->capture_default_str();
}

}  // namespace vtrain
