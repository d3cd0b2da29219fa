/// What is known of a GPU and of the node it sits in: the constants of the physical predictor, each with its
/// source.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective_cost.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace vtrain {

/// One constant as the profile states it.
struct ProfileConstant {
  std::string name;
  double value = 0;
  std::string unit;    ///< `B`, `B/s`, `FLOP/s`, `ns`, or `1` for a ratio or a count
  std::string source;  ///< where the value comes from, or why it is assumed
};

/// A GPU type. Efficiencies are fractions of `memory_bandwidth` that a kind of kernel reaches.
struct GpuProfile {
  std::string name;
  std::string description;
  std::vector<ProfileConstant> constants;  ///< all constants, in the order of the known names
  std::string all_reduce_source;

  Bytes memory_capacity{};  ///< usable by a training process
  Bytes memory_reserve{};   ///< of that, taken by the libraries
  BytesPerSecond memory_bandwidth{};
  FlopsPerSecond peak_rate{};  ///< dense, half precision: the denominator of MFU
  std::int64_t num_multiprocessors = 0;

  Nanoseconds kernel_overhead{0};  ///< of every kernel
  FlopsPerSecond gemm_rate{};      ///< of the whole GPU with the largest tile, every wave full
  double gemm_depth_overhead = 0;  ///< prologue and epilogue of a tile, in units of K
  /// Rate of a tile relative to `gemm_rate`, for tiles of 32768, 16384, 8192 and 4096 elements.
  std::array<double, 4> gemm_tile_efficiency{};
  double gemm_memory_efficiency = 0;

  double elementwise_efficiency = 0;
  double gelu_efficiency = 0;
  double layer_norm_efficiency = 0;
  double softmax_efficiency = 0;
  double dropout_efficiency = 0;
  double optimizer_efficiency = 0;
  Bytes optimizer_traffic{};  ///< per parameter and update

  Nanoseconds forward_issue_floor{0};  ///< the CPU issues the kernels of a layer's forward pass in no less
  Nanoseconds backward_issue_floor{0};

  std::int64_t gpus_per_node = 0;
  BytesPerSecond node_network_bandwidth{};  ///< one way, all adapters of a node
  double network_efficiency = 0;
  Nanoseconds send_latency{0};
  BytesPerSecond gather_bandwidth{};  ///< all-gather within a node, of the bytes gathered
  BytesPerSecond nvlink_bandwidth{};  ///< one GPU, one way, within a node
  /// Whether the last of several stages runs its forward pass again before the backward pass, as the others
  /// do.
  bool last_stage_recomputes = false;

  AllReduceTables all_reduce;  ///< within a node, by number of GPUs

  /// What a node's network really moves a second.
  BytesPerSecond network_rate() const { return node_network_bandwidth * network_efficiency; }
};

/// Reads a profile (schema `vtrain-gpu-profile`, version 1). Every constant must be there with the expected
/// unit and a source; an unknown key is an error. `file` is used in errors.
Result<GpuProfile> parse_gpu_profile(std::string text, const std::string& file);

/// The names of the profiles that are part of the program.
std::span<const std::string_view> embedded_profile_names();

/// An embedded profile by name, or the profile in a file when `name` is a path (it has a `/` or ends in
/// `.json`). An unknown name is an error that lists the known ones.
Result<GpuProfile> load_gpu_profile(const std::string& name);

}  // namespace vtrain
