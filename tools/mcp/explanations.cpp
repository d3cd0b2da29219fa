#include "tools/mcp/explanations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/json_reader.hpp"
#include "tools/format/text_format.hpp"
#include "tools/mcp/eta_question.hpp"
#include "tools/serve/questions.hpp"

namespace vtrain::mcp {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kPrediction = "prediction";
constexpr std::string_view kWaitingJob = "waiting_job";

/// A part of an iteration's time: its place in the prediction, and its meaning.
struct TimePart {
  std::string_view pointer;
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<TimePart, 9> kTimeParts = {{
    {"/breakdown/compute_parts/products_s", "matrix products", "GEMMs of all layers and their recomputation"},
    {"/breakdown/compute_parts/attention_s", "attention", "attention kernels, and scans of state spaces"},
    {"/breakdown/compute_parts/memory_bound_s", "memory-bound kernels",
     "norms, activations and other kernels that memory bandwidth bounds"},
    {"/breakdown/compute_parts/cpu_wait_s", "CPU wait", "the GPU waits for the CPU to launch kernels"},
    {"/breakdown/tensor_comm_s", "tensor communication",
     "collectives of tensor, context and expert parallelism inside layers"},
    {"/breakdown/pipeline_comm_s", "pipeline communication", "sends between pipeline stages"},
    {"/breakdown/bubble_s", "pipeline bubble",
     "a stage waits for other stages: more micro-batches shorten it"},
    {"/breakdown/data_comm_s", "data-parallel communication",
     "gradient reduction and gathers of sharded weights, as far as they are not hidden"},
    {"/breakdown/optimizer_s", "optimizer", "weight update"},
}};

/// Parts above zero, the longest first, with their shares of the whole.
ordered_json parts_of(const ordered_json& prediction, double whole_s) {
  std::vector<std::pair<double, const TimePart*>> parts;
  for (const TimePart& part : kTimeParts) {
    const double seconds = prediction.value(ordered_json::json_pointer(std::string(part.pointer)), 0.0);
    if (seconds > 0) parts.emplace_back(seconds, &part);
  }
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  ordered_json list = ordered_json::array();
  for (const auto& [seconds, part] : parts)
    list.push_back({{"part", part->name},
                    {"seconds", seconds},
                    {"share", whole_s > 0 ? seconds / whole_s : 0},
                    {"meaning", part->meaning}});
  return list;
}

Result<ordered_json> explain_prediction(const nlohmann::json& question, const Calibration& calibration) {
  const auto prediction = serve::answer_predict_question(question.dump(), calibration);
  if (!prediction) return fail(prediction.error());
  const double whole_s = prediction->at("iteration_time_s").get<double>();
  ordered_json parts = parts_of(*prediction, whole_s);
  constexpr std::size_t kNamed = 3;
  std::string answer = fmt::format("An iteration takes {} on {} ({})", as_duration(whole_s),
                                   count_of(prediction->at("num_gpus").get<std::int64_t>(), "GPU"),
                                   prediction->at("profile").get<std::string>());
  for (std::size_t i = 0; i < std::min(parts.size(), kNamed); ++i)
    answer += fmt::format("{} {:.0f} % {}", i == 0 ? ":" : ",", 100 * parts[i]["share"].get<double>(),
                          parts[i]["part"].get<std::string>());
  answer += fmt::format(". Model FLOPs utilization is {:.1f} %.", 100 * prediction->at("mfu").get<double>());
  ordered_json json = {{"answer", std::move(answer)}, {"parts", std::move(parts)}};
  for (const char* const key : {"iteration_time_s", "iteration_time_interval_s", "num_gpus", "profile",
                                "stack", "plan", "slowest_stage", "memory", "mfu", "provenance"})
    json[key] = prediction->at(key);
  return json;
}

/// The answer for a job that waits for a person; none for another job.
std::optional<ordered_json> explain_stuck(const EtaReport& report, const std::string& job) {
  const auto& stuck = report.cluster.stuck;
  const auto found = std::ranges::find(stuck, job, &StuckJob::id);
  if (found == stuck.end()) return std::nullopt;
  return ordered_json{
      {"answer", fmt::format("Job {} can't start until somebody acts: {}", job, found->reason)},
      {"job", job},
      {"reason", found->reason},
      {"needs_somebody", true},
      {"ahead", ordered_json::array()},
      {"suggestions", ordered_json::array()},
      {"assumptions", assumptions_of(report)}};
}

Result<ordered_json> explain_waiting_job(const JsonDocument& document, const nlohmann::json& question,
                                         const Calibration& calibration) {
  auto request = read_eta_question(document, question, calibration);
  if (!request) return fail(std::move(request.error()));
  const std::string job = request->job;
  if (job.empty()) return fail({.field = "job", .message = "missing: the id of a pending job"});
  auto report = estimate_all(*std::move(request));
  if (!report) return fail(in_question(std::move(report.error())));
  if (auto stuck = explain_stuck(*report, job)) return *std::move(stuck);
  if (auto narrowed = narrow_to(job, *report); !narrowed)
    return fail(in_question(std::move(narrowed.error())));
  const JobEta& eta = report->answer.jobs.front();
  const ordered_json all = eta_json(*report);
  const ordered_json& its = all.at("jobs").front();
  const std::string reason = why_text(*report, eta);
  const auto wait = [&](const std::optional<SimTime>& time) {
    return time ? as_duration(std::max(to_seconds(*time - report->cluster.question.state.now), 0.0)) : "";
  };
  std::string answer = eta.start.p50
                           ? fmt::format("Under {}, job {} starts in {}", name_of_policy(report->policy), job,
                                         wait(eta.start.p50))
                           : fmt::format("Under {}, job {} starts in fewer than half of the simulations",
                                         name_of_policy(report->policy), job);
  if (eta.start.p90) answer += fmt::format(" (nine in ten times within {})", wait(eta.start.p90));
  answer += fmt::format(". Now: {}. {} before it.", reason,
                        eta.ahead.empty() ? std::string("No waiting job starts")
                                          : count_of(std::ssize(eta.ahead), "waiting job") +
                                                (eta.ahead.size() == 1 ? " starts" : " start"));
  ordered_json json = {
      {"answer", std::move(answer)}, {"job", job}, {"reason", reason}, {"needs_somebody", false}};
  for (const char* const key : {"gpus", "start", "end", "blocked", "ahead", "run_time_from", "run_time_s"})
    json[key] = its.at(key);
  for (const char* const key : {"now", "policy", "suggestions", "assumptions"})
    json[key] = all.at(key);
  return json;
}

/// An error of a part of the question as one of the whole.
Error below(std::string_view part, Error error) {
  if (error.file != "-" && !error.file.empty()) return error;  // it names a text
  if (!error.field.starts_with(part))
    error.field = error.field.empty() ? std::string(part) : fmt::format("{}.{}", part, error.field);
  return error;
}

}  // namespace

Result<ordered_json> answer_explain_question(const std::string& question, const Calibration& calibration) {
  const auto document = JsonDocument::parse(question, "-");
  if (!document) return fail(document.error());
  const nlohmann::json& root = document->root();
  JsonFields fields(*document, root);
  constexpr std::string_view kKnown[] = {kPrediction, kWaitingJob};
  fields.allow_only(kKnown);
  if (fields.error()) return fail(*fields.error());
  const bool has_prediction = fields.has(kPrediction);
  if (has_prediction == fields.has(kWaitingJob))
    return fail(
        {.message = expected_found("one of prediction and waiting_job", has_prediction ? "both" : "none")});
  const std::string_view part = has_prediction ? kPrediction : kWaitingJob;
  const nlohmann::json& asked = root[std::string(part)];
  auto answer = has_prediction ? explain_prediction(asked, calibration)
                               : explain_waiting_job(*document, asked, calibration);
  if (!answer) return fail(below(part, std::move(answer.error())));
  return answer;
}

ordered_json explain_question_schema() {
  ordered_json schema = {
      {"type", "object"}, {"additionalProperties", false}, {"minProperties", 1}, {"maxProperties", 1}};
  ordered_json& properties = schema["properties"];
  properties[std::string(kPrediction)] = serve::predict_request_schema();
  properties[std::string(kPrediction)]["description"] =
      "why does an iteration of this plan take so long: the arguments of the tool predict";
  properties[std::string(kWaitingJob)] = eta_question_schema(true);
  properties[std::string(kWaitingJob)]["description"] =
      "why does a job wait: the arguments of the tool eta, with its id as job";
  return schema;
}

ordered_json explain_answer_schema() {
  const ordered_json objects = {{"type", "array"}, {"items", {{"type", "object"}}}};
  return {{"type", "object"},
          {"required", {"answer"}},
          {"properties",
           {{"answer", {{"type", "string"}, {"description", "the explanation in words"}}},
            {"parts", objects},
            {"reason", {{"type", "string"}, {"description", "what holds the job up now"}}},
            {"needs_somebody",
             {{"type", "boolean"}, {"description", "true: the job can't start until somebody acts"}}},
            {"ahead",
             {{"type", "array"},
              {"items", {{"type", "string"}}},
              {"description", "waiting jobs that start earlier"}}},
            {"suggestions", objects}}}};
}

}  // namespace vtrain::mcp
