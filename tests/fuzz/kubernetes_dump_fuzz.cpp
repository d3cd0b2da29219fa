/// Objects of Kubernetes, to the cluster and the queues that `vtrain eta` simulates.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policies/tenants/kueue/scheduler.hpp"
#include "tools/live/kubernetes_dump.hpp"
#include "tools/live/kueue_now.hpp"
#include "tools/live/read_state.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  LiveState state;
  const auto added = add_dump(std::string(reinterpret_cast<const char*>(data), size), "fuzz", state);
  if (!added) {
    if (added.error().message.empty()) std::abort();
    return 0;
  }
  if (const auto made = finish_kubernetes(state); !made) {
    if (made.error().message.empty()) std::abort();
    return 0;
  }
  RunTimeBook book;
  for (const DumpedJob& job : state.jobs)
    book.add(job);
  auto cluster = make_cluster_now(state, book, {.counts_types = true});
  if (!cluster) return 0;
  const auto live = make_kueue_objects(state, *cluster);
  if (!live) return 0;
  // Everything that workloads name is known, whatever their queues lack.
  const kueue::ClusterObjects objects = objects_of_live(**live, cluster->question.cluster, "nvidia.com/gpu");
  kueue::Scheduler scheduler({});
  scheduler.cache().set(objects.objects);
  scheduler.cache().know_resource(objects.resource);
  know_workloads(**live, scheduler.cache());
  if (scheduler.cache().is_too_large()) return 0;
  scheduler.objects_changed();
  for (const auto& [name, workload] : (*live)->workloads)
    scheduler.add(workload);
  return 0;
}
