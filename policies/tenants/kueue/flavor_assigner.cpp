#include "policies/tenants/kueue/flavor_assigner.hpp"

#include <algorithm>
#include <tuple>

#include "policies/tenants/kueue/labels.hpp"

namespace vtrain::kueue {
namespace {

/// Severity of a reason for which nothing fits.
int severity(PendingReason reason) {
  return static_cast<int>(reason);  // the enumeration lists them in this order
}
static_assert(PendingReason::WaitingForQuota < PendingReason::ExceedsMaxQuota &&
              PendingReason::ExceedsMaxQuota < PendingReason::NoMatchingFlavor);

PendingReason more_severe(PendingReason a, PendingReason b) {
  return severity(a) >= severity(b) ? a : b;
}

/// What one flavor could do for one resource.
struct ResourceFit {
  GranularMode mode{};
  PendingReason reason = PendingReason::None;
};

/// The search for the flavors of one workload.
class FlavorSearch {
 public:
  FlavorSearch(const Cache& cache, const AssignmentRequest& request, PreemptionOracle& oracle)
      : cache_(cache), request_(request), oracle_(oracle), queue_(cache.queue(request.queue)) {}

  Assignment run() {
    assignment_.mode = AssignmentMode::Fit;
    const Shape& shape = cache_.shape_of(request_.workload);
    for (pod_set_ = 0; pod_set_ < shape.pod_sets.size(); ++pod_set_) {
      if (!assign_pod_set(shape.pod_sets[pod_set_])) break;
    }
    return std::move(assignment_);
  }

 private:
  /// A demand for a resource, of the whole pod set.
  struct Demand {
    ResourceId resource;
    Amount amount;
  };
  /// The best flavor of a group so far.
  struct Best {
    GranularMode mode{};
    std::vector<ResourceAssignment> resources{};
  };

  std::int64_t count_of(std::size_t pod_set) const {
    const std::int64_t live = cache_.live_pods(request_.workload, pod_set);
    return request_.counts.empty() ? live : std::min(live, request_.counts[pod_set]);
  }

  void find_demands(const PodSetSpec& spec, std::int64_t count) {
    demands_.clear();
    demands_.reserve(spec.requests.size() + 1);
    const auto pods = queue_.covers_pods ? cache_.find_resource("pods") : std::nullopt;
    for (const auto& [resource, amount] : spec.requests) {
      if (resource != pods) demands_.push_back({resource, multiply(amount, count)});
    }
    if (pods) demands_.push_back({*pods, count});
  }

  /// The first demand for a resource of a group, of which there is one.
  const Demand& first_of(std::uint32_t group) const {
    return *std::ranges::find_if(
        demands_, [&](const Demand& demand) { return queue_.group_of[demand.resource] == group; });
  }

  /// False, with the assignment marked, if the pod set does not fit.
  bool assign_pod_set(const PodSetSpec& spec) {
    PodSetAssignment& set = assignment_.pod_sets.emplace_back();
    set.count = count_of(pod_set_);
    find_demands(spec, set.count);
    reason_ = PendingReason::None;
    bool fits = true;
    for (const Demand& demand : demands_) {
      const std::uint32_t group = queue_.group_of[demand.resource];
      if (group == kNone) {
        if (demand.amount == 0) continue;
        reason_ = PendingReason::NoMatchingFlavor;
        fits = false;
      } else if (&demand == &first_of(group)) {
        fits = assign_group(spec, queue_.groups[group], group, set) && fits;
      }
    }
    if (!fits) {
      set.resources.clear();
      assignment_.mode = AssignmentMode::NoFit;
      assignment_.no_fit_reason = reason_ == PendingReason::None ? PendingReason::NoMatchingFlavor : reason_;
      return false;
    }
    for (const ResourceAssignment& each : set.resources) {
      assignment_.mode = std::min(assignment_.mode, each.mode);
      assignment_.borrowing_level = std::max(assignment_.borrowing_level, each.borrowing_level);
      add_to(assignment_.usage, cache_.column(each.flavor, each.resource), each.amount);
    }
    return true;
  }

  /// Index of the first flavor to try.
  std::size_t first_index(ResourceId resource) const {
    if (request_.tried == nullptr || pod_set_ >= request_.tried->last_index.size()) return 0;
    for (const auto& [which, index] : request_.tried->last_index[pod_set_]) {
      if (which == resource) return static_cast<std::size_t>(index + 1);
    }
    return 0;
  }

  bool was_nominated(FlavorId flavor, ResourceId resource) const {
    if (request_.nominated == nullptr) return true;
    const auto& sets = request_.nominated->pod_sets;
    return pod_set_ < sets.size() && std::ranges::any_of(sets[pod_set_].resources, [&](const auto& each) {
             return each.flavor == flavor && each.resource == resource;
           });
  }

  ResourceFit fit_resource(FlavorResource column, Amount demand) {
    const QuotaTree& tree = cache_.tree();
    for (const auto& [which, amount] : assignment_.usage) {
      if (which == column) demand = add_amounts(demand, amount);
    }
    if (demand > tree.potential(queue_.node, column)) return {{}, PendingReason::ExceedsMaxQuota};
    const BorrowingLevel level = tree.borrowing_level(queue_.node, column, demand);
    if (demand <= tree.available(queue_.node, column))
      return {{FlavorMode::Fit, level.level}, PendingReason::None};
    const PreemptionRules& rules = queue_.object.preemption;
    const bool preempts_while_borrowing =
        rules.borrow_within_cohort.is_allowed ||
        (cache_.settings().fair_sharing && rules.reclaim_within_cohort != PreemptionPolicy::Never);
    if (demand <= tree.nominal(queue_.node, column) || level.may_reclaim || preempts_while_borrowing)
      return {oracle_.simulate(column, demand), PendingReason::None};
    return {{FlavorMode::NoFit, level.level}, PendingReason::WaitingForQuota};
  }

  /// Tries a flavor for all resources of the group. `resources_` receives what it would give.
  ResourceFit fit_flavor(FlavorId flavor, std::uint32_t group) {
    ResourceFit worst{{FlavorMode::Fit, 0}, PendingReason::None};
    const FungibilityPreference preference = queue_.object.flavor_fungibility.preference;
    for (const Demand& demand : demands_) {
      if (queue_.group_of[demand.resource] != group) continue;
      const ResourceFit fit = fit_resource(cache_.column(flavor, demand.resource), demand.amount);
      worst.reason = more_severe(worst.reason, fit.reason);
      if (is_preferred(worst.mode, fit.mode, preference)) worst.mode = fit.mode;
      resources_.push_back(
          {.resource = demand.resource,
           .flavor = flavor,
           .mode = fit.mode.mode == FlavorMode::Fit ? AssignmentMode::Fit : AssignmentMode::Preempt,
           .borrowing_level = fit.mode.borrowing_level,
           .amount = demand.amount});
    }
    return worst;
  }

  bool stops_at(const GranularMode& mode) const {
    const FlavorFungibility& rules = queue_.object.flavor_fungibility;
    switch (mode.mode) {
      case FlavorMode::NoFit:
      case FlavorMode::NoCandidates:
        return false;
      case FlavorMode::Preempt:
      case FlavorMode::Reclaim:
        if (rules.when_can_preempt == Fungibility::TryNextFlavor) return false;
        break;
      case FlavorMode::Fit:
        break;
    }
    return mode.borrowing_level == 0 || rules.when_can_borrow != Fungibility::TryNextFlavor;
  }

  /// Finds the flavor of a group. False if none fits.
  bool assign_group(const PodSetSpec& spec, const GroupInfo& info, std::uint32_t group,
                    PodSetAssignment& set) {
    const ResourceId first = first_of(group).resource;
    Best best;
    PendingReason least = PendingReason::None;
    const auto note = [&](PendingReason reason) {
      if (least == PendingReason::None || severity(reason) < severity(least)) least = reason;
    };
    std::size_t last = 0;
    for (std::size_t i = first_index(first); i < info.flavors.size(); ++i) {
      last = i;
      const FlavorId flavor = info.flavors[i];
      if (!was_nominated(flavor, first)) continue;
      const ResourceFlavor* const object = cache_.flavor(flavor);
      if (object == nullptr || !suits(*object, spec.nodes)) {
        note(PendingReason::NoMatchingFlavor);
        continue;
      }
      resources_.clear();
      const ResourceFit fit = fit_flavor(flavor, group);
      if (fit.mode.mode == FlavorMode::NoFit) note(fit.reason);
      const bool stops = stops_at(fit.mode);
      if (stops || is_preferred(fit.mode, best.mode, queue_.object.flavor_fungibility.preference)) {
        best.mode = fit.mode;
        best.resources.swap(resources_);
      }
      if (stops) break;
    }
    reason_ = more_severe(reason_, least);
    if (best.mode.mode == FlavorMode::NoFit) return false;
    const bool saw_last = last + 1 == info.flavors.size();
    for (ResourceAssignment& each : best.resources) {
      each.last_tried_index = saw_last ? -1 : static_cast<std::int32_t>(last);
      set.resources.push_back(each);
    }
    return true;
  }

  const Cache& cache_;
  const AssignmentRequest& request_;
  PreemptionOracle& oracle_;
  const QueueInfo& queue_;
  Assignment assignment_;
  std::size_t pod_set_ = 0;
  std::vector<Demand> demands_;
  std::vector<ResourceAssignment> resources_;   ///< buffer
  PendingReason reason_ = PendingReason::None;  ///< of this pod set
};

}  // namespace

bool is_preferred(const GranularMode& a, const GranularMode& b, FungibilityPreference preference) {
  // Flavors without room or victims come last, whatever they would borrow.
  const auto hope = [](FlavorMode mode) {
    return mode == FlavorMode::NoFit ? 0 : mode == FlavorMode::NoCandidates ? 1 : 2;
  };
  if (hope(a.mode) != hope(b.mode)) return hope(a.mode) > hope(b.mode);
  if (a.mode == FlavorMode::NoFit) return false;
  const auto rank = [](FlavorMode mode) { return -static_cast<int>(mode); };
  if (preference == FungibilityPreference::PreemptionOverBorrowing) {
    return std::tuple(a.borrowing_level, rank(a.mode)) < std::tuple(b.borrowing_level, rank(b.mode));
  }
  return std::tuple(rank(a.mode), a.borrowing_level) < std::tuple(rank(b.mode), b.borrowing_level);
}

bool Assignment::has_more_flavors() const {
  return std::ranges::any_of(pod_sets, [](const PodSetAssignment& set) {
    return std::ranges::any_of(set.resources,
                               [](const ResourceAssignment& each) { return each.last_tried_index != -1; });
  });
}

std::vector<FlavorResource> Assignment::columns_to_preempt(const Cache& cache) const {
  std::vector<FlavorResource> columns;
  for (const PodSetAssignment& set : pod_sets) {
    for (const ResourceAssignment& each : set.resources) {
      const FlavorResource column = cache.column(each.flavor, each.resource);
      if (each.mode == AssignmentMode::Preempt && std::ranges::count(columns, column) == 0)
        columns.push_back(column);
    }
  }
  return columns;
}

std::vector<GivenPodSet> Assignment::given() const {
  std::vector<GivenPodSet> sets;
  sets.reserve(pod_sets.size());
  for (const PodSetAssignment& set : pod_sets) {
    GivenPodSet& given = sets.emplace_back(GivenPodSet{.count = set.count});
    for (const ResourceAssignment& each : set.resources)
      given.resources.push_back({.resource = each.resource, .flavor = each.flavor, .amount = each.amount});
  }
  return sets;
}

Assignment assign_flavors(const Cache& cache, const AssignmentRequest& request, PreemptionOracle& oracle) {
  return FlavorSearch(cache, request, oracle).run();
}

bool is_progress_kept(const ProgressCheck& record, const ProgressCheck& now, const Gates& gates) {
  if (gates.flavor_fungibility_preserve_scan_progress) {
    if (record.shape && now.shape && *record.shape != *now.shape) return false;
    if (now.cycle - record.cycle <= 1) return true;
  }
  return record.generation == now.generation;
}

}  // namespace vtrain::kueue
