#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/experiment/plan_request.hpp"
#include "workloads/config/plan_json.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

ordered_json ranked_plan_to_json(const PlanRequest& question, const RankedPlan& ranked) {
  ordered_json object = plan_to_json(ranked, question.terms, question.uncertainty);
  object["sequence_length"] = question.model.sequence_length;
  object["layers_by_stage"] = layers_by_stage(question.model, ranked.plan);
  object["pipeline_layout"] = pipeline_layout(question.model, ranked.plan);
  const TrainingSpeed speed = speed_of(question, ranked);
  object["model_tflops_per_gpu"] = speed.per_gpu.value / 1e12;
  object["mfu"] = speed.mfu;
  object["hfu"] = speed.hfu;
  if (question.deadline_s)
    object["in_time"] = question.terms.training_seconds(ranked) <= *question.deadline_s;
  return object;
}

}  // namespace

TrainingSpeed speed_of(const PlanRequest& question, const RankedPlan& ranked) {
  return training_speed(question.model, ranked.plan, question.target.stack, ranked.iteration,
                        question.target.profile.peak_rate_of(ranked.plan.precision));
}

nlohmann::ordered_json plan_report_to_json(const PlanSpec& spec, const PlanRequest& question,
                                           const PlanReport& answer) {
  ordered_json counts = ordered_json::array();
  for (const CountAnswer& count : answer.counts) {
    ordered_json entry = {{"num_gpus", count.num_gpus.value},
                          {"num_plans", count.num_plans},
                          {"num_fitting", count.num_fitting}};
    if (count.found) {
      entry["plans"] = ordered_json::array();
      for (const RankedPlan& plan : count.found->best)
        entry["plans"].push_back(ranked_plan_to_json(question, plan));
    } else {
      entry["error"] = count.found.error().message;
    }
    if (count.beside && *count.beside) entry["beside"] = ranked_plan_to_json(question, **count.beside);
    if (count.beside && !*count.beside) entry["beside"] = {{"error", count.beside->error().describe()}};
    counts.push_back(std::move(entry));
  }
  ordered_json front = ordered_json::array();
  for (const std::size_t i : answer.front)
    front.push_back(answer.fastest[i].plan.num_gpus().value);
  const RankedPlan& best = answer.fastest[answer.front.front()];
  constexpr std::array kObjectiveNames = {"time", "cost", "gpus"};
  ordered_json object = {{"model", question.model.name},
                         {"parameters", question.model.num_parameters()},
                         {"active_parameters", question.model.active_parameters()},
                         {"sequence_length", question.model.sequence_length},
                         {"global_batch", question.global_batch},
                         {"tokens_per_iteration", question.terms.tokens_per_iteration},
                         {"objective", kObjectiveNames[static_cast<std::size_t>(question.objective)]}};
  if (question.assumes_batch) object["global_batch_is_assumed"] = true;
  object.update(target_to_json(question.target));
  if (question.terms.tokens) object["tokens"] = *question.terms.tokens;
  if (question.deadline_s) object["deadline_s"] = *question.deadline_s;
  if (question.terms.usd_per_gpu_hour) object["usd_per_gpu_hour"] = *question.terms.usd_per_gpu_hour;
  object.update({{"num_plans", answer.num_plans},
                 {"num_fitting", answer.num_fitting},
                 {"best", ranked_plan_to_json(question, best)},
                 {"fallbacks", answer.fallbacks.sentences()},
                 {"remarks", answer.remarks},
                 {"warnings", question.warnings},
                 {"pareto_gpus", front},
                 {"counts", counts},
                 {"spec", spec_to_json(spec, question.files, std::filesystem::path())}});
  return object;
}

}  // namespace vtrain
