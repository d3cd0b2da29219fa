/// `vtrain scale`: the largest model worth training on given GPUs in a given time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/command.hpp"
#include "tools/output_format.hpp"
#include "tools/plan_arguments.hpp"
#include "tools/plan_table.hpp"
#include "workloads/compute_optimal.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr double kSecondsPerDay = 86400;

/// The arguments as given.
struct ScaleArguments {
  std::string gpus;
  std::string cluster;
  double days = 0;
  double tokens_per_parameter = 20;
  std::int64_t global_batch = 0;
  double price = 0;
  std::string profile;
  std::string stack;
  std::string calibration;
  bool json = false;
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

ordered_json to_json(const ScaleArguments& arguments, const Rung& rung, const TrainingBudget& budget) {
  return {{"model", rung.model.name},
          {"parameters", rung.model.num_parameters()},
          {"num_layers", rung.model.num_layers},
          {"hidden_size", rung.model.hidden_size},
          {"num_heads", rung.model.num_heads},
          {"sequence_length", rung.model.sequence_length},
          {"vocab_size", rung.model.vocab_size},
          {"tokens", rung.tokens},
          {"days_at_peak", rung.time_at_peak.count() / kSecondsPerDay},
          {"days", rung.time.count() / kSecondsPerDay},
          {"utilization", rung.utilization()},
          {"in_time", rung.time <= budget.time},
          {"plan", plan_to_json(rung.plan, terms_of(arguments, rung))}};
}

ordered_json to_json(const ScaleArguments& arguments, const TrainingBudget& budget,
                     const std::string& profile, const ScalingAnswer& answer, double wall_s) {
  ordered_json rungs = ordered_json::array();
  for (const Rung& rung : answer.rungs)
    rungs.push_back(to_json(arguments, rung, budget));
  const double promised = promised_parameters(budget);
  return {{"num_gpus", budget.num_gpus.value},
          {"days", arguments.days},
          {"profile", profile},
          {"tokens_per_parameter", budget.tokens_per_parameter},
          {"wall_s", wall_s},
          {"promised_by_peak",
           {{"parameters", promised},
            {"tokens", promised * budget.tokens_per_parameter},
            {"flops_per_second", budget.peak_rate.value * budget.num_gpus.value}}},
          {"best", rungs[answer.best]},
          {"ladder", rungs}};
}

/// The models that are worth a line: around the best, and the largest.
std::vector<std::size_t> shown_rungs(const ScalingAnswer& answer) {
  constexpr std::size_t kAbove = 2;
  const std::size_t last = answer.rungs.size() - 1;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i <= last; ++i) {
    if (i <= answer.best + kAbove || i == last) shown.push_back(i);
  }
  return shown;
}

std::string ladder_table(const ScaleArguments& arguments, const ScalingAnswer& answer) {
  const bool is_usd = arguments.price > 0;
  TextTable table({"parameters", "layers", "hidden", "tokens", "batch", "iteration", "days at peak",
                   "of peak", "days", is_usd ? "cost" : "GPU-hours", ""});
  for (const std::size_t i : shown_rungs(answer)) {
    const Rung& rung = answer.rungs[i];
    const double cost = terms_of(arguments, rung).training_cost(rung.plan);
    table.add_row({billions(parameters_of(rung)), with_thousands(rung.model.num_layers),
                   with_thousands(rung.model.hidden_size), billions(rung.tokens),
                   with_thousands(rung.plan.plan.global_batch), iteration_text(rung.plan.iteration),
                   fmt::format("{:.1f}", rung.time_at_peak.count() / kSecondsPerDay),
                   as_percent(rung.utilization()), fmt::format("{:.1f}", rung.time.count() / kSecondsPerDay),
                   fmt::format("{}{}", is_usd ? "$" : "", with_thousands(std::llround(cost))),
                   i == answer.best ? "*" : ""});
  }
  return table.to_string();
}

std::string to_text(const ScaleArguments& arguments, const TrainingBudget& budget, const std::string& profile,
                    const ScalingAnswer& answer, double wall_s) {
  const double promised = promised_parameters(budget);
  const Rung& best = answer.rungs[answer.best];
  const Rung& largest = answer.rungs.back();
  return fmt::format(
      "{} {} for {} d, {} tokens per parameter; {} models searched in {}\n\n"
      "at peak    {} parameters on {}\n"
      "predicted  {} parameters on {} in {:.1f} d: {}\n\n{}\n"
      "* the largest in time. The largest model here would take {:.1f} d.\n",
      with_thousands(budget.num_gpus.value), profile, short_number(arguments.days),
      short_number(budget.tokens_per_parameter), answer.rungs.size(), as_duration(wall_s), billions(promised),
      tokens_text(promised * budget.tokens_per_parameter), billions(parameters_of(best)),
      tokens_text(best.tokens), best.time.count() / kSecondsPerDay, describe_plan(best.plan.plan),
      ladder_table(arguments, answer), largest.time.count() / kSecondsPerDay);
}

Result<void> scale(const ScaleArguments& arguments) {
  const auto cluster = read_uniform_cluster(arguments.cluster);
  if (!cluster) return fail(cluster.error());
  const auto profile = read_profile(arguments.profile, *cluster, arguments.cluster);
  if (!profile) return fail(profile.error());
  const auto stack = read_stack(arguments.stack, arguments.calibration, *profile);
  if (!stack) return fail(stack.error());
  const auto counts = read_gpus(arguments.gpus, *cluster, *profile, false);
  if (!counts) return fail(counts.error());
  if (counts->size() != 1) {
    return fail({.field = "--gpus", .message = expected_found("one number of GPUs", arguments.gpus)});
  }
  const TrainingBudget budget{.num_gpus = counts->front(),
                              .time = Seconds(arguments.days * kSecondsPerDay),
                              .peak_rate = profile->peak_rate,
                              .tokens_per_parameter = arguments.tokens_per_parameter};
  const FindPlan find_plan = [&](const TransformerModel& model, std::int64_t batch) -> Result<RankedPlan> {
    const auto found = PlanSearch(model, *profile, *stack).find(budget.num_gpus, batch);
    if (!found) return fail(found.error());
    return found->best.front();
  };
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t num_nodes = std::max<std::int64_t>(1, budget.num_gpus.value / profile->gpus_per_node);
  const auto answer = scale_model(budget, arguments.global_batch, num_nodes, find_plan);
  if (!answer) return fail(in_option("--days", answer.error()));
  const double wall_s = Seconds(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}", arguments.json ? to_json(arguments, budget, profile->name, *answer, wall_s).dump(2) + "\n"
                                  : to_text(arguments, budget, profile->name, *answer, wall_s));
  return {};
}

}  // namespace

void add_scale_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("scale",
                         "Find the largest model worth training on a number of GPUs in a number of days.\n\n"
                         "  vtrain scale --gpus 3360 --days 30\n"
                         "  vtrain scale --cluster 64x8:a100 --days 14 --price 2.5 --json");
  const auto arguments = std::make_shared<ScaleArguments>();
  ScaleArguments& to = *arguments;
  command->add_option("--gpus", to.gpus, "Number of GPUs");
  command->add_option("--cluster", to.cluster,
                      "Nodes x GPUs per node : type, for instance 64x8:a100; without --gpus all of it");
  command->add_option("--days", to.days, "Days of training")->check(CLI::Range(0.001, 36500.0))->required();
  command
      ->add_option("--tokens-per-parameter", to.tokens_per_parameter,
                   "Compute-optimal tokens (Hoffmann et al., 2022)")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  command
      ->add_option("--global-batch", to.global_batch,
                   "Sequences an iteration; without it about those of published models of each size")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  command->add_option("--price", to.price, "Dollars per GPU-hour; without it costs are GPU-hours")
      ->check(CLI::PositiveNumber);
  command->add_option("--profile", to.profile,
                      "GPU profile, a name, a JSON file or the folder of a recording; without it that of the "
                      "cluster's GPUs, or a100");
  add_stack_options(*command, to.stack, to.calibration);
  command->add_flag("--json", to.json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return scale(*arguments); }; });
}

}  // namespace vtrain
