#include "tools/serve/predictions.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tools/experiment/plan_request.hpp"
#include "tools/experiment/predict_request.hpp"
#include "tools/experiment/spec.hpp"
#include "tools/format/text_format.hpp"
#include "tools/serve/problem.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain::serve {
namespace {

/// Name of the body in errors and answers, as `vtrain predict -` has it.
constexpr const char* kBody = "-";

/// The text under a key; empty for none, or for another type, which the reader of the body refuses.
std::string text_at(const nlohmann::json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                           : std::string();
}

bool names_model_file(const std::string& model) {
  return is_model_path(model);
}
/// Constants of a profile may have units with a slash: `h100:node_network=50GB/s`.
bool names_profile_file(const std::string& profile) {
  const std::string_view base = split_once(profile, ':').first;
  return !base.empty() && embedded_profile_of(base).empty();
}
bool names_cluster_file(const std::string& cluster) {
  return !cluster.empty() && (cluster.front() < '0' || cluster.front() > '9' ||
                              cluster.find_first_of("/.@") != std::string::npos);
}
bool names_calibration_file(const std::string& calibration) {
  return !calibration.empty() && calibration != kPublishedCalibration;
}

/// A value of a body that could be the name of a file.
struct NameRule {
  std::string_view group;
  std::string_view key;
  bool (*names_file)(const std::string& name);
  std::string_view expected;
};

constexpr NameRule kPredictNames[] = {
    {"", "model", names_model_file, "the name of a known model, or a model itself"},
    {"", "profile", names_profile_file, "the name of a profile that comes with the program"},
};
constexpr NameRule kPlanNames[] = {
    {"", "model", names_model_file, "the name of a known model"},
    {"target", "cluster", names_cluster_file, "nodes x GPUs : type, such as 16x8:h100"},
    {"target", "profile", names_profile_file, "the name of a profile that comes with the program"},
    {"target", "calibration", names_calibration_file, "published, or nothing"},
};

/// Refuses names of files: the service reads none for a client.
Result<void> refuse_files(const JsonDocument& document, const nlohmann::json& object,
                          std::span<const NameRule> rules) {
  if (!object.is_object()) return {};  // its reader complains
  for (const NameRule& rule : rules) {
    const auto group = rule.group.empty() ? object.end() : object.find(rule.group);
    if (!rule.group.empty() && group == object.end()) continue;
    const nlohmann::json& part = rule.group.empty() ? object : *group;
    const std::string name = text_at(part, rule.key);
    if (rule.names_file(name))
      return fail(document.error_at(part, rule.key, expected_found(rule.expected, name)));
  }
  if (const auto files = object.find("files"); files != object.end() && !files->empty())
    return fail(document.error_at(object, "files", "a request may name no files"));
  return {};
}

Result<std::string> predict_body(const std::string& body, const Calibration& calibration) {
  auto document = JsonDocument::parse(body, kBody);
  if (!document) return fail(std::move(document.error()));
  if (auto checked = refuse_files(*document, document->root(), kPredictNames); !checked)
    return fail(std::move(checked.error()));
  auto config = read_settings(*document, document->root());
  if (!config) return fail(std::move(config.error()));
  config->document = *std::move(document);
  const auto answer = answer_prediction(*config, kBody, {}, calibration);
  if (!answer) return fail(answer.error());
  return json_text(prediction_to_json(*answer));
}

Result<std::string> search_body(const Request& request) {
  {
    const auto document = JsonDocument::parse(request.body, kBody);
    if (!document) return fail(document.error());
    const nlohmann::json& root = document->root();
    const bool is_answer = root.is_object() && root.contains("spec");
    if (auto checked = refuse_files(*document, is_answer ? root["spec"] : root, kPlanNames); !checked)
      return fail(std::move(checked.error()));
  }
  const auto spec = parse_plan_search(request.body, kBody);
  if (!spec) return fail(spec.error());
  std::vector<std::string> warnings;
  auto question = read_plan_request(spec->spec, warnings);
  if (!question) return fail(spec->in_file(std::move(question.error())));
  if (question->gpu_counts.size() > Predictions::kMostCounts) {
    return fail(spec->in_file(
        {.field = "--gpus",
         .message = expected_found(fmt::format("at most {} numbers of GPUs", Predictions::kMostCounts),
                                   std::to_string(question->gpu_counts.size()))}));
  }
  question->is_late = [deadline = request.deadline] { return std::chrono::steady_clock::now() > deadline; };
  const auto answer = make_plan_report(*question);
  if (!answer) return fail(spec->in_file(answer.error()));
  return json_text(plan_report_to_json(spec->spec, *question, *answer));
}

/// The kept answer, or the one that `compute` gives.
template <class Compute>
Response answer_once(AnswerCache& cache, std::string key, const Compute& compute) {
  if (auto known = cache.find(key)) return {.body = *std::move(known)};
  Result<std::string> answer = compute();
  if (!answer) return problem(answer.error());
  cache.keep(std::move(key), *answer);
  return {.body = *std::move(answer)};
}

}  // namespace

Response Predictions::predict(const Request& request) {
  return answer_once(cache_, "predict " + request.body,
                     [&] { return predict_body(request.body, calibration_); });
}

Response Predictions::search_plans(const Request& request) {
  return answer_once(cache_, "plans " + request.body, [&] { return search_body(request); });
}

}  // namespace vtrain::serve
