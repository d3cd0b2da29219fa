#include "tools/gang_speed_notes.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "policies/registry.hpp"
#include "sched/gang_sites.hpp"
#include "tools/output_format.hpp"

namespace vtrain {

namespace {

/// Types of which the cluster's nodes are not those that the predictor knows.
std::vector<std::string> node_size_notes(const CurvesByType& curves, const NodeTable& nodes) {
  std::vector<std::string> notes;
  for (std::size_t type = 0; type < nodes.by_type().size(); ++type) {
    const GpuProfile& profile = curves.types()[type].curves->profile();
    const std::int32_t largest = nodes.by_type()[type].largest_node;
    if (largest == profile.gpus_per_node) continue;
    const std::string& name = nodes.types().names()[type];
    notes.push_back(
        fmt::format("models run on {} as on nodes of {}, as in profile {}; the largest here have {}",
                    name.empty() ? "the GPUs" : printable(name), count_of(profile.gpus_per_node, "GPU"),
                    profile.name, largest));
  }
  return notes;
}

}  // namespace

std::vector<std::string> gang_speed_notes(PredictedSpeeds& speeds, const CurvesByType& curves,
                                          const Workload& workload, const ClusterSpec& cluster,
                                          PlacementKind placement, const std::vector<std::string>& policies) {
  std::vector<std::string> notes;
  const auto books = make_placement(placement, cluster, workload);
  if (info_of(placement).knows_nodes) notes = node_size_notes(curves, NodeTable(cluster, workload));
  if (!GangSites(cluster, workload, speeds, *books).matter()) return notes;
  notes.push_back(fmt::format("speed of {} predicted for the GPU type and the nodes of each gang",
                              count_of(speeds.num_jobs(), "job")));
  for (const std::string& spec : policies) {
    const auto policy = make_policy(spec);
    if (policy && !(*policy)->copes_with_disruptions())
      notes.push_back(fmt::format("under {} their gangs are as fast anywhere as their run times say", spec));
  }
  if (const std::int64_t jobs = speeds.num_without_plan(workload); jobs > 0)
    notes.push_back(fmt::format(
        "no plan for {} on some type of GPUs that may be theirs: there they are as fast as priced",
        count_of(jobs, "job")));
  return notes;
}

}  // namespace vtrain
