#include "tools/experiment/plan_request.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/kernels/kernel_recording.hpp"
#include "core/profile/gpu_profile.hpp"
#include "core/text/quantities.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/plan_spec.hpp"
#include "tools/format/plan_lines.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/predict.hpp"

namespace vtrain {
namespace {

/// Error if the stack lacks the option's choice; names the stacks that have it.
Result<void> check_choice(std::string_view option, const Stack& stack, bool PlanChoices::*choice) {
  if (stack.choices.*choice) return {};
  std::vector<std::string_view> able;
  for (const Stack& known : all_stacks()) {
    if (known.choices.*choice) able.push_back(known.name);
  }
  return fail({.field = std::string(option),
               .message = expected_found("a stack that can: " + list_names(able), stack.name)});
}

/// Error if the stack cannot recompute only some layers of a stage.
Result<void> check_partial_recompute(const Stack& stack) {
  return check_choice("--partial-recompute", stack, &PlanChoices::partial_recompute);
}

/// Error if no fork of the stack's framework has the schedule.
Result<void> check_zero_bubble(const Stack& stack) {
  return check_choice("--zero-bubble", stack, &PlanChoices::zero_bubble);
}

/// Error if the stack cannot keep activations in CPU memory, or the profile lacks the link to it.
Result<void> check_offload(const Stack& stack, const GpuProfile& profile) {
  if (auto checked = check_choice("--offload", stack, &PlanChoices::offload); !checked) return checked;
  if (profile.host_bandwidth.value <= 0) {
    return fail({.field = "--offload",
                 .message = fmt::format("profile '{}' has no host_bandwidth, the link to the CPU's memory",
                                        profile.name)});
  }
  return {};
}

Result<void> read_terms(const PlanSpec& spec, PlanRequest& question) {
  if (spec.price > 0) question.terms.usd_per_gpu_hour = spec.price;
  if (!spec.tokens.empty()) {
    const auto tokens = parse_large_count(spec.tokens);
    if (!tokens) return fail(in_option("--tokens", tokens.error()));
    question.terms.tokens = *tokens;
  }
  if (!spec.deadline.empty()) {
    const auto deadline = parse_time_span(spec.deadline);
    if (!deadline || deadline->count() == 0)
      return fail({.field = "--deadline",
                   .message = expected_found("a duration above 0, up to 100 years, such as 720h or 30d",
                                             spec.deadline)});
    question.deadline_s = to_seconds(*deadline);
    if (!question.terms.tokens) {
      return fail({.field = "--deadline", .message = "needs --tokens, for instance --tokens 300B"});
    }
  }
  std::string objective = spec.objective;
  if (objective.empty()) objective = question.deadline_s ? "cost" : "time";
  question.objective = objective == "time"   ? Objective::Time
                       : objective == "cost" ? Objective::Cost
                                             : Objective::Gpus;
  return {};
}

/// Prediction for the plan of option `beside` on this number of GPUs.
Result<RankedPlan> predict_beside(const PlanRequest& question, GpuCount num_gpus) {
  const auto plan = on_gpus(*question.beside, num_gpus);
  if (!plan) return fail(plan.error());
  const auto prediction = predict(question.model, *plan, question.target);
  if (!prediction) return fail(prediction.error());
  const IterationTimes& times = prediction->times;
  return RankedPlan{*plan, times.iteration, prediction->memory.value(), times.breakdown};
}

/// Sentence on the smallest larger number of GPUs on which a plan fits: nodes, twice as many each time.
std::string needed_gpus_text(const PlanRequest& question, const PlanSearch& search) {
  constexpr std::int64_t kMost = std::int64_t{1} << 15;
  const std::int64_t largest = question.gpu_counts.back().value;
  for (std::int64_t count = question.target.profile.gpus_per_node; count <= kMost; count *= 2) {
    if (count <= largest) continue;
    const GpuCount num_gpus{static_cast<std::int32_t>(count)};
    const std::int64_t batch =
        question.assumes_batch ? usual_batch(question.model, {num_gpus}) : question.global_batch;
    if (search.any_fits(num_gpus, batch, question.search))
      return fmt::format("; it fits on {} GPUs", with_thousands(count));
  }
  return fmt::format("; doubling the GPUs, up to {}, does not help", with_thousands(kMost));
}

/// Clause on other stacks under which the last number of GPUs has a plan; empty for none.
std::string able_stacks_text(const PlanRequest& question) {
  std::vector<std::string_view> able;
  for (const Stack& stack : all_stacks()) {
    if (stack.name == question.target.stack.name || !has_kernels_of(question.target.profile, stack)) continue;
    const PlanSearch search(question.model, question.target.profile, stack);
    if (search.any_fits(question.gpu_counts.back(), question.global_batch, question.search))
      able.push_back(stack.name);
  }
  return able.empty() ? "" : "; stacks that have a plan: " + list_names(able);
}

/// Error if no count has a plan, from the error of the largest count.
Error no_plan_at_all(const PlanRequest& question, const std::vector<CountAnswer>& counts,
                     const PlanSearch& search) {
  Error error = counts.back().found.error();
  error.field = "--gpus";
  if (error.kind == ErrorKind::Failed) error.message += needed_gpus_text(question, search);
  error.message += able_stacks_text(question);
  if (counts.size() > 1)
    error.message = fmt::format("no plan on any of {} GPU counts; {}", counts.size(), error.message);
  return error;
}

/// Error if no plan meets the deadline, with the fastest plan's time and conditions.
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

/// The files that were read, with their hashes.
Result<std::vector<SpecFile>> files_of(const PlanSpec& spec, const std::string& model,
                                       const TargetArguments& named, const TrainingTarget& target) {
  std::vector<SpecFile> files;
  if (is_model_path(model)) files.push_back({spec.model, model});
  if (target.cluster && !target.cluster->file.empty()) files.push_back({spec.target.cluster, named.cluster});
  if (const std::string base = split_profile_name(named.profile).base; is_profile_path(base))
    files.push_back({split_profile_name(spec.target.profile).base, recording_file(base).string()});
  if (!named.calibration.empty() && named.calibration != kPublishedCalibration)
    files.push_back({spec.target.calibration, named.calibration});
  for (SpecFile& file : files) {
    auto hash = hash_of_input(file.path);
    if (!hash) return fail(std::move(hash.error()));
    file.sha256 = *std::move(hash);
  }
  return files;
}

/// Searches for as many plans as fill `top` lines of a table (`fold_plans`), or for all.
Result<PlanSearchResult> find_lines(PlanSearch& search, GpuCount num_gpus, const PlanRequest& question) {
  PlanSearchOptions options = question.search;
  while (true) {
    auto found = search.find(num_gpus, question.global_batch, options);
    if (!found || options.top == 0 || found->best.size() < options.top) return found;
    if (has_lines(found->best, question.search.top)) return found;
    options.top *= 4;
  }
}

}  // namespace

std::int64_t usual_batch(const TransformerModel& model, const std::vector<GpuCount>& gpu_counts) {
  const std::int64_t usual = std::max<std::int64_t>(1, kUsualBatchTokens / model.sequence_length);
  std::int64_t unit = 1;
  for (const GpuCount count : gpu_counts) {
    unit = std::lcm(unit, count.value);
    if (unit > kMaxGlobalBatch) return usual;
  }
  while (unit % 2 == 0 && unit > usual / 4)
    unit /= 2;
  const std::int64_t rounded = (usual + unit / 2) / unit * unit;
  return rounded > 0 ? rounded : usual;
}

Result<PlanRequest> read_plan_request(const PlanSpec& spec, std::vector<std::string>& warnings) {
  if (auto checked = check_spec(spec); !checked) return fail(std::move(checked.error()));
  PlanRequest question;
  const std::string model_path = spec.files.locate(spec.model);
  const auto model = load_model(model_path, spec.sequence_length);
  if (!model) return fail(model.error());
  for (const std::string& warning : model->warnings)
    warnings.push_back(fmt::format("{}: {}", spec.model, warning));
  question.warnings = model->warnings;
  question.model = model->model;
  TargetArguments named = spec.target;
  for (std::string* name : {&named.cluster, &named.profile, &named.calibration})
    *name = spec.files.locate(*name);
  auto target = read_target(named, warnings);
  if (!target) return fail(std::move(target.error()));
  question.target = *std::move(target);
  question.uncertainty = uncertainty_of(question.model, question.target);
  if (auto files = files_of(spec, model_path, named, question.target); !files) {
    return fail(std::move(files.error()));
  } else {
    question.files = *std::move(files);
  }
  question.search = {.top = static_cast<std::size_t>(spec.top),
                     .offload = spec.offload,
                     .partial_recompute = spec.partial_recompute,
                     .zero_bubble = spec.zero_bubble,
                     .headroom = question.target.headroom / 100};
  if (spec.partial_recompute) {
    if (auto checked = check_partial_recompute(question.target.stack); !checked) return fail(checked.error());
  }
  if (spec.zero_bubble) {
    if (auto checked = check_zero_bubble(question.target.stack); !checked) return fail(checked.error());
  }
  if (spec.offload) {
    if (auto checked = check_offload(question.target.stack, question.target.profile); !checked)
      return fail(checked.error());
  }
  if (auto read = read_terms(spec, question); !read) return fail(read.error());
  auto counts =
      read_gpus(spec.gpus, question.target.cluster, question.target.profile, question.deadline_s.has_value());
  if (!counts) return fail(counts.error());
  question.gpu_counts = *std::move(counts);
  question.assumes_batch = spec.global_batch == 0 && !model->batch_is_published;
  question.global_batch = question.assumes_batch  ? usual_batch(question.model, question.gpu_counts)
                          : spec.global_batch > 0 ? spec.global_batch
                                                  : model->global_batch;
  question.terms.tokens_per_iteration =
      static_cast<double>(question.global_batch) * static_cast<double>(question.model.sequence_length);
  if (!spec.beside.empty()) {
    auto plan = parse_plan_spec(spec.beside, {.global_batch = question.global_batch,
                                              .micro_batch = 1,
                                              .precision = question.target.stack.choices.precision});
    if (!plan) return fail(in_option("--beside", plan.error()));
    plan->sequence_parallel = question.target.stack.choices.sequence_parallel && plan->tensor > 1;
    question.beside = *plan;
  }
  return question;
}

Result<PlanReport> make_plan_report(const PlanRequest& question, bool fills_lines) {
  PlanReport answer;
  const auto start = std::chrono::steady_clock::now();
  PlanSearch search(question.model, question.target.profile, question.target.stack);
  for (const GpuCount num_gpus : question.gpu_counts) {
    if (question.is_late && question.is_late()) {
      return fail({.kind = ErrorKind::Failed,
                   .field = "--gpus",
                   .message = "the search takes too long: name fewer numbers of GPUs"});
    }
    auto found = fills_lines && question.gpu_counts.size() == 1
                     ? find_lines(search, num_gpus, question)
                     : search.find(num_gpus, question.global_batch, question.search);
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
  if (answer.fastest.empty()) return fail(no_plan_at_all(question, answer.counts, search));
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
  auto predicted = predict(question.model, best.plan, question.target);
  if (!predicted) return fail(std::move(predicted.error()));
  answer.fallbacks = std::move(predicted->provenance.fallbacks);
  answer.remarks = std::move(predicted->provenance.remarks);
  return answer;
}

}  // namespace vtrain
