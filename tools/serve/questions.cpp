#include "tools/serve/questions.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/io/json_reader.hpp"
#include "tools/experiment/plan_request.hpp"
#include "tools/experiment/predict_request.hpp"
#include "tools/experiment/spec.hpp"
#include "tools/serve/file_names.hpp"
#include "workloads/config/predict_config.hpp"

namespace vtrain::serve {
namespace {

/// Name of the question in errors and answers, as `vtrain predict -` has it.
constexpr const char* kQuestion = "-";

constexpr NameRule kPredictNames[] = {
    {"", "model", names_model_file, "the name of a known model, or a model itself"},
    {"", "profile", names_profile_file, kKnownProfile},
};
constexpr NameRule kPlanNames[] = {
    {"", "model", names_model_file, "the name of a known model"},
    {"target", "cluster", names_cluster_file, kShortCluster},
    {"target", "profile", names_profile_file, kKnownProfile},
    {"target", "calibration", names_calibration_file, kKnownCalibration},
};

}  // namespace

Result<nlohmann::ordered_json> answer_predict_question(const std::string& question,
                                                       const Calibration& calibration) {
  auto document = JsonDocument::parse(question, kQuestion);
  if (!document) return fail(std::move(document.error()));
  if (auto checked = refuse_files(*document, document->root(), kPredictNames); !checked)
    return fail(std::move(checked.error()));
  auto config = read_settings(*document, document->root());
  if (!config) return fail(std::move(config.error()));
  config->document = *std::move(document);
  const auto answer = answer_prediction(*config, kQuestion, {}, calibration);
  if (!answer) return fail(answer.error());
  return prediction_to_json(*answer);
}

Result<nlohmann::ordered_json> answer_plan_question(const std::string& question,
                                                    const Calibration& calibration,
                                                    std::function<bool()> is_late) {
  {
    const auto document = JsonDocument::parse(question, kQuestion);
    if (!document) return fail(document.error());
    const nlohmann::json& root = document->root();
    const bool is_answer = root.is_object() && root.contains("spec");
    if (auto checked = refuse_files(*document, is_answer ? root["spec"] : root, kPlanNames); !checked)
      return fail(std::move(checked.error()));
  }
  const auto spec = parse_plan_search(question, kQuestion);
  if (!spec) return fail(spec.error());
  PlanSpec asked = spec->spec;
  if (asked.target.calibration.empty()) asked.target.calibration = calibration.file;
  std::vector<std::string> warnings;
  auto request = read_plan_request(asked, warnings);
  if (!request) return fail(spec->in_file(std::move(request.error())));
  if (request->gpu_counts.size() > kMostCounts) {
    return fail(
        spec->in_file({.field = "--gpus",
                       .message = expected_found(fmt::format("at most {} numbers of GPUs", kMostCounts),
                                                 std::to_string(request->gpu_counts.size()))}));
  }
  request->is_late = std::move(is_late);
  request->files.clear();  // the calibration of this side: the answer's spec can be asked again
  const auto answer = make_plan_report(*request);
  if (!answer) return fail(spec->in_file(answer.error()));
  return plan_report_to_json(spec->spec, *request, *answer);
}

}  // namespace vtrain::serve
