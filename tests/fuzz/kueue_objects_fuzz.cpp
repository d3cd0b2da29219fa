// Any bytes give an error with a message, or objects whose cohorts form no cycle.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policies/tenants/kueue/cluster_objects.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vtrain::ClusterSpec kCluster = *vtrain::ClusterSpec::parse("4x8:a100+1x8:h100");
  const auto read =
      vtrain::kueue::parse_object_file(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!read) {
    if (read.error().message.empty()) std::abort();
    return 0;
  }
  if (vtrain::kueue::find_cohort_problem(read->objects.cohorts)) std::abort();
  const auto objects = vtrain::kueue::objects_of_file(*read, kCluster, "nvidia.com/gpu", "input");
  if (!objects && objects.error().message.empty()) std::abort();
  return 0;
}
