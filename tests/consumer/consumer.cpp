/// Uses an installed vtrain: two jobs of 8 GPUs on one node run one after the other.
#include <chrono>
#include <cstdio>
#include <vtrain/cluster.hpp>
#include <vtrain/decision.hpp>
#include <vtrain/plan.hpp>
#include <vtrain/predict.hpp>
#include <vtrain/report.hpp>
#include <vtrain/result.hpp>
#include <vtrain/scenario.hpp>
#include <vtrain/simulation.hpp>
#include <vtrain/units.hpp>
#include <vtrain/workload.hpp>

int main() {
  vtrain::Workload workload;
  for (int i = 0; i < 2; ++i) {
    vtrain::Job job;
    job.duration = std::chrono::seconds(10);
    job.num_gpus = vtrain::GpuCount(8);
    workload.jobs.push_back(job);
  }
  const auto cluster = vtrain::ClusterSpec::parse("1x8");
  auto policy = vtrain::make_policy("fifo");
  if (!cluster || !policy) return 1;
  const auto result = vtrain::simulate(workload, *cluster, **policy, {});
  if (!result) return 1;
  const vtrain::Summary summary = vtrain::summarize(workload, *cluster, *result, "fifo");
  std::printf("makespan %g s\n", summary.makespan_s);
  return summary.makespan_s == 20.0 ? 0 : 1;
}
