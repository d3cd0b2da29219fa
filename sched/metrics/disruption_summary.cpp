#include "sched/metrics/disruption_summary.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace vtrain {
double DisruptionSummary::total_lost_gpu_hours() const {
  return std::accumulate(lost_gpu_hours.begin(), lost_gpu_hours.end(), 0.0);
}

double out_of_service_gpu_seconds(std::span<const Outage> outages, const ClusterSpec& cluster, SimTime begin,
                                  SimTime end) {
  std::vector<Outage> by_node(outages.begin(), outages.end());
  std::sort(by_node.begin(), by_node.end(), [](const Outage& a, const Outage& b) {
    return a.node != b.node ? a.node < b.node : a.begin < b.begin;
  });
  const std::vector<GpuCount> gpus = cluster.gpus_by_node();
  GpuTime total;
  SimTime counted_until = begin;  // of the node at hand
  NodeId node;
  for (const Outage& outage : by_node) {
    if (outage.node != node) counted_until = begin;
    node = outage.node;
    const SimTime from = std::max(outage.begin, counted_until);
    const SimTime to = std::min(outage.end, end);
    if (to <= from) continue;
    total.add(to - from, gpus[node.value]);
    counted_until = to;
  }
  return total.seconds();
}

DisruptionSummary summarize_disruptions(const SimulationResult& result, const ClusterSpec& cluster,
                                        SimTime begin, SimTime end) {
  DisruptionSummary summary;
  summary.outages = std::ssize(result.outages);
  GpuTime held;
  LostGpuTime lost;
  for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
    const JobOutcome& outcome = result.outcomes[i];
    summary.interruptions += outcome.failures;
    summary.interrupted_jobs += outcome.failures > 0 ? 1 : 0;
    summary.resizes += outcome.resizes;
    held.add(outcome.gpu_time);
    lost.add(result.losses[i]);
  }
  for (std::size_t cause = 0; cause < kNumLossCauses; ++cause)
    summary.lost_gpu_hours[cause] = lost[static_cast<LossCause>(cause)].seconds() / kSecondsPerHour;
  summary.useful_gpu_hours = (held.seconds() - lost.total().seconds()) / kSecondsPerHour;
  summary.out_of_service_gpu_hours =
      out_of_service_gpu_seconds(result.outages, cluster, begin, end) / kSecondsPerHour;
  const double span_h = to_seconds(end - begin) / kSecondsPerHour;
  if (span_h > 0)
    summary.goodput = summary.useful_gpu_hours / (span_h * static_cast<double>(cluster.total_gpus().value));
  return summary;
}

}  // namespace vtrain
