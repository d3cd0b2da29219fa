/// Nodes, and the status of queues.
#include <fmt/format.h>

#include "tools/live/kubernetes_readers.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// True for a resource that is no part of what queues and schedulers of training jobs count.
bool is_storage(std::string_view resource) {
  return resource == "ephemeral-storage" || resource.starts_with("hugepages-") ||
         resource.starts_with("attachable-volumes-");
}

FlavorAmounts read_usage(KubernetesFields& fields, const json& status, std::string_view key) {
  FlavorAmounts all;
  for (const json& flavor : fields.objects(status, key)) {
    const std::string name = fields.required_text(flavor, "name");
    for (const json& each : fields.objects(flavor, "resources")) {
      const std::string resource = fields.required_text(each, "name");
      all[{name, resource}] = fields.quantity(each, "total", resource);
    }
  }
  return all;
}

}  // namespace

LiveKubernetesNode read_kubernetes_node(KubernetesFields& fields, const json& object) {
  LiveKubernetesNode node{.name = read_name(fields, object)};
  node.labels = fields.labels(fields.object(object, "metadata"), "labels");
  const json& status = fields.object(object, "status");
  node.allocatable = fields.amounts(status, "allocatable");
  std::erase_if(node.allocatable, [](const auto& each) { return is_storage(each.first); });
  const json& ready = fields.condition(status, "Ready");
  if (KubernetesFields::has(ready, "status") && !fields.has_condition(status, "Ready")) {
    node.is_schedulable = false;
    node.reason = "not ready";
  }
  if (fields.boolean(fields.object(object, "spec"), "unschedulable", false)) {
    node.is_schedulable = false;
    node.reason = "cordoned";
  }
  return node;
}

LiveQueueStatus read_queue_status(KubernetesFields& fields, const json& object, std::string_view kind) {
  LiveQueueStatus queue{.kind = std::string(kind)};
  queue.name = read_name(fields, object);
  if (queue.kind == "LocalQueue") queue.name_space = read_namespace(fields, object);
  queue.stop_policy = fields.text(fields.object(object, "spec"), "stopPolicy");
  if (queue.stop_policy == "None") queue.stop_policy.clear();
  const json& status = fields.object(object, "status");
  const json& active = fields.condition(status, "Active");
  if (KubernetesFields::has(active, "status")) {
    queue.is_active = fields.has_condition(status, "Active");
    queue.reason = fmt::format("{}: {}", fields.text(active, "reason"), fields.text(active, "message"));
  }
  // v1beta1 has another name for this of LocalQueues.
  const bool is_old = KubernetesFields::has(status, "flavorUsage");
  queue.used = read_usage(fields, status, is_old ? "flavorUsage" : "flavorsUsage");
  queue.reserved = read_usage(fields, status, "flavorsReservation");
  return queue;
}

}  // namespace vtrain
