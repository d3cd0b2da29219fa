/// A Kubernetes object that asks for a training job, as the body of `POST /v1/jobs`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain::serve {

/// Annotation with the time from now on, or the instant, at which the job must be done.
inline constexpr const char* kDeadlineAnnotation = "vtrain.dev/deadline";
/// Annotation of a job that can train on other numbers of GPUs than its pods have: `true` or `false`.
inline constexpr const char* kElasticAnnotation = "vtrain.dev/elastic";

/// A submission to the service.
struct KubernetesJob {
  nlohmann::ordered_json submission{};       ///< body of `POST /v1/jobs`, without `dry_run`
  std::string tenant{};                      ///< namespace of the object
  std::optional<std::int64_t> time_limit_s;  ///< longest run that the object allows
  std::vector<std::string> warnings{};       ///< parts of the object without effect
};

/// True for an object whose annotations are for vtrain.
bool is_for_vtrain(const nlohmann::json& object);

/// Reads an object of a kind, such as `Job` of the group `batch`. None: nothing is to be decided, `warnings`
/// says why if that may surprise. Errors have a field of the object: no GPUs, a wrong annotation, a wrong
/// pod.
Result<std::optional<KubernetesJob>> read_kubernetes_job(std::string_view group, std::string_view kind,
                                                         const nlohmann::json& object,
                                                         std::vector<std::string>& warnings);

/// Place in the object of what a field of the submission came from.
std::string place_in_object(std::string_view field);

}  // namespace vtrain::serve
