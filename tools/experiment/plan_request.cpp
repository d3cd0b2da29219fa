#include "tools/experiment/plan_request.hpp"

#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/text/quantities.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/plan_spec.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/iteration/iteration_times.hpp"

namespace vtrain {
namespace {

/// An error of the option that names the stacks that have the choice, if this one has not.
Result<void> check_choice(std::string_view option, const Stack& stack, bool PlanChoices::*choice) {
  if (stack.choices.*choice) return {};
  std::vector<std::string_view> able;
  for (const Stack& known : all_stacks()) {
    if (known.choices.*choice) able.push_back(known.name);
  }
  return fail({.field = std::string(option),
               .message = expected_found("a stack that can: " + list_names(able), stack.name)});
}

/// Errors where the stack cannot recompute some layers of a stage only.
Result<void> check_partial_recompute(const Stack& stack) {
  return check_choice("--partial-recompute", stack, &PlanChoices::partial_recompute);
}

/// Errors where no fork of the stack's framework has the schedule.
Result<void> check_zero_bubble(const Stack& stack) {
  return check_choice("--zero-bubble", stack, &PlanChoices::zero_bubble);
}

/// Errors where the stack cannot keep activations in the memory of the CPU, or the profile lacks the link to
/// it.
Result<void> check_offload(const Stack& stack, const GpuProfile& profile) {
  if (auto checked = check_choice("--offload", stack, &PlanChoices::offload); !checked) return checked;
  if (profile.host_bandwidth.value <= 0) {
    return fail({.field = "--offload",
                 .message = fmt::format("profile '{}' has no host_bandwidth, the link to the CPU's memory",
                                        profile.name)});
  }
  return {};
}

Result<void> read_terms(const PlanArguments& arguments, PlanRequest& question) {
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

/// The plan of `--beside` on this number of GPUs.
Result<RankedPlan> predict_beside(const PlanRequest& question, GpuCount num_gpus) {
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
Error too_slow(const PlanRequest& question, const std::vector<RankedPlan>& fastest) {
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

}  // namespace

Result<PlanRequest> read_plan_request(const PlanArguments& arguments, std::vector<std::string>& warnings) {
  PlanRequest question;
  const auto model = load_model(arguments.model, arguments.sequence_length);
  if (!model) return fail(model.error());
  for (const std::string& warning : model->warnings)
    warnings.push_back(fmt::format("{}: {}", arguments.model, warning));
  question.warnings = model->warnings;
  question.model = model->model;
  question.global_batch = arguments.global_batch > 0 ? arguments.global_batch : model->global_batch;
  question.assumes_batch = arguments.global_batch == 0 && !model->batch_is_published;
  if (question.global_batch == 0) {
    return fail(
        {.field = "--global-batch",
         .message = fmt::format("missing: nothing is known of the batches of '{}'", model->model.name)});
  }
  auto target = read_target(arguments.target, warnings);
  if (!target) return fail(std::move(target.error()));
  question.target = *std::move(target);
  question.search = {.top = static_cast<std::size_t>(arguments.top),
                     .offload = arguments.offload,
                     .partial_recompute = arguments.partial_recompute,
                     .zero_bubble = arguments.zero_bubble};
  if (arguments.partial_recompute) {
    if (auto checked = check_partial_recompute(question.target.stack); !checked) return fail(checked.error());
  }
  if (arguments.zero_bubble) {
    if (auto checked = check_zero_bubble(question.target.stack); !checked) return fail(checked.error());
  }
  if (arguments.offload) {
    if (auto checked = check_offload(question.target.stack, question.target.profile); !checked)
      return fail(checked.error());
  }
  if (auto read = read_terms(arguments, question); !read) return fail(read.error());
  auto counts = read_gpus(arguments.gpus, question.target.cluster, question.target.profile,
                          question.deadline_s.has_value());
  if (!counts) return fail(counts.error());
  question.gpu_counts = *std::move(counts);
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

Result<PlanReport> make_plan_report(const PlanRequest& question) {
  PlanReport answer;
  const auto start = std::chrono::steady_clock::now();
  PlanSearch search(question.model, question.target.profile, question.target.stack);
  for (const GpuCount num_gpus : question.gpu_counts) {
    auto found = search.find(num_gpus, question.global_batch, question.search);
    std::optional<Result<RankedPlan>> beside;
    if (question.beside) beside = predict_beside(question, num_gpus);
    if (found) answer.fastest.push_back(found->best.front());
    CountAnswer count{.num_gpus = num_gpus, .found = std::move(found), .beside = std::move(beside)};
    if (count.found) {
      count.num_plans = count.found->num_plans;
      count.num_fitting = count.found->num_fitting;
    } else if (count.found.error().kind == ErrorKind::Failed) {  // none of them fits
      count.num_plans = std::ssize(search.plans(num_gpus, question.global_batch, question.search));
    }
    answer.num_plans += count.num_plans;
    answer.num_fitting += count.num_fitting;
    answer.counts.push_back(std::move(count));
  }
  answer.wall_s = Seconds(std::chrono::steady_clock::now() - start).count();
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

}  // namespace vtrain
