#include "docs/measured/normalise/node_names.hpp"

#include <map>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "core/profile/gpu_profile.hpp"

namespace vtrain {
namespace {

/// Profile, GPUs of a node and bytes/s of its network, 0 for those of the profile.
using Nodes = std::tuple<std::string, std::int64_t, double>;

/// A bandwidth in GB/s where that is exact.
std::string bandwidth_text(double bytes_per_s) {
  constexpr double kGigabyte = 1e9;
  const double gigabytes = bytes_per_s / kGigabyte;
  return gigabytes * kGigabyte == bytes_per_s ? fmt::format("{}GB/s", gigabytes)
                                              : fmt::format("{}B/s", bytes_per_s);
}

std::string name_in_nodes(const Nodes& nodes) {
  const auto& [name, gpus, network] = nodes;
  const auto plain = load_gpu_profile(name);
  if (!plain) return name;
  const auto shaped = gpus > 0 ? load_gpu_profile(name, NodeShape{.gpus = gpus}) : plain;
  if (!shaped) return fmt::format("{}:gpus_per_node={}", name, gpus);  // whoever loads it says what is wrong
  const double bandwidth = network > 0 ? network : shaped->node_network_bandwidth.value;
  std::string text = name;
  const auto add = [&](std::string_view constant, const std::string& value) {
    text += split_profile_name(text).constants.empty() ? ":" : ",";
    text += fmt::format("{}={}", constant, value);
  };
  if (shaped->gpus_per_node != plain->gpus_per_node)
    add("gpus_per_node", std::to_string(shaped->gpus_per_node));
  if (shaped->nvlink_domain != plain->nvlink_domain)
    add("nvlink_domain", std::to_string(shaped->nvlink_domain));
  if (bandwidth != plain->node_network_bandwidth.value)
    add("node_network_bandwidth", bandwidth_text(bandwidth));
  return text;
}

}  // namespace

void name_nodes(RawCase& record) {
  if (!record.gpus_per_node && !record.node_network) return;
  static std::map<Nodes, std::string> known;
  const Nodes nodes(record.profile, record.gpus_per_node.value_or(0),
                    record.node_network.value_or(BytesPerSecond()).value);
  auto found = known.find(nodes);
  if (found == known.end()) found = known.emplace(nodes, name_in_nodes(nodes)).first;
  record.profile = found->second;
}

}  // namespace vtrain
