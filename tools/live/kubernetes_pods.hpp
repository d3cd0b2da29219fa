/// Pods of Kubernetes' objects: what one asks for, and the nodes on which it may run.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/live/kubernetes_fields.hpp"

namespace vtrain {

/// Requests of a pod of a template, ascending by resource. For each resource that is the larger of the sum
/// over its containers and each of its init containers, plus the pod's overhead; a limit replaces an absent
/// request. Init containers that are restarted always (sidecars) run with all that follow. Requests of the
/// pod as a whole come before those of its containers.
std::vector<std::pair<std::string, kueue::Amount>> read_pod_requests(KubernetesFields& fields,
                                                                     const nlohmann::json& pod_template);

/// Selector, required affinity and tolerations of a pod of a template.
kueue::NodeChoice read_node_choice(KubernetesFields& fields, const nlohmann::json& pod_template);

}  // namespace vtrain
