/// `vtrain scale`: the largest model worth training on given GPUs in a given time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/numbers.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/plan_spec.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/config/model_json.hpp"
#include "workloads/predict.hpp"
#include "workloads/search/compute_optimal.hpp"
#include "workloads/search/plan_search.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr double kSecondsPerDay = 86400;

/// The arguments as given.
struct ScaleArguments {
  std::string model;
  std::string gpus;
  TargetArguments target;
  double days = 0;
  double tokens_per_parameter = 20;
  std::int64_t sequence_length = 0;  ///< 0: the model's
  std::int64_t global_batch = 0;
  double price = 0;
  bool json = false;
};

/// Request of `scale`: the models, and inputs that all parts of the answer share.
struct ScaleQuestion {
  std::string family;  ///< name of the given model; empty: GPT
  std::vector<TransformerModel> ladder;
  TrainingBudget budget;
  TrainingTarget target;
};

/// Result of scaling.
struct ScaleAnswer {
  ScalingAnswer ladder;
  Fallbacks fallbacks;               ///< fallbacks of the best rung's plan
  std::vector<std::string> remarks;  ///< remarks on the best rung's plan
  double wall_s = 0;
};

double parameters_of(const Rung& rung) {
  return static_cast<double>(rung.model.num_parameters());
}

std::string billions(double parameters) {
  return fmt::format("{} billion", short_number(parameters / 1e9));
}

TrainingTerms terms_of(const ScaleArguments& arguments, const Rung& rung) {
  TrainingTerms terms{.tokens_per_iteration = static_cast<double>(rung.plan.plan.global_batch) *
                                              static_cast<double>(rung.model.sequence_length),
                      .tokens = rung.tokens};
  if (arguments.price > 0) terms.usd_per_gpu_hour = arguments.price;
  return terms;
}

ordered_json to_json(const ScaleArguments& arguments, const Rung& rung, const ScaleQuestion& question) {
  const Uncertainty uncertainty = uncertainty_of(rung.model, question.target);
  return {{"model", rung.model.name},
          {"parameters", rung.model.num_parameters()},
          {"active_parameters", rung.model.active_parameters()},
          {"num_layers", rung.model.num_layers},
          {"hidden_size", rung.model.hidden_size},
          {"num_heads", rung.model.num_heads},
          {"num_kv_heads", rung.model.kv_heads()},
          {"ffn_size", rung.model.mlp_size()},
          {"sequence_length", rung.model.sequence_length},
          {"vocab_size", rung.model.vocab_size},
          {"architecture", model_to_json(rung.model)},
          {"tokens", rung.tokens},
          {"days_at_peak", rung.time_at_peak.count() / kSecondsPerDay},
          {"days", rung.time.count() / kSecondsPerDay},
          {"utilization", rung.utilization()},
          {"in_time", rung.time <= question.budget.time},
          {"plan", plan_to_json(rung.plan, terms_of(arguments, rung), uncertainty)}};
}

ordered_json to_json(const ScaleArguments& arguments, const ScaleQuestion& question,
                     const ScaleAnswer& answer) {
  const TrainingBudget& budget = question.budget;
  ordered_json rungs = ordered_json::array();
  for (const Rung& rung : answer.ladder.rungs)
    rungs.push_back(to_json(arguments, rung, question));
  const double promised = promised_parameters(budget);
  ordered_json json = {
      {"num_gpus", budget.num_gpus.value}, {"days", arguments.days}, {"family", question.family}};
  json.update(target_to_json(question.target));
  json.update({{"tokens_per_parameter", budget.tokens_per_parameter},
               {"promised_by_peak",
                {{"parameters", promised},
                 {"tokens", promised * budget.tokens_per_parameter},
                 {"flops_per_second", budget.peak_rate.value * budget.num_gpus.value}}},
               {"best", rungs[answer.ladder.best]},
               {"fallbacks", answer.fallbacks.sentences()},
               {"remarks", answer.remarks},
               {"ladder_ends", answer.ladder.ladder_ends},
               {"num_larger_without_plan", answer.ladder.num_larger_without_plan},
               {"ladder", rungs}});
  return json;
}

/// Models to list: those around the best, and the largest.
std::vector<std::size_t> shown_rungs(const ScalingAnswer& answer) {
  constexpr std::size_t kAbove = 2;
  const std::size_t last = answer.rungs.size() - 1;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i <= last; ++i) {
    if (i <= answer.best + kAbove || i == last) shown.push_back(i);
  }
  return shown;
}

std::string days_text(Seconds time) {
  const double days = time.count() / kSecondsPerDay;
  return days < 1 ? fmt::format("{:.2g}", days) : fmt::format("{:.1f}", days);
}

/// Sentence on larger models without a plan.
std::string without_plan_text(const TrainingBudget& budget, const ScalingAnswer& answer) {
  const std::int64_t count = answer.num_larger_without_plan;
  if (count == 0) return {};
  return wrap_text(fmt::format("{} larger model{} no plan on exactly {} GPUs; the smallest: {}",
                               with_thousands(count), count == 1 ? " has" : "s have",
                               with_thousands(budget.num_gpus.value), answer.why_without_plan),
                   text_columns(), 2) +
         "\n";
}

std::string ladder_table(const ScaleArguments& arguments, const ScalingAnswer& answer) {
  const bool is_usd = arguments.price > 0;
  const bool has_experts = answer.rungs.front().model.has_experts();
  // Of experts the second column is the parameters that a token passes.
  const auto with_active = [has_experts](std::vector<std::string> row, std::string active) {
    if (has_experts) row.insert(row.begin() + 1, std::move(active));
    return row;
  };
  TextTable table(with_active({"parameters", "layers", "hidden", "heads", "tokens", "batch", "iteration",
                               "days at peak", "of peak", "days", is_usd ? "cost" : "GPU-hours", ""},
                              "active"));
  for (const std::size_t i : shown_rungs(answer)) {
    const Rung& rung = answer.rungs[i];
    const double cost = terms_of(arguments, rung).training_cost(rung.plan);
    table.add_row(with_active(
        {billions(parameters_of(rung)), with_thousands(rung.model.num_layers),
         with_thousands(rung.model.hidden_size), with_thousands(rung.model.num_heads), billions(rung.tokens),
         with_thousands(rung.plan.plan.global_batch), iteration_text(rung.plan.iteration),
         days_text(rung.time_at_peak), as_percent(rung.utilization()), days_text(rung.time),
         fmt::format("{}{}", is_usd ? "$" : "", with_thousands(std::llround(cost))),
         i == answer.best ? "*" : ""},
        billions(static_cast<double>(rung.model.active_parameters()))));
  }
  return table.to_string();
}

std::string to_text(const ScaleArguments& arguments, const ScaleQuestion& question,
                    const ScaleAnswer& found) {
  const TrainingBudget& budget = question.budget;
  const ScalingAnswer& answer = found.ladder;
  const double promised = promised_parameters(budget);
  const Rung& best = answer.rungs[answer.best];
  const Rung& largest = answer.rungs.back();
  const bool has_experts = best.model.has_experts();
  const std::string active =
      has_experts ? fmt::format(", {} active,", billions(static_cast<double>(best.model.active_parameters())))
                  : "";
  return fmt::format(
      "{} {} for {} d, {} tokens per {}; {} models{} searched in {}   {}\n\n"
      "at peak    {} {} on {}\n"
      "predicted  {} parameters{} on {} in {}: {}\n\n{}\n"
      "* the largest in time{}\n{}"
      "days at peak: 6 operations for each {} and token, attention not counted\n{}{}",
      with_thousands(budget.num_gpus.value), question.target.profile.name, short_number(arguments.days),
      short_number(budget.tokens_per_parameter), has_experts ? "active parameter" : "parameter",
      answer.rungs.size(), question.family.empty() ? "" : " like " + question.family,
      as_duration(found.wall_s), describe_target(question.target), billions(promised),
      has_experts ? "active parameters" : "parameters", tokens_text(promised * budget.tokens_per_parameter),
      billions(parameters_of(best)), active, tokens_text(best.tokens), as_days(best.time.count()),
      describe_plan(best.plan.plan), ladder_table(arguments, answer),
      answer.ladder_ends
          ? ", and the largest that is tried: larger ones may be in time too."
          : fmt::format(". The largest model here would take {}.", as_days(largest.time.count())),
      without_plan_text(budget, answer), has_experts ? "active parameter" : "parameter",
      remarks_text(found.remarks, "*"),
      fallbacks_text(found.fallbacks, "*", "") + default_stack_note(question.target));
}

/// The ladder of the model's family, or of GPT without one.
Result<void> read_family(const ScaleArguments& arguments, ScaleQuestion& question,
                         std::vector<std::string>& warnings) {
  if (arguments.model.empty()) {
    question.ladder = gpt_ladder();
    if (arguments.sequence_length == 0) return {};
    for (TransformerModel& model : question.ladder)
      model.sequence_length = arguments.sequence_length;
    return {};
  }
  const auto model = load_model(arguments.model, arguments.sequence_length);
  if (!model) return fail(model.error());
  for (const std::string& warning : model->warnings)
    warnings.push_back(fmt::format("{}: {}", arguments.model, warning));
  auto ladder = family_ladder(model->model);
  if (!ladder) return fail(in_option(arguments.model, ladder.error()));
  question.family = model->model.name;
  question.ladder = *std::move(ladder);
  return {};
}

Result<ScaleQuestion> read_question(const ScaleArguments& arguments, std::vector<std::string>& warnings) {
  ScaleQuestion question;
  if (auto read = read_family(arguments, question, warnings); !read) return fail(read.error());
  auto target = read_target(arguments.target, warnings);
  if (!target) return fail(std::move(target.error()));
  question.target = *std::move(target);
  const auto counts = read_gpus(arguments.gpus, question.target.cluster, question.target.profile, false);
  if (!counts) return fail(counts.error());
  if (counts->size() != 1) {
    return fail({.field = "--gpus", .message = expected_found("one number of GPUs", arguments.gpus)});
  }
  question.budget = {
      .num_gpus = counts->front(),
      .time = Seconds(arguments.days * kSecondsPerDay),
      .peak_rate = question.target.profile.peak_rate_of(question.target.stack.choices.precision),
      .tokens_per_parameter = arguments.tokens_per_parameter};
  return question;
}

Result<void> scale(const ScaleArguments& arguments) {
  std::vector<std::string> warnings;
  const auto question = read_question(arguments, warnings);
  log_warnings(warnings);
  if (!question) return fail(question.error());
  const TrainingBudget& budget = question->budget;
  const FindPlan find_plan = [&](const TransformerModel& model, std::int64_t batch) -> Result<RankedPlan> {
    const auto found = PlanSearch(model, question->target.profile, question->target.stack)
                           .find(budget.num_gpus, batch, {.headroom = question->target.headroom / 100});
    if (!found) return fail(found.error());
    return found->best.front();
  };
  const auto start = std::chrono::steady_clock::now();
  // Replicas are spread over nodes, or over the GPUs of less than one.
  const std::int64_t num_gpus = budget.num_gpus.value;
  const std::int64_t gpus_per_node = question->target.profile.gpus_per_node;
  const std::int64_t batch_multiple = num_gpus < gpus_per_node ? num_gpus : num_gpus / gpus_per_node;
  auto ladder = scale_model(budget, question->ladder, arguments.global_batch, batch_multiple, find_plan);
  if (!ladder) {
    Error error = std::move(ladder.error());
    error.field = error.field == "days" ? "--days" : "--gpus";
    return fail(std::move(error));
  }
  ScaleAnswer answer;
  answer.ladder = *std::move(ladder);
  answer.wall_s = Seconds(std::chrono::steady_clock::now() - start).count();
  const Rung& best = answer.ladder.rungs[answer.ladder.best];
  auto predicted = predict(best.model, best.plan.plan, question->target);
  if (!predicted) return fail(std::move(predicted.error()));
  answer.fallbacks = std::move(predicted->provenance.fallbacks);
  answer.remarks = std::move(predicted->provenance.remarks);
  print_text(stdout, "{}",
             arguments.json ? json_text(to_json(arguments, *question, answer))
                            : to_text(arguments, *question, answer));
  return {};
}

}  // namespace

void add_scale_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("scale",
                         "Find the largest model worth training on a number of GPUs in a number of days.\n\n"
                         "  vtrain scale --gpus 3360 --days 30\n"
                         "  vtrain scale llama3-8b --cluster 32x8:h100 --days 30\n"
                         "  vtrain scale --cluster 64x8:a100 --days 14 --price 2.5 --json");
  const auto arguments = std::make_shared<ScaleArguments>();
  ScaleArguments& to = *arguments;
  command->add_option("model", to.model,
                      "Model whose depth and width are scaled: a name from `vtrain models`, a JSON file "
                      "(docs/files.md), or a config.json of Hugging Face; default: GPT");
  command->add_option("--gpus", to.gpus, "Number of GPUs");
  add_cluster_option(*command, to.target);
  command->add_option("--days", to.days, "Days of training")
      ->transform(number_between(0.001, 36500))
      ->required();
  command
      ->add_option("--tokens-per-parameter", to.tokens_per_parameter,
                   "Tokens to train on per parameter (compute-optimal: Hoffmann et al., 2022); with experts "
                   "per active parameter")
      ->transform(number_between(0.001, 1e6))
      ->capture_default_str();
  command->add_option("--sequence-length", to.sequence_length, kSequenceLengthHelp)
      ->transform(binary_count(1, kMaxSequenceLength));
  command
      ->add_option("--global-batch", to.global_batch,
                   "Global batch, in sequences; default: about the batch of published models of each size")
      ->transform(whole_number(1, 100'000'000));
  command->add_option("--price", to.price, "Price in dollars per GPU-hour; without it costs are in GPU-hours")
      ->transform(number_above_zero());
  add_target_options(*command, to.target);
  command->add_flag("--json", to.json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return scale(*arguments); }; });
}

}  // namespace vtrain
