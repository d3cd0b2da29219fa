/// `vtrain plan`: the best parallel plans of a model on given GPUs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/plan_request.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_lines.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/config/model_json.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/physical/extrapolation_list.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

const CountAnswer& answer_for(const PlanReport& answer, GpuCount num_gpus) {
  return *std::find_if(answer.counts.begin(), answer.counts.end(),
                       [num_gpus](const CountAnswer& count) { return count.num_gpus == num_gpus; });
}

/// `1 beats 2 by 1.3 %: less tensor communication (-0.41 s)`.
std::string comparison(std::string_view winner, std::string_view loser, const RankedPlan& best,
                       const RankedPlan& other) {
  if (best.iteration == other.iteration) return fmt::format("{} and {} are equally fast\n", winner, loser);
  const double by = other.iteration.count() / best.iteration.count() - 1;
  return wrap_text(
             fmt::format("{} beats {} by {}: {}", winner, loser,
                         by < 0.0005 ? "less than 0.1 %" : as_percent(by), explain_difference(best, other)),
             text_columns(), 2) +
         "\n";
}

/// The table of one GPU count: its fastest plans.
std::string one_count_text(const PlanRequest& question, const CountAnswer& count) {
  const std::vector<RankedPlan>& best = count.found->best;
  std::vector<PlanLine> lines = fold_plans(best);
  if (question.search.top > 0 && lines.size() > question.search.top) lines.resize(question.search.top);
  std::vector<PlanRow> rows;
  std::string folded;
  for (const PlanLine& line : lines) {
    const std::string label = std::to_string(rows.size() + 1);
    rows.push_back({label, best[line.front()]});
    folded += folded_text(label, line, best);
  }
  if (count.beside && *count.beside) rows.push_back({"given", **count.beside});
  std::string text = plan_table(rows, question.terms, false);
  text += folded;
  if (lines.size() > 1) text += comparison("1", "2", best[lines[0].front()], best[lines[1].front()]);
  std::vector<RankedPlan> shown;
  for (const PlanLine& line : lines)
    shown.push_back(best[line.front()]);
  return text + equal_plans_text(shown);
}

/// The table of several GPU counts: the front, and the reason that the best beats its runner-up.
std::string front_text(const PlanRequest& question, const PlanReport& answer) {
  std::vector<PlanRow> rows;
  int rank = 0;
  for (const std::size_t i : answer.front) {
    const RankedPlan& plan = answer.fastest[i];
    rows.push_back({std::to_string(++rank), plan});
    const CountAnswer& count = answer_for(answer, plan.plan.num_gpus());
    if (count.beside && *count.beside) rows.push_back({"given", **count.beside});
  }
  std::string text = plan_table(rows, question.terms, true);
  const std::vector<RankedPlan>& best = answer_for(answer, rows.front().plan.plan.num_gpus()).found->best;
  if (best.size() > 1) {
    text +=
        comparison("1",
                   fmt::format("the runner-up on {} GPUs ({})", with_thousands(best[0].plan.num_gpus().value),
                               describe_plan(best[1].plan)),
                   best[0], best[1]);
  }
  return text;
}

/// Adds a line that names GPU counts: `too slow for the deadline: 64 and 72 GPUs`; many are only counted.
std::string counts_line(std::string_view what, const std::vector<GpuCount>& counts) {
  constexpr std::size_t kShown = 8;
  if (counts.empty()) return {};
  if (counts.size() > kShown) {
    return fmt::format("{}: {} GPU counts from {} to {}\n", what, with_thousands(std::ssize(counts)),
                       with_thousands(counts.front().value), with_thousands(counts.back().value));
  }
  std::vector<std::string> numbers;
  numbers.reserve(counts.size());
  for (const GpuCount count : counts)
    numbers.push_back(with_thousands(count.value));
  const std::string list = join_with_and(numbers);
  return fmt::format("{}: {} GPU{}\n", what, list, list == "1" ? "" : "s");
}

/// GPU counts that are not in the table, with the reason.
std::string left_out_text(const PlanRequest& question, const PlanReport& answer) {
  std::vector<GpuCount> beaten;
  std::vector<GpuCount> late;
  for (std::size_t i = 0; i < answer.fastest.size(); ++i) {
    if (std::find(answer.front.begin(), answer.front.end(), i) != answer.front.end()) continue;
    const RankedPlan& plan = answer.fastest[i];
    const bool is_late = question.deadline_s && question.terms.training_seconds(plan) > *question.deadline_s;
    (is_late ? late : beaten).push_back(plan.plan.num_gpus());
  }
  std::vector<GpuCount> indivisible;
  std::vector<GpuCount> too_small;
  for (const CountAnswer& count : answer.counts) {
    if (count.found) continue;
    (count.found.error().kind == ErrorKind::Failed ? too_small : indivisible).push_back(count.num_gpus);
  }
  std::string text = counts_line("does not fit into memory", too_small) +
                     counts_line("model and batch cannot be divided", indivisible) +
                     counts_line("too slow for the deadline", late) +
                     counts_line("no faster than fewer GPUs", beaten);
  for (const CountAnswer& count : answer.counts) {
    if (!count.beside || *count.beside) continue;
    text += fmt::format("given plan on {} GPUs: {}\n", with_thousands(count.num_gpus.value),
                        count.beside->error().describe());
  }
  return text;
}

/// `1 has 20, 21, 21 and 18 layers on its stages: Et*2|(t*3|)*26L`.
std::string uneven_stages_text(const TransformerModel& model, const ParallelPlan& plan) {
  constexpr std::size_t kShown = 16;
  const std::vector<std::int64_t> layers = layers_by_stage(model, plan);
  std::vector<std::string> numbers;
  numbers.reserve(layers.size());
  for (const std::int64_t count : layers)
    numbers.push_back(std::to_string(count));
  return wrap_text(fmt::format("1 has {}: --pipeline-model-parallel-layout '{}' (Megatron-Core)",
                               numbers.size() > kShown ? "uneven stages"
                                                       : join_with_and(numbers) + " layers on its stages",
                               pipeline_layout(model, plan)),
                   text_columns(), 2);
}

/// Note on recomputation of parts of layers: its use by the plan, or the possibility.
std::string recompute_note(const PlanRequest& question, const ParallelPlan& plan) {
  if (plan.recompute == Recompute::Selective && question.target.stack.choices.latent_recompute) {
    return "1 makes queries, keys and values again from their compressed form:\n"
           "  --recompute-granularity selective --recompute-modules mla_up_proj (Megatron-Core)\n";
  }
  if (plan.recomputed_layers > 0) {
    return fmt::format(
        "1 recomputes some layers: --recompute-granularity full --recompute-method block "
        "--recompute-num-layers {}\n",
        plan.recomputed_layers);
  }
  const bool could = plan.recompute == Recompute::Full && question.target.stack.choices.partial_recompute;
  if (!could || question.search.partial_recompute) return {};
  return "1 recomputes all layers; --partial-recompute finds the fewest layers that must be recomputed\n";
}

std::string to_text(const PlanRequest& question, const PlanReport& answer, const std::string& list) {
  const auto billions = [](std::int64_t parameters) {
    return short_number(static_cast<double>(parameters) / 1e9);
  };
  const bool one = answer.counts.size() == 1;
  const std::string gpus = one ? with_thousands(answer.counts.front().num_gpus.value)
                               : fmt::format("{} to {}", with_thousands(answer.counts.front().num_gpus.value),
                                             with_thousands(answer.counts.back().num_gpus.value));
  std::string text = fmt::format(
      "{}   {} billion parameters{}   global batch {}{} x {} tokens   {} {}   {}\n"
      "{} plans, {} fit in {} of memory, searched in {}\n",
      question.model.name, billions(question.model.num_parameters()),
      question.model.has_experts() ? fmt::format(", {} active", billions(question.model.active_parameters()))
                                   : "",
      with_thousands(question.global_batch), question.assumes_batch ? " (assumed)" : "",
      with_thousands(question.model.sequence_length), gpus, question.target.profile.name,
      describe_target(question.target), with_thousands(answer.num_plans), with_thousands(answer.num_fitting),
      as_gibibytes(question.target.profile.memory_capacity.value), as_duration(answer.wall_s));
  text += one ? one_count_text(question, answer.counts.front()) : front_text(question, answer);
  const RankedPlan& best = answer.fastest[answer.front.front()];
  if (best.plan.ends_count_as_layers) text += uneven_stages_text(question.model, best.plan) + "\n";
  text += recompute_note(question, best.plan);
  text += fmt::format("1 trains {}\n", speed_text(speed_of(question, best)));
  text += wrap_text("90 % interval of 1: " + uncertainty_text(best.iteration, question.uncertainty,
                                                              question.target.stack.name, question.model),
                    text_columns(), 2) +
          "\n";
  text += remarks_text(answer.remarks, "1") + default_stack_note(question.target);
  return text + fallbacks_text(answer.fallbacks, "1", list) + left_out_text(question, answer);
}

/// The name of a profile as `load_gpu_profile` reads it from any folder, with all constants that were
/// changed.
std::string profile_to_load(const std::string& given, const GpuProfile& profile) {
  ProfileName name = split_profile_name(profile.name);
  const std::string base = split_profile_name(given).base;
  if (is_profile_path(base)) name.base = std::filesystem::absolute(base).string();
  return name.constants.empty() ? name.base : name.base + ":" + name.constants;
}

/// Arguments of `plan`.
struct PlanArguments {
  PlanSpec spec;
  std::filesystem::path spec_file;  ///< file of the spec; empty: the spec is in options
  std::string out;                  ///< file for the best plan; empty for none
  std::string extrapolated;         ///< file for the extrapolated kernels of the best plan; empty for none
  bool json = false;
};

/// Model and plan as `vtrain predict` reads them (`predict_config.hpp`): a known model by its name, one from
/// a file in full.
ordered_json to_config(const PlanSpec& spec, const PlanRequest& question, const ParallelPlan& plan) {
  ordered_json plan_json = plan_to_json(plan);
  plan_json["sequence_length"] = question.model.sequence_length;
  return {{"model", is_model_path(spec.model) ? model_to_json(question.model) : ordered_json(spec.model)},
          {"plan", std::move(plan_json)},
          {"profile", profile_to_load(spec.files.locate(spec.target.profile), question.target.profile)},
          {"stack", question.target.stack.name}};
}

/// Next command, for the file of the best plan.
std::string written_text(const PlanArguments& arguments, const PlanSpec& spec) {
  const std::string& calibration = spec.target.calibration;
  return fmt::format("1 is written: vtrain predict {}{}\n", printable(arguments.out),
                     calibration.empty() ? "" : " --calibrate " + printable(calibration));
}

/// Answers the request in a spec.
Result<void> answer_spec(const PlanArguments& arguments, const PlanSpec& spec) {
  std::vector<std::string> warnings;
  const auto question = read_plan_request(spec, warnings);
  log_warnings(warnings);
  if (!question) return fail(question.error());
  const auto answer = make_plan_report(*question, !arguments.json);
  if (!answer) return fail(answer.error());
  if (!arguments.out.empty()) {
    const ParallelPlan& best = answer->fastest[answer->front.front()].plan;
    const std::string config = json_text(to_config(spec, *question, best));
    if (auto written = write_file(arguments.out, config); !written) return written;
  }
  if (!arguments.extrapolated.empty()) {
    ExtrapolationList list;
    list.add(answer->fallbacks);
    if (auto written = write_file(arguments.extrapolated, list.to_csv("predictions")); !written)
      return written;
  }
  const std::string text = arguments.json
                               ? json_text(plan_report_to_json(spec, *question, *answer))
                               : to_text(*question, *answer, extrapolated_list(arguments.extrapolated));
  print_text(summary_stream(arguments.out), "{}{}", text,
             arguments.json || arguments.out.empty() ? "" : written_text(arguments, spec));
  return {};
}

Result<void> plan(const PlanArguments& arguments) {
  if (arguments.spec_file.empty()) {
    if (arguments.spec.model.empty())
      return fail({.field = "model", .message = "missing: name one, or a file with --spec"});
    return answer_spec(arguments, arguments.spec);
  }
  const auto read = read_plan_spec(arguments.spec_file);
  if (!read) return fail(read.error());
  auto answered = answer_spec(arguments, read->spec);
  if (!answered) return fail(read->in_file(std::move(answered.error())));
  return {};
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "plan",
      "Find the fastest or cheapest parallel plans of a model on a number of GPUs.\n\n  vtrain plan "
      "llama3-70b --cluster 64x8:h100 --stack megatron-core --global-batch 1024\n  vtrain plan "
      "megatron-39.1b --gpus 64-512 --tokens 300B --deadline 60d --price 2.5");
  command->footer(kOutOfScope);
  const auto arguments = std::make_shared<PlanArguments>();
  PlanSpec& to = arguments->spec;
  command->add_option(
      "model", to.model,
      "Model: a name from `vtrain models`, a JSON file (docs/files.md), or a config.json of Hugging Face");
  command->add_option("--gpus", to.gpus,
                      "Number of GPUs: 512, a list 256,512, or a range 64-512 (powers of two within a node, "
                      "then whole nodes)");
  add_cluster_option(*command, to.target);
  command
      ->add_option(
          "--global-batch", to.global_batch,
          "Global batch, in sequences; default: the model's published one, else 4 Mi tokens, rounded "
          "to a multiple of the GPUs")
      ->transform(whole_number(1, kMaxGlobalBatch));
  command
      ->add_option("--objective", to.objective,
                   "Objective: least time, cost or gpus; default: time, with --deadline cost")
      ->check(one_of({"time", "cost", "gpus"}));
  command->add_option("--deadline", to.deadline, "Time in which all --tokens must be trained on: 30d, 720h");
  command->add_option("--tokens", to.tokens, "Tokens to train on: 300B, 1.4T (10^9, 10^12)");
  command->add_option("--price", to.price, "Price in dollars per GPU-hour; without it costs are in GPU-hours")
      ->transform(number_above_zero());
  command
      ->add_option(
          "--top", to.top,
          "Plans to show (0 = all), almost equal ones as one; with several numbers of GPUs only in --json")
      ->transform(whole_number(0))
      ->capture_default_str();
  command->add_option("--beside", to.beside,
                      "Compare with this plan: tensor=8,pipeline=35,micro-batch=1,recompute=full; defaults: "
                      "degrees 1, recompute=full, sharding=none");
  command->add_flag("--offload", to.offload,
                    "Let plans that do not fit keep activations of some layers (the fewest that suffice) in "
                    "CPU memory; for Megatron-Core and Megatron-Bridge, with one stage and no recomputation");
  command->add_flag("--partial-recompute", to.partial_recompute,
                    "Let plans with full recomputation recompute only some layers of each stage (the fewest "
                    "that suffice); for Megatron-Core, Megatron-Bridge and Megatron-LM of 2022");
  command->add_flag("--zero-bubble", to.zero_bubble,
                    "Also search plans with the schedule ZB-H1, which a fork of Megatron-Core offers "
                    "(sail-sg/zero-bubble)");
  add_target_options(*command, to.target);
  command->add_option("--sequence-length", to.sequence_length, kSequenceLengthHelp)
      ->transform(binary_count(1, kMaxSequenceLength));
  const std::vector<CLI::Option*> replaced = command->get_options();
  CLI::Option* const spec =
      command->add_option("--spec", arguments->spec_file,
                          "Repeat the search of a --json document; replaces the model and the options above");
  for (CLI::Option* const option : replaced) {
    if (option != command->get_help_ptr()) spec->excludes(option);
  }
  command
      ->add_option("--out", arguments->out,
                   "Write the model and the best plan to a file for `vtrain predict`")
      ->check(plain_file());
  command
      ->add_option("--extrapolated", arguments->extrapolated,
                   "Write the kernels of the best plan outside measured sizes as CSV")
      ->check(plain_file());
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return plan(*arguments); }; });
}

}  // namespace vtrain
