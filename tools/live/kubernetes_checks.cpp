#include "tools/live/kubernetes_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/strings.hpp"

namespace vtrain {

void count_gpus_in_use(LiveState& state) {
  std::map<std::string, std::int64_t> missing;
  for (const DumpedJob& job : state.jobs) {
    if (job.is_running() && !job.kind.empty())
      missing[lower_case(job.gpu_type)] = kueue::add_amounts(missing[lower_case(job.gpu_type)], job.gpus);
  }
  // Jobs of an unknown type come last, and take what is left.
  std::vector<std::pair<std::string, std::int64_t>> wanted(missing.rbegin(), missing.rend());
  for (const bool takes_jobs : {true, false}) {
    std::vector<std::int64_t> free;
    for (const DumpedNode& node : state.nodes)
      free.push_back(node.takes_jobs == takes_jobs ? node.gpus : 0);
    for (auto& [type, gpus] : wanted) {
      for (std::size_t i = 0; i < free.size(); ++i) {
        DumpedNode& node = state.nodes[i];
        if (!type.empty() && type != lower_case(node.gpu_type)) continue;
        const std::int64_t taken = std::min(gpus, free[i]);
        gpus -= taken;
        free[i] -= taken;
        if (takes_jobs || taken == 0) continue;
        node.gpus_in_use += taken;
        state.remark("GPUs of running jobs that are taken to be on nodes that take no jobs", taken);
      }
    }
  }
  for (const auto& [type, gpus] : wanted) {
    if (gpus == 0) continue;
    state.remark("GPUs of running jobs that no node in the files has", gpus);
    const auto first =
        std::ranges::find_if(state.nodes, [](const DumpedNode& node) { return node.gpus > 0; });
    const std::string other = first == state.nodes.end() ? "" : first->gpu_type;
    state.nodes.push_back({.name = fmt::format("no file has it: {}", type.empty() ? other : type),
                           .state = "unknown",
                           .takes_jobs = false,
                           .gpu_type = type.empty() ? other : type,
                           .gpus = gpus,
                           .gpus_in_use = gpus});
  }
}

void compare_usage(LiveState& state) {
  const KubernetesObjects& all = state.kubernetes;
  if (all.workloads.empty()) return;
  std::map<std::string, FlavorAmounts> held;
  for (const LiveWorkload& live : all.workloads) {
    if (!live.workload.admission) continue;
    for (const auto& [what, amount] : live.usage()) {
      kueue::Amount& sum = held[live.workload.admission->cluster_queue][what];
      sum = kueue::add_amounts(sum, amount);
    }
  }
  for (const LiveQueueStatus& queue : all.queue_statuses) {
    if (queue.kind != "ClusterQueue") continue;
    const FlavorAmounts& own = held[queue.name];
    const bool differs = std::ranges::any_of(queue.reserved, [&own](const auto& each) {
      const auto found = own.find(each.first);
      return (found == own.end() ? 0 : found->second) != each.second;
    });
    if (differs) state.remark("queues that report another usage than that of the workloads in the files");
  }
}

}  // namespace vtrain
