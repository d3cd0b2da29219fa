#include "tools/experiment/gang_speed_notes.hpp"

#include <fmt/format.h>

#include "sched/accounting/placement_speed.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {

std::vector<std::string> gang_speed_notes(PredictedSpeeds& speeds, const CurvesByType& curves,
                                          const Workload& workload, const ClusterSpec& cluster,
                                          PlacementKind placement, std::span<const PreparedPolicy> policies) {
  std::vector<std::string> notes;
  const auto books = make_placement(placement, cluster, workload);
  if (!PlacementSpeed(cluster, workload, speeds, *books).matter()) return notes;
  notes.push_back(fmt::format("speed of {} predicted for the GPU type and the nodes of each gang",
                              count_of(speeds.num_jobs(), "job")));
  for (const PreparedPolicy& prepared : policies) {
    if (!prepared.policy->copes_with_disruptions())
      notes.push_back(
          fmt::format("under {} their gangs are as fast anywhere as their run times say", prepared.spec));
  }
  if (const std::int64_t jobs = speeds.num_without_plan(workload); jobs > 0) {
    const std::string count = count_of(jobs, "job");
    notes.push_back(
        curves.types().size() > 1
            ? fmt::format("no plan for {} on some type of GPUs that may be theirs: there they are as fast as "
                          "priced",
                          count)
            : fmt::format("no plan for {} on the GPUs asked for: their gangs are as fast anywhere as their "
                          "run times say",
                          count));
  }
  return notes;
}

}  // namespace vtrain
