#include "tools/mcp/tools.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/json_reader.hpp"
#include "tools/experiment/spec.hpp"
#include "tools/mcp/eta_question.hpp"
#include "tools/mcp/explanations.hpp"
#include "tools/serve/questions.hpp"

namespace vtrain::mcp {
namespace {

using nlohmann::ordered_json;

Result<ordered_json> call_predict(const std::string& arguments, const CallContext& context) {
  return serve::answer_predict_question(arguments, context.calibration);
}

Result<ordered_json> call_plan(const std::string& arguments, const CallContext& context) {
  return serve::answer_plan_question(arguments, context.calibration, context.is_cancelled);
}

Result<ordered_json> call_eta(const std::string& arguments, const CallContext& context) {
  const auto document = JsonDocument::parse(arguments, "-");
  if (!document) return fail(document.error());
  auto request = read_eta_question(*document, document->root(), context.calibration);
  if (!request) return fail(std::move(request.error()));
  const auto report = answer_eta(*std::move(request));
  if (!report) return fail(in_question(report.error()));
  return eta_json(*report);
}

Result<ordered_json> call_explain(const std::string& arguments, const CallContext& context) {
  return answer_explain_question(arguments, context.calibration);
}

ordered_json eta_schema() {
  return eta_question_schema(false);
}

constexpr std::array<Tool, 4> kTools = {{
    {.name = "predict",
     .title = "Time of a training iteration",
     .description = "Predicts the time of one LLM training iteration with its 90 % interval, the memory of a "
                    "GPU, tokens "
                    "per second and MFU, from a model and its parallel plan. The plan's degrees multiply to "
                    "the number of "
                    "GPUs: tensor x context x pipeline x data.",
     .input_schema = serve::predict_request_schema,
     .output_schema = serve::predict_response_schema,
     .call = call_predict},
    {.name = "plan",
     .title = "Best parallel plans",
     .description =
         "Searches the parallel plans of a model for the fastest or cheapest that fit into memory. "
         "spec_version "
         "is 1. gpus: '64', '8,16,32' or a range '64-512'. target: {\"profile\": \"h100\"} or {\"cluster\": "
         "\"16x8:h100\"} (nodes x GPUs : type). tokens such as '300B' give the time and GPU-hours of the "
         "whole "
         "training, deadline such as '10d' bounds it, objective is time, cost or gpus. A search takes "
         "seconds.",
     .input_schema = plan_spec_schema,
     .output_schema = serve::plans_response_schema,
     .call = call_plan},
    {.name = "eta",
     .title = "Start of waiting jobs",
     .description =
         "Estimates when the pending jobs of a cluster start and end, and why not earlier, by simulating its "
         "queue from what the scheduler's commands printed. The texts are passed whole, not as names of "
         "files.",
     .input_schema = eta_schema,
     .output_schema = eta_answer_schema,
     .call = call_eta},
    {.name = "explain",
     .title = "Why is it slow, why does it wait",
     .description =
         "Explains why an iteration of a plan takes its time (prediction: the parts of the time), or why a "
         "job "
         "waits (waiting_job: the reason, the jobs ahead of it, changes that make it start earlier). Exactly "
         "one of the two.",
     .input_schema = explain_question_schema,
     .output_schema = explain_answer_schema,
     .call = call_explain},
}};

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

}  // namespace vtrain::mcp
