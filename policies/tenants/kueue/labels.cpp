#include "policies/tenants/kueue/labels.hpp"

#include <algorithm>
#include <limits>

#include "core/base/numbers.hpp"

namespace vtrain::kueue {
namespace {

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.is_exists;
  if (toleration.key != taint.key) return false;
  return toleration.is_exists || toleration.value == taint.value;
}

bool is_tolerated(const Taint& taint, const ResourceFlavor& flavor, const NodeChoice& nodes) {
  if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
  const auto does = [&](const Toleration& toleration) { return tolerates(toleration, taint); };
  return std::ranges::any_of(nodes.tolerations, does) || std::ranges::any_of(flavor.tolerations, does);
}

bool meets_affinity(const Labels& labels, const NodeChoice& nodes) {
  if (nodes.required_node_affinity.empty()) return true;
  bool meets_one = false;
  for (const auto& term : nodes.required_node_affinity) {
    bool is_relevant = false;
    bool meets_all = true;
    for (const LabelExpression& expression : term) {
      if (!labels.contains(expression.key)) continue;
      is_relevant = true;
      meets_all = meets_all && matches(expression, labels);
    }
    if (!is_relevant) return true;
    meets_one = meets_one || meets_all;
  }
  return meets_one;
}

}  // namespace

bool matches(const LabelExpression& expression, const Labels& labels) {
  const auto found = labels.find(expression.key);
  const bool has = found != labels.end();
  const auto is_listed = [&] { return std::ranges::count(expression.values, found->second) > 0; };
  const auto compare = [&](auto order) {
    if (!has || expression.values.size() != 1) return false;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto label = parse_integer(found->second, -kMost, kMost);
    const auto bound = parse_integer(expression.values.front(), -kMost, kMost);
    return label && bound && order(*label, *bound);
  };
  switch (expression.op) {
    case LabelOperator::In:
      return has && is_listed();
    case LabelOperator::NotIn:
      return !has || !is_listed();
    case LabelOperator::Exists:
      return has;
    case LabelOperator::DoesNotExist:
      return !has;
    case LabelOperator::Gt:
      return compare([](std::int64_t label, std::int64_t bound) { return label > bound; });
    case LabelOperator::Lt:
      return compare([](std::int64_t label, std::int64_t bound) { return label < bound; });
  }
  return false;
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return std::ranges::all_of(selector.match_expressions,
                             [&](const LabelExpression& each) { return matches(each, labels); });
}

bool suits(const ResourceFlavor& flavor, const NodeChoice& nodes) {
  for (const Taint& taint : flavor.node_taints) {
    if (!is_tolerated(taint, flavor, nodes)) return false;
  }
  for (const auto& [key, value] : nodes.node_selector) {
    const auto found = flavor.node_labels.find(key);
    if (found != flavor.node_labels.end() && found->second != value) return false;
  }
  return meets_affinity(flavor.node_labels, nodes);
}

}  // namespace vtrain::kueue
