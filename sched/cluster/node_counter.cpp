#include "sched/cluster/node_counter.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/base/numbers.hpp"

namespace vtrain {

bool is_gpu_type_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

Result<void> NodeCounter::name(std::string_view node) {
  constexpr std::size_t kMostNames = 1'000'000;
  if (names_.size() == kMostNames) {
    return fail(
        {.message = fmt::format("expected at most {} nodes, found more", with_thousands(kMostNames))});
  }
  if (!names_.emplace(node).second) {
    return fail({.message = expected_found("a node of its own in each row", node)});
  }
  return {};
}

Result<void> NodeCounter::add(std::int64_t num_nodes, std::int64_t gpus_per_node, std::string_view gpu_type) {
  num_nodes_ += num_nodes;
  // Neither factor exceeds the limit, so that the product stays within 64 bits.
  if (num_nodes > kMaxClusterGpus || gpus_per_node > kMaxClusterGpus || num_nodes_ > kMaxClusterGpus ||
      num_nodes * gpus_per_node > kMaxClusterGpus - num_gpus_) {
    return fail({.message = fmt::format("expected at most {} nodes and GPUs in all, found more",
                                        with_thousands(kMaxClusterGpus))});
  }
  if (num_nodes == 0) return {};
  if (gpus_per_node == 0) {
    without_gpu_ += num_nodes;
    return {};
  }
  if (!gpu_type.empty() && !is_gpu_type_name(gpu_type)) {
    return fail({.message = expected_found("a GPU type of letters, digits, '-', '_' and '.'", gpu_type)});
  }
  num_gpus_ += num_nodes * gpus_per_node;
  const auto [group, is_new] =
      groups_.try_emplace({gpus_per_node, std::string(gpu_type)}, cluster_.groups.size());
  if (is_new) {
    cluster_.groups.push_back({.num_nodes = 0,
                               .gpus_per_node = GpuCount(static_cast<std::int32_t>(gpus_per_node)),
                               .gpu_type = std::string(gpu_type)});
  }
  cluster_.groups[group->second].num_nodes += static_cast<std::int32_t>(num_nodes);
  return {};
}

Result<ClusterSpec> NodeCounter::finish() {
  if (cluster_.groups.empty()) return fail({.message = "expected at least one node with GPUs, found none"});
  if (without_gpu_ > 0)
    cluster_.notes.push_back(fmt::format("nodes without GPU, left out: {}", with_thousands(without_gpu_)));
  return std::move(cluster_);
}

}  // namespace vtrain
