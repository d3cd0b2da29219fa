/// Readers of single Kubernetes objects, each a kind. Errors are those of the fields; objects without what is
/// required become errors.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/live/kubernetes_fields.hpp"

namespace vtrain {

/// Annotation of a job or Workload that names the model of a training run.
inline constexpr const char* kModelAnnotation = "vtrain.dev/model";

/// A Workload of Kueue, v1beta1 or v1beta2. An admission counts only while the Workload holds quota.
LiveWorkload read_kueue_workload(KubernetesFields& fields, const nlohmann::json& object);
/// A Job of `batch/v1`.
LiveBatchJob read_batch_job(KubernetesFields& fields, const nlohmann::json& object);
/// A JobSet: one pod set for each of its replicated jobs.
LiveBatchJob read_job_set(KubernetesFields& fields, const nlohmann::json& object);
/// A PodGroup of Volcano.
LivePodGroup read_volcano_pod_group(KubernetesFields& fields, const nlohmann::json& object);
/// A PodGroup of `scheduling.k8s.io`.
LivePodGroup read_pod_group(KubernetesFields& fields, const nlohmann::json& object);
/// A Workload of `scheduling.k8s.io`.
LiveGangWorkload read_gang_workload(KubernetesFields& fields, const nlohmann::json& object);
/// A Node.
LiveKubernetesNode read_kubernetes_node(KubernetesFields& fields, const nlohmann::json& object);
/// The status of a ClusterQueue or LocalQueue, and whether it is stopped.
LiveQueueStatus read_queue_status(KubernetesFields& fields, const nlohmann::json& object,
                                  std::string_view kind);

/// The namespace of an object; `default` where it names none.
std::string read_namespace(KubernetesFields& fields, const nlohmann::json& object);
/// The name of an object, which it must have.
std::string read_name(KubernetesFields& fields, const nlohmann::json& object);

}  // namespace vtrain
