#include "tools/serve/kubernetes_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tools/live/job_models.hpp"
#include "tools/live/kubernetes_dump.hpp"
#include "tools/live/kubernetes_readers.hpp"

namespace vtrain::serve {
namespace {

constexpr std::string_view kPrefix = "vtrain.dev/";
constexpr std::array<std::string_view, 3> kAnnotations = {kModelAnnotation, kDeadlineAnnotation,
                                                          kElasticAnnotation};

/// A kind of objects that are jobs.
struct JobKind {
  std::string_view group;
  std::string_view kind;
  /// Adds an object to those of a cluster; its owner.
  OwnerReference (*add)(KubernetesFields& fields, const nlohmann::json& object, KubernetesObjects& all);
};

OwnerReference add_workload(KubernetesFields& fields, const nlohmann::json& object, KubernetesObjects& all) {
  all.workloads.push_back(read_kueue_workload(fields, object));
  return all.workloads.back().owner;
}
OwnerReference add_batch_job(KubernetesFields& fields, const nlohmann::json& object, KubernetesObjects& all) {
  all.jobs.push_back(read_batch_job(fields, object));
  return all.jobs.back().owner;
}
OwnerReference add_job_set(KubernetesFields& fields, const nlohmann::json& object, KubernetesObjects& all) {
  all.jobs.push_back(read_job_set(fields, object));
  return all.jobs.back().owner;
}

constexpr std::array<JobKind, 3> kJobKinds = {{{"batch", "Job", add_batch_job},
                                               {"jobset.x-k8s.io", "JobSet", add_job_set},
                                               {"kueue.x-k8s.io", "Workload", add_workload}}};

/// Annotations that are texts.
std::vector<std::pair<std::string, std::string>> annotations_of(const nlohmann::json& object) {
  std::vector<std::pair<std::string, std::string>> found;
  const auto at = [](const nlohmann::json& in, const char* key) {
    return in.is_object() && in.contains(key) ? in.at(key) : nlohmann::json();
  };
  const nlohmann::json annotations = at(at(object, "metadata"), "annotations");
  if (!annotations.is_object()) return found;
  for (const auto& [key, value] : annotations.items()) {
    if (value.is_string()) found.emplace_back(key, value.get<std::string>());
  }
  return found;
}

std::string annotation(const nlohmann::json& object, std::string_view key) {
  for (const auto& [name, value] : annotations_of(object)) {
    if (name == key) return value;
  }
  return {};
}

/// The object with what the server that stores it adds: a name, a time.
nlohmann::json completed(nlohmann::json object) {
  nlohmann::json& metadata = object["metadata"];
  if (!metadata.is_object()) return object;  // its reader complains
  if (!metadata.contains("name") && metadata.contains("generateName"))
    metadata["name"] = metadata["generateName"];
  const auto created = metadata.find("creationTimestamp");
  if (created == metadata.end() || created->is_null()) metadata["creationTimestamp"] = "1970-01-01T00:00:01Z";
  return object;
}

/// The value of a word `key=value` of the model's annotation; empty without one.
std::string_view word_in(std::string_view text, std::string_view key) {
  for (const std::string_view word : split(text, ' ')) {
    const auto [name, value] = split_once(word, '=');
    if (name == key && value) return *value;
  }
  return {};
}

/// Model and work of the annotation.
Result<void> read_work(const std::string& text, KubernetesJob& job) {
  const auto work = parse_training_work(text);
  if (!work) {
    Error error = work.error();
    error.message = error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message);
    error.field = kModelAnnotation;
    return fail(std::move(error));
  }
  job.submission["model"] = work->model;
  if (const std::string_view tokens = word_in(text, "tokens"); !tokens.empty())
    job.submission["tokens"] = tokens;
  else
    job.submission["iterations"] = work->iterations;
  if (work->global_batch > 0) job.submission["global_batch"] = work->global_batch;
  if (!work->plan.empty())
    job.warnings.emplace_back("vtrain: plan= has no effect here, the best plan is taken");
  return {};
}

Result<void> read_terms(const nlohmann::json& object, KubernetesJob& job) {
  if (std::string deadline = annotation(object, kDeadlineAnnotation); !deadline.empty())
    job.submission["deadline"] = std::move(deadline);
  const std::string elastic = annotation(object, kElasticAnnotation);
  if (!elastic.empty() && elastic != "true" && elastic != "false")
    return fail({.field = kElasticAnnotation, .message = expected_found("true or false", elastic)});
  job.submission["rigid"] = elastic != "true";
  for (const auto& [key, value] : annotations_of(object)) {
    if (!key.starts_with(kPrefix) || std::ranges::find(kAnnotations, key) != kAnnotations.end()) continue;
    job.warnings.push_back(
        with_guess(fmt::format("vtrain: the annotation {} has no effect", key), key, kAnnotations));
  }
  return {};
}

}  // namespace

bool is_for_vtrain(const nlohmann::json& object) {
  const auto all = annotations_of(object);
  return std::ranges::any_of(all, [](const auto& each) { return each.first.starts_with(kPrefix); });
}

Result<std::optional<KubernetesJob>> read_kubernetes_job(std::string_view group, std::string_view kind,
                                                         const nlohmann::json& object,
                                                         std::vector<std::string>& warnings) {
  const auto known = std::ranges::find_if(
      kJobKinds, [&](const JobKind& each) { return each.group == group && each.kind == kind; });
  if (known == kJobKinds.end()) {
    warnings.push_back(
        fmt::format("vtrain: a {} is not decided on: annotate its Job, JobSet or Workload", kind));
    return std::nullopt;
  }
  // People see places in their object, not in the review.
  const auto document = JsonDocument::parse(completed(object).dump(), "-");
  if (!document) return fail(document.error());
  KubernetesFields fields(*document);
  LiveState state;
  const OwnerReference owner = known->add(fields, document->root(), state.kubernetes);
  if (fields.error()) return fail(*fields.error());
  if (!owner.kind.empty()) {
    warnings.push_back(
        fmt::format("vtrain: part of {} {}, so not decided on: annotate that", owner.kind, owner.name));
    return std::nullopt;
  }
  if (auto made = finish_kubernetes(state); !made) return fail(std::move(made.error()));
  const DumpedJob& dumped = state.jobs.at(0);
  if (dumped.model.empty())
    return fail({.field = kModelAnnotation,
                 .message = "missing: what the job trains, as 'model=llama3-8b tokens=300B'"});
  if (dumped.gpus <= 0)
    return fail({.field = "spec", .message = "expected whole GPUs in the requests of the pods, found none"});
  KubernetesJob job{.tenant = dumped.account, .time_limit_s = dumped.time_limit_s};
  if (auto read = read_work(dumped.model, job); !read) return fail(std::move(read.error()));
  if (auto read = read_terms(object, job); !read) return fail(std::move(read.error()));
  constexpr std::size_t kLongestName = 256;
  job.submission["name"] = dumped.id.size() > kLongestName ? dumped.name : dumped.id;
  job.submission["gpus"] = dumped.gpus;
  if (!dumped.gpu_type.empty()) {
    const std::string_view profile = embedded_profile_of(dumped.gpu_type);
    job.submission["gpu_type"] = profile.empty() ? lower_case(dumped.gpu_type) : std::string(profile);
  }
  return job;
}

std::string place_in_object(std::string_view field) {
  if (field == "model" || field == "tokens" || field == "iterations" || field == "global_batch")
    return kModelAnnotation;
  if (field == "deadline") return kDeadlineAnnotation;
  if (field == "rigid") return kElasticAnnotation;
  if (field == "gpus") return "GPUs of the pods";
  if (field == "gpu_type") return "node selector";
  if (field == "tenant") return "metadata.namespace";
  return std::string(field);
}

}  // namespace vtrain::serve
