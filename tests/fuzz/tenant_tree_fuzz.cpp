// Any bytes give an error with a message, or a tree whose parents stand before their children.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sched/tenants/tenant_tree.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vtrain::ClusterSpec kCluster = *vtrain::ClusterSpec::parse("2x8:a100+1x4:h100");
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto tree = vtrain::parse_tenant_tree(text, "input", kCluster);
  if (!tree) {
    if (tree.error().message.empty()) std::abort();
    return 0;
  }
  for (std::size_t i = 0; i < tree->tenants.size(); ++i) {
    const auto& parent = tree->tenants[i].parent;
    if (parent && *parent >= i) std::abort();
  }
  if (tree->depth() > static_cast<std::int64_t>(tree->tenants.size())) std::abort();
  vtrain::quotas_beyond(*tree, kCluster);
  return 0;
}
