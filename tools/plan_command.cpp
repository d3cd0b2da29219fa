/// `vtrain plan`: the best parallel plans of a model on given GPUs.
#include <fmt/format.h>

#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/gpu_profile.hpp"
#include "core/text.hpp"
#include "core/time_span.hpp"
#include "sched/cluster.hpp"
#include "tools/command.hpp"
#include "tools/json_output.hpp"
#include "tools/output_format.hpp"
#include "tools/plan_spec.hpp"
#include "tools/plan_table.hpp"
#include "tools/target_arguments.hpp"
#include "tools/usage_error.hpp"
#include "tools/value_checks.hpp"
#include "tools/wall_time.hpp"
#include "workloads/model_file.hpp"
#include "workloads/physical_semantics.hpp"
#include "workloads/plan_choice.hpp"
#include "workloads/predictor.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct PlanArguments {
  std::string model;
  std::string gpus;
  TargetArguments target;
  std::int64_t global_batch = 0;
  std::string objective;
  std::string deadline;
  std::string tokens;
  double price = 0;
  std::int64_t top = 3;
  std::string beside;
  std::int64_t sequence_length = 0;
  bool offload = false;
  bool partial_recompute = false;
  bool no_zero_bubble = false;
  bool json = false;
};

/// What is asked, once the arguments have been read.
struct PlanQuestion {
  TransformerModel model;
  std::int64_t global_batch = 0;
  bool assumes_batch = false;  ///< nobody named it, and none is published of the model
  TrainingTarget target;
  std::vector<GpuCount> gpu_counts;
  Objective objective = Objective::Time;
  TrainingTerms terms;
  std::optional<double> deadline_s;
  std::size_t top = 0;
  bool offload = false;
  bool partial_recompute = false;
  std::optional<ParallelPlan> beside;
};

/// The plans of one number of GPUs, or why there is none.
struct CountAnswer {
  GpuCount num_gpus;
  Result<PlanSearchResult> found;
  std::optional<Result<RankedPlan>> beside;
};

/// What the search found.
struct PlanAnswer {
  std::vector<CountAnswer> counts;
  std::vector<RankedPlan> fastest;   ///< of each count that has any
  std::vector<std::size_t> front;    ///< positions in `fastest`, the best by the objective first
  Fallbacks fallbacks;               ///< of the best
  std::vector<std::string> remarks;  ///< likewise
  std::int64_t num_plans = 0;
  std::int64_t num_fitting = 0;
  double wall_s = 0;
};

Result<void> read_terms(const PlanArguments& arguments, PlanQuestion& question) {
  question.terms.tokens_per_iteration =
      static_cast<double>(question.global_batch) * static_cast<double>(question.model.sequence_length);
  if (arguments.price > 0) question.terms.usd_per_gpu_hour = arguments.price;
  if (!arguments.tokens.empty()) {
    const auto tokens = parse_large_count(arguments.tokens);
    if (!tokens) return fail(in_option("--tokens", tokens.error()));
    question.terms.tokens = *tokens;
  }
  if (!arguments.deadline.empty()) {
    const auto deadline = parse_time_span(arguments.deadline);
    if (!deadline || deadline->count() == 0)
      return fail({.field = "--deadline",
                   .message = expected_found("a duration above 0, up to 100 years, such as 720h or 30d",
                                             arguments.deadline)});
    question.deadline_s = to_seconds(*deadline);
    if (!question.terms.tokens) {
      return fail({.field = "--deadline", .message = "needs --tokens, for instance --tokens 300B"});
    }
  }
  std::string objective = arguments.objective;
  if (objective.empty()) objective = question.deadline_s ? "cost" : "time";
  question.objective = objective == "time"   ? Objective::Time
                       : objective == "cost" ? Objective::Cost
                                             : Objective::Gpus;
  return {};
}

Result<PlanQuestion> read_question(const PlanArguments& arguments) {
  PlanQuestion question;
  const auto model = load_model(arguments.model, arguments.sequence_length);
  if (!model) return fail(model.error());
  for (const std::string& warning : model->warnings)
    spdlog::warn("{}: {}", arguments.model, warning);
  question.model = model->model;
  question.global_batch = arguments.global_batch > 0 ? arguments.global_batch : model->global_batch;
  question.assumes_batch = arguments.global_batch == 0 && !model->batch_is_published;
  if (question.global_batch == 0) {
    return fail(
        {.field = "--global-batch",
         .message = fmt::format("missing: nothing is known of the batches of '{}'", model->model.name)});
  }
  auto target = read_target(arguments.target);
  if (!target) return fail(std::move(target.error()));
  question.target = *std::move(target);
  question.offload = arguments.offload;
  question.partial_recompute = arguments.partial_recompute;
  if (arguments.partial_recompute) {
    if (auto checked = check_partial_recompute(question.target.stack); !checked) return fail(checked.error());
  }
  if (arguments.no_zero_bubble) std::erase(question.target.stack.choices.schedules, Schedule::ZeroBubble);
  if (arguments.offload) {
    if (auto checked = check_offload(question.target.stack, question.target.profile); !checked)
      return fail(checked.error());
  }
  if (auto read = read_terms(arguments, question); !read) return fail(read.error());
  auto counts = read_gpus(arguments.gpus, question.target.cluster, question.target.profile,
                          question.deadline_s.has_value());
  if (!counts) return fail(counts.error());
  question.gpu_counts = *std::move(counts);
  question.top = static_cast<std::size_t>(arguments.top);
  if (!arguments.beside.empty()) {
    auto plan = parse_plan_spec(arguments.beside, {.global_batch = question.global_batch,
                                                   .micro_batch = 1,
                                                   .precision = question.target.stack.choices.precision});
    if (!plan) return fail(in_option("--beside", plan.error()));
    plan->sequence_parallel = question.target.stack.choices.sequence_parallel && plan->tensor > 1;
    question.beside = *plan;
  }
  return question;
}

/// The plan of `--beside` on this number of GPUs.
Result<RankedPlan> predict_beside(const PlanQuestion& question, GpuCount num_gpus) {
  const auto plan = on_gpus(*question.beside, num_gpus);
  if (!plan) return fail(plan.error());
  const auto prediction =
      predict_physical(question.model, *plan, question.target.profile, question.target.stack);
  if (!prediction) return fail(prediction.error());
  const IterationTimes times = fast_iteration_times(prediction->work);
  return RankedPlan{*plan, times.iteration, prediction->memory, times.breakdown};
}

/// Why no count has a plan: what is said of the largest.
Error no_plan_at_all(const std::vector<CountAnswer>& counts) {
  Error error = counts.back().found.error();
  error.field = "--gpus";
  if (counts.size() > 1)
    error.message = fmt::format("no plan on any of {} GPU counts; {}", counts.size(), error.message);
  return error;
}

/// What is said where no plan is in time: how long the fastest takes, and what it is under.
Error too_slow(const PlanQuestion& question, const std::vector<RankedPlan>& fastest) {
  const RankedPlan& best = fastest[*choose_plan(fastest, Objective::Time, Nanoseconds::max())];
  return {
      .kind = ErrorKind::Failed,
      .field = "--deadline",
      .message = fmt::format("no plan trains {} in {}; the fastest takes {} on {} GPUs ({}; global batch "
                             "{}{}, {}, stack {}; --global-batch, --precision and --stack change these)",
                             tokens_text(*question.terms.tokens), as_days(*question.deadline_s),
                             as_days(question.terms.training_seconds(best)),
                             with_thousands(best.plan.num_gpus().value), describe_plan(best.plan),
                             with_thousands(question.global_batch), question.assumes_batch ? " assumed" : "",
                             name_of(best.plan.precision), question.target.stack.name)};
}

Result<PlanAnswer> answer_question(const PlanQuestion& question) {
  PlanAnswer answer;
  const auto start = std::chrono::steady_clock::now();
  PlanSearch search(question.model, question.target.profile, question.target.stack);
  for (const GpuCount num_gpus : question.gpu_counts) {
    auto found = search.find(
        num_gpus, question.global_batch,
        {.top = question.top, .offload = question.offload, .partial_recompute = question.partial_recompute});
    std::optional<Result<RankedPlan>> beside;
    if (question.beside) beside = predict_beside(question, num_gpus);
    if (found) {
      answer.fastest.push_back(found->best.front());
      answer.num_plans += found->num_plans;
      answer.num_fitting += found->num_fitting;
    }
    answer.counts.push_back({num_gpus, std::move(found), std::move(beside)});
  }
  answer.wall_s = seconds_since(start);
  if (answer.fastest.empty()) return fail(no_plan_at_all(answer.counts));
  Nanoseconds longest = Nanoseconds::max();
  if (question.deadline_s) longest = Seconds(*question.deadline_s / question.terms.iterations());
  // The front, the best first: choosing again among what is left.
  std::vector<std::size_t> left = pareto_front(answer.fastest);
  while (true) {
    std::vector<RankedPlan> plans;
    for (const std::size_t i : left)
      plans.push_back(answer.fastest[i]);
    const auto best = choose_plan(plans, question.objective, longest);
    if (!best) break;
    answer.front.push_back(left[*best]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(*best));
  }
  if (answer.front.empty()) return fail(too_slow(question, answer.fastest));
  const RankedPlan& best = answer.fastest[answer.front.front()];
  auto predicted =
      predict_physical(question.model, best.plan, question.target.profile, question.target.stack);
  if (!predicted) return fail(std::move(predicted.error()));
  answer.fallbacks = std::move(predicted->provenance.fallbacks);
  answer.remarks = std::move(predicted->provenance.remarks);
  return answer;
}

TrainingSpeed speed_of(const PlanQuestion& question, const RankedPlan& ranked) {
  return training_speed(question.model, ranked.plan, ranked.iteration,
                        question.target.profile.peak_rate_of(ranked.plan.precision));
}

ordered_json to_json(const PlanQuestion& question, const RankedPlan& ranked) {
  ordered_json json = plan_to_json(ranked, question.terms);
  json["sequence_length"] = question.model.sequence_length;
  json["layers_by_stage"] = layers_by_stage(question.model, ranked.plan);
  json["pipeline_layout"] = pipeline_layout(question.model, ranked.plan);
  const TrainingSpeed speed = speed_of(question, ranked);
  json["model_tflops_per_gpu"] = speed.per_gpu.value / 1e12;
  json["mfu"] = speed.of_peak;
  if (question.deadline_s) json["in_time"] = question.terms.training_seconds(ranked) <= *question.deadline_s;
  return json;
}

const CountAnswer& answer_for(const PlanAnswer& answer, GpuCount num_gpus) {
  return *std::find_if(answer.counts.begin(), answer.counts.end(),
                       [num_gpus](const CountAnswer& count) { return count.num_gpus == num_gpus; });
}

ordered_json to_json(const PlanQuestion& question, const PlanAnswer& answer) {
  ordered_json counts = ordered_json::array();
  for (const CountAnswer& count : answer.counts) {
    ordered_json entry = {{"num_gpus", count.num_gpus.value}};
    if (count.found) {
      entry["num_plans"] = count.found->num_plans;
      entry["num_fitting"] = count.found->num_fitting;
      entry["plans"] = ordered_json::array();
      for (const RankedPlan& plan : count.found->best)
        entry["plans"].push_back(to_json(question, plan));
    } else {
      entry["error"] = count.found.error().message;
    }
    if (count.beside && *count.beside) entry["beside"] = to_json(question, **count.beside);
    if (count.beside && !*count.beside) entry["beside"] = {{"error", count.beside->error().describe()}};
    counts.push_back(std::move(entry));
  }
  ordered_json front = ordered_json::array();
  for (const std::size_t i : answer.front)
    front.push_back(answer.fastest[i].plan.num_gpus().value);
  const RankedPlan& best = answer.fastest[answer.front.front()];
  constexpr std::array kObjectives = {"time", "cost", "gpus"};
  ordered_json json = {{"model", question.model.name},
                       {"parameters", question.model.num_parameters()},
                       {"sequence_length", question.model.sequence_length},
                       {"global_batch", question.global_batch},
                       {"tokens_per_iteration", question.terms.tokens_per_iteration},
                       {"objective", kObjectives[static_cast<std::size_t>(question.objective)]}};
  json.update(target_to_json(question.target));
  if (question.terms.tokens) json["tokens"] = *question.terms.tokens;
  if (question.deadline_s) json["deadline_s"] = *question.deadline_s;
  if (question.terms.usd_per_gpu_hour) json["usd_per_gpu_hour"] = *question.terms.usd_per_gpu_hour;
  json.update({{"num_plans", answer.num_plans},
               {"num_fitting", answer.num_fitting},
               {"wall_s", answer.wall_s},
               {"best", to_json(question, best)},
               {"fallbacks", answer.fallbacks.sentences()},
               {"remarks", answer.remarks},
               {"pareto_gpus", front},
               {"counts", counts}});
  return json;
}

/// `1 beats 2 by 1.3 %: less tensor communication (-0.41 s)`.
std::string comparison(std::string_view winner, std::string_view loser, const RankedPlan& best,
                       const RankedPlan& other) {
  if (best.iteration == other.iteration) return fmt::format("{} and {} are equally fast\n", winner, loser);
  const double by = other.iteration.count() / best.iteration.count() - 1;
  return wrap_text(
             fmt::format("{} beats {} by {}: {}", winner, loser,
                         by < 0.0005 ? "less than 0.1 %" : as_percent(by), explain_difference(best, other)),
             kTextColumns, 2) +
         "\n";
}

/// The table of one GPU count: its fastest plans.
std::string one_count_text(const PlanQuestion& question, const CountAnswer& count) {
  const std::vector<RankedPlan>& best = count.found->best;
  std::vector<PlanRow> rows;
  for (const RankedPlan& plan : best)
    rows.push_back({std::to_string(rows.size() + 1), plan});
  if (count.beside && *count.beside) rows.push_back({"given", **count.beside});
  std::string text = plan_table(rows, question.terms, false);
  if (best.size() > 1) text += comparison("1", "2", best[0], best[1]);
  return text;
}

/// The table of several GPU counts: the front, and how the best beats its runner-up.
std::string front_text(const PlanQuestion& question, const PlanAnswer& answer) {
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
  std::string list;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    list += i == 0 ? "" : i + 1 == counts.size() ? " and " : ", ";
    list += with_thousands(counts[i].value);
  }
  return fmt::format("{}: {} GPUs\n", what, list);
}

/// GPU counts that are not in the table, and why.
std::string left_out_text(const PlanQuestion& question, const PlanAnswer& answer) {
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
  std::string list;
  for (std::size_t i = 0; i < layers.size() && layers.size() <= kShown; ++i) {
    list += i == 0 ? "" : i + 1 == layers.size() ? " and " : ", ";
    list += std::to_string(layers[i]);
  }
  return wrap_text(fmt::format("1 has {}: --pipeline-model-parallel-layout '{}' (Megatron-Core)",
                               list.empty() ? "uneven stages" : list + " layers on its stages",
                               pipeline_layout(model, plan)),
                   kTextColumns, 2);
}

/// How some layers are recomputed, or that they can be.
std::string recompute_note(const PlanQuestion& question, const ParallelPlan& plan) {
  if (plan.recomputed_layers > 0) {
    return fmt::format(
        "1 recomputes some layers: --recompute-granularity full --recompute-method block "
        "--recompute-num-layers {}\n",
        plan.recomputed_layers);
  }
  const bool could = plan.recompute == Recompute::Full && question.target.stack.choices.partial_recompute;
  if (!could || question.partial_recompute) return {};
  return "1 recomputes all layers; --partial-recompute: only as many as memory asks for\n";
}

std::string to_text(const PlanQuestion& question, const PlanAnswer& answer) {
  const bool one = answer.counts.size() == 1;
  const std::string gpus = one ? with_thousands(answer.counts.front().num_gpus.value)
                               : fmt::format("{} to {}", with_thousands(answer.counts.front().num_gpus.value),
                                             with_thousands(answer.counts.back().num_gpus.value));
  std::string text = fmt::format(
      "{}   {} billion parameters   global batch {}{} x {} tokens   {} {}   {}\n"
      "{} plans, {} fit in {} of memory, searched in {}\n",
      question.model.name, short_number(static_cast<double>(question.model.num_parameters()) / 1e9),
      with_thousands(question.global_batch), question.assumes_batch ? " (assumed)" : "",
      with_thousands(question.model.sequence_length), gpus, question.target.profile.name,
      describe_target(question.target), with_thousands(answer.num_plans), with_thousands(answer.num_fitting),
      as_gigabytes(question.target.profile.memory_capacity.value), as_duration(answer.wall_s));
  text += one ? one_count_text(question, answer.counts.front()) : front_text(question, answer);
  const RankedPlan& best = answer.fastest[answer.front.front()];
  if (best.plan.ends_count_as_layers) text += uneven_stages_text(question.model, best.plan) + "\n";
  text += recompute_note(question, best.plan);
  text += fmt::format("1 trains {}\n", speed_text(speed_of(question, best)));
  text += remarks_text(answer.remarks, "1") + default_stack_note(question.target);
  return text + fallbacks_text(answer.fallbacks, "1") + left_out_text(question, answer);
}

Result<void> plan(const PlanArguments& arguments) {
  const auto question = read_question(arguments);
  if (!question) return fail(question.error());
  const auto answer = answer_question(*question);
  if (!answer) return fail(answer.error());
  fmt::print("{}", arguments.json ? json_text(to_json(*question, *answer)) : to_text(*question, *answer));
  return {};
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "plan",
      "Find the best parallel plans of a model on a number of GPUs.\n\n"
      "  vtrain plan llama3-70b --cluster 64x8:h100 --stack megatron-core --global-batch 1024\n"
      "  vtrain plan megatron-39.1b --gpus 64-512 --tokens 300B --deadline 60d --price 2.5");
  const auto arguments = std::make_shared<PlanArguments>();
  PlanArguments& to = *arguments;
  command
      ->add_option("model", to.model,
                   "Model: a name of `vtrain models`, our own JSON, or a config.json of Hugging Face")
      ->required();
  command->add_option(
      "--gpus", to.gpus,
      "GPUs: 512, a list 256,512, or a range 64-512 (powers of two below a node, multiples of a "
      "node)");
  add_cluster_option(*command, to.target);
  command
      ->add_option("--global-batch", to.global_batch,
                   "Sequences an iteration; without it those of `vtrain models`, published or assumed (~)")
      ->transform(whole_number(1, kMaxGlobalBatch));
  command
      ->add_option("--objective", to.objective,
                   "What is best: time, cost or gpus; with --deadline cost, otherwise time")
      ->check(one_of({"time", "cost", "gpus"}));
  command->add_option("--deadline", to.deadline, "Train on all tokens in this time: 30d, 720h");
  command->add_option("--tokens", to.tokens, "Tokens to train on: 300B, 1.4T");
  command->add_option("--price", to.price, "Dollars per GPU-hour; without it costs are GPU-hours")
      ->transform(number_above_zero());
  command
      ->add_option("--top", to.top, "Plans shown of a number of GPUs, of several in the JSON alone; 0 is all")
      ->transform(whole_number(0))
      ->capture_default_str();
  command->add_option("--beside", to.beside,
                      "Also show this plan: tensor=8,pipeline=35,micro-batch=1,recompute=full; what is not "
                      "said is 1, full recomputation and no sharding");
  command->add_flag("--offload", to.offload,
                    "Where a plan does not fit, keep activations of as few layers as must be in the CPU's "
                    "memory: Megatron-Core and Megatron-Bridge, one stage, no recomputation");
  command->add_flag("--partial-recompute", to.partial_recompute,
                    "Plans with full recomputation recompute as few layers of each stage as must be: "
                    "Megatron-Core, Megatron-Bridge and Megatron-LM of 2022");
  command->add_flag("--no-zero-bubble", to.no_zero_bubble,
                    "Leave the schedule zero-bubble out, which only forks of Megatron-Core have");
  add_target_options(*command, to.target);
  command->add_option("--sequence-length", to.sequence_length, "Tokens a sequence; without it the model's")
      ->transform(whole_number(1, kMaxSequenceLength));
  command->add_flag("--json", to.json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return plan(*arguments); }; });
}

}  // namespace vtrain
