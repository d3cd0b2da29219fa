#include "tools/live/kubernetes_pods.hpp"

#include <algorithm>

namespace vtrain {
namespace {

using nlohmann::json;

/// Requests under `resources`; a limit replaces an absent request.
ResourceAmounts requests_of(KubernetesFields& fields, const json& of) {
  const json& resources = fields.object(of, "resources");
  ResourceAmounts requests = fields.amounts(resources, "requests");
  requests.merge(fields.amounts(resources, "limits"));
  return requests;
}

void add_amounts_of(const ResourceAmounts& more, ResourceAmounts& sum) {
  for (const auto& [resource, amount] : more)
    sum[resource] = kueue::add_amounts(sum[resource], amount);
}

void raise_amounts(const ResourceAmounts& least, ResourceAmounts& amounts) {
  for (const auto& [resource, amount] : least)
    amounts[resource] = std::max(amounts[resource], amount);
}

std::vector<kueue::LabelExpression> read_expressions(KubernetesFields& fields, const json& in,
                                                     std::string_view key) {
  std::vector<kueue::LabelExpression> list;
  for (const json& each : fields.objects(in, key)) {
    kueue::LabelExpression& expression = list.emplace_back();
    expression.key = fields.required_text(each, "key");
    expression.op =
        static_cast<kueue::LabelOperator>(fields.choice(each, "operator", kueue::kLabelOperatorNames, 0));
    expression.values = fields.texts(each, "values");
  }
  return list;
}

}  // namespace

std::vector<std::pair<std::string, kueue::Amount>> read_pod_requests(KubernetesFields& fields,
                                                                     const json& pod_template) {
  const json& spec = fields.object(pod_template, "spec");
  ResourceAmounts sidecars;
  ResourceAmounts most_at_begin;
  for (const json& container : fields.objects(spec, "initContainers")) {
    ResourceAmounts requests = requests_of(fields, container);
    if (fields.text(container, "restartPolicy") == "Always") {
      add_amounts_of(requests, sidecars);
      requests = sidecars;
    } else {
      add_amounts_of(sidecars, requests);
    }
    raise_amounts(requests, most_at_begin);
  }
  ResourceAmounts all = std::move(sidecars);
  for (const json& container : fields.objects(spec, "containers"))
    add_amounts_of(requests_of(fields, container), all);
  raise_amounts(most_at_begin, all);
  for (const auto& [resource, amount] : requests_of(fields, spec))
    all[resource] = amount;
  add_amounts_of(fields.amounts(spec, "overhead"), all);
  return {all.begin(), all.end()};
}

kueue::NodeChoice read_node_choice(KubernetesFields& fields, const json& pod_template) {
  const json& spec = fields.object(pod_template, "spec");
  kueue::NodeChoice nodes;
  nodes.node_selector = fields.labels(spec, "nodeSelector");
  const json& affinity = fields.object(fields.object(spec, "affinity"), "nodeAffinity");
  const json& required = fields.object(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  for (const json& term : fields.objects(required, "nodeSelectorTerms"))
    nodes.required_node_affinity.push_back(read_expressions(fields, term, "matchExpressions"));
  for (const json& each : fields.objects(spec, "tolerations")) {
    constexpr std::string_view kOperators[] = {"Equal", "Exists"};
    nodes.tolerations.push_back({.key = fields.text(each, "key"),
                                 .is_exists = fields.choice(each, "operator", kOperators, 0) == 1,
                                 .value = fields.text(each, "value"),
                                 .effect = fields.text(each, "effect")});
  }
  return nodes;
}

}  // namespace vtrain
