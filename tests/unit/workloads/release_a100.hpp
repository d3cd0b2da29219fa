/// The GPU and the software of the public vTrain release's iterations, for tests.
#pragma once

#include <string_view>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// The A100 in nodes with 800 Gbit/s, as in the measurements of the public vTrain release.
inline const GpuProfile& a100() {
  static const GpuProfile profile = [] {
    GpuProfile loaded = load_gpu_profile("a100").value();
    loaded.node_network_bandwidth = BytesPerSecond(1e11);
    return loaded;
  }();
  return profile;
}

inline const Stack& megatron() {
  static const Stack stack = find_stack("megatron-2021").value();
  return stack;
}

/// Time of a pass with gaps.
inline double total_ns(const std::vector<Operator>& operators) {
  return total_span(operators).count();
}

/// Time of all operators of a name in a pass, without gaps.
inline double time_of(const std::vector<Operator>& operators, std::string_view name) {
  double sum = 0;
  for (const Operator& op : operators) {
    if (op.name == name) sum += op.duration.count();
  }
  return sum;
}

}  // namespace vtrain
