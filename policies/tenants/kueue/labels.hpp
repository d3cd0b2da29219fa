/// Labels, selectors, taints and tolerations: does a flavor suit a pod set, and a namespace a queue.
#pragma once

#include "policies/tenants/kueue/objects.hpp"

namespace vtrain::kueue {

/// True if labels meet an expression. `Gt` and `Lt` compare whole numbers.
bool matches(const LabelExpression& expression, const Labels& labels);
/// True if labels meet a selector; an empty one takes everything.
bool matches(const LabelSelector& selector, const Labels& labels);

/// True if the pods of a pod set may run on nodes of a flavor: its NoSchedule and NoExecute taints are
/// tolerated, by the pod or by the flavor itself, and selector and required affinity hold. Only keys among
/// the flavor's own labels count; a term of the affinity without any such key holds.
bool suits(const ResourceFlavor& flavor, const NodeChoice& nodes);

}  // namespace vtrain::kueue
