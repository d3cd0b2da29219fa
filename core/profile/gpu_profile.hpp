/// Data on a GPU and its node: the constants of the physical predictor, each with its source, and measured
/// times of kernels and collectives.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/collective_table.hpp"
#include "core/kernels/kernel_surface.hpp"
#include "core/kernels/precision.hpp"

namespace vtrain {

class MeasuredProducts;

/// One constant as the profile states it.
struct ProfileConstant {
  std::string name;    ///< key in the profile's JSON
  double value = 0;    ///< value in `unit`
  std::string unit;    ///< `B`, `B/s`, `FLOP/s`, `1/s`, `ns`, or `1` for a ratio or a count
  std::string source;  ///< origin of the value, or the reason to assume it
};

/// One group of measured times as the profile states it. Errors are per cent, negative where not stated.
struct ProfileTable {
  /// `gemm bf16`, `products bf16`, `attention flash2`, `attention_backward`, `collectives all_reduce`,
  /// `old_collectives all_reduce`
  std::string name;
  std::string source;           ///< origin of the measurements
  std::int64_t num_points = 0;  ///< number of measured times in it
  /// Mean difference of the measured times from the profile's: the spread of the averaged measurements of one
  /// shape.
  double spread_percent = -1;
  /// Mean error when a line of the grid is left out and predicted from its neighbours: the error of
  /// interpolation.
  double left_out_error_percent = -1;
  /// Mean error added by rounding and thinning out the table for the profile.
  double compaction_error_percent = -1;
};

/// Generations of attention kernels; the software decides which one runs. `Unfused` writes the scores to
/// memory.
enum class AttentionKernel : std::uint8_t {
  Unfused,  ///< matrix products and a softmax
  Flash1,   ///< FlashAttention
  Flash2,   ///< FlashAttention-2
  Flash3    ///< FlashAttention-3
};
/// Number of generations of attention kernels.
inline constexpr std::size_t kNumAttentionKernels = 4;

/// `unfused`, `flash1`, `flash2`, `flash3`.
std::string_view name_of(AttentionKernel kernel);

/// Speed of the forward pass of one generation of flash attention: the logarithm of FLOP/s by head size,
/// sequence length, and heads times micro-batch. FLOPs count the lower half of the scores.
struct AttentionRates {
  std::shared_ptr<const KernelSurface> log_rate;  ///< null if unknown
  bool assumed = false;                           ///< taken from another generation or GPU by a factor
};

/// Rate of the backward pass relative to the forward pass, by the number of blocks to work on: heads x
/// micro-batch x sequence / 4096. Linear in its logarithm, constant outside.
class AttentionBackward {
 public:
  AttentionBackward() = default;
  /// Takes rising `work` and an equal number of ratios; `std::logic_error` otherwise.
  AttentionBackward(std::vector<double> work, std::vector<double> ratio);
  /// Rate relative to the forward pass; 1 if unknown.
  double relative_rate(double heads_times_sequence) const;
  /// The nodes: rising work, and the ratios there.
  const std::vector<double>& work() const { return work_; }
  /// Ratios at the nodes of `work()`.
  const std::vector<double>& ratio() const { return ratio_; }

 private:
  std::vector<double> work_;
  std::vector<double> log_work_;
  std::vector<double> ratio_;
};

/// Constants of the tile model of matrix products: the output is cut into tiles, and each multiprocessor
/// computes one tile at a time.
struct TileModel {
  FlopsPerSecond rate{};      ///< rate of the whole GPU, reference tile, waves full; 0 without the model
  double depth_overhead = 0;  ///< prologue and epilogue of a tile, in units of K
  /// Rate of a tile relative to `rate`, for tiles of 32768, 16384, 8192 and 4096 elements.
  std::array<double, 4> efficiency{1, 1, 1, 1};
  std::int64_t batched_side = 1;  ///< shortest side of a tile of batched products
};

/// A GPU type. Efficiencies are fractions of the related peak or bandwidth. Copies share the tables.
struct GpuProfile {
  std::string name;                        ///< name with the constants that it changes (`ProfileName`)
  std::string base_name;                   ///< name without constants
  std::string description;                 ///< a sentence for people
  std::string made_by;                     ///< the command line that wrote the profile, or empty
  std::vector<ProfileConstant> constants;  ///< all constants, in the order of the known names
  std::vector<ProfileTable> tables;        ///< all groups of measured times

  Bytes memory_capacity{};            ///< usable by a training process
  Bytes memory_reserve{};             ///< part of the capacity that libraries take
  BytesPerSecond memory_bandwidth{};  ///< peak bandwidth of the GPU's memory
  FlopsPerSecond peak_rate{};         ///< dense, half precision: the denominator of MFU
  bool has_bf16 = true;               ///< false: half precision is fp16 alone
  FlopsPerSecond peak_rate_fp32{};    ///< peak without tensor cores
  FlopsPerSecond peak_rate_fp8{};     ///< 0 if the GPU has no such tensor cores
  FlopsPerSecond peak_rate_fp4{};     ///< 0 if the GPU has no such tensor cores
  /// Rate of large products in half precision once the GPU is at its power limit; 0 if unknown. Tables time
  /// kernels in bursts, at clocks that training cannot sustain.
  FlopsPerSecond sustained_rate{};
  FlopsPerSecond sustained_rate_fp8{};   ///< `sustained_rate` in 8 bits; 0 if unknown
  std::int64_t num_multiprocessors = 0;  ///< streaming multiprocessors of the GPU

  Nanoseconds kernel_overhead{0};      ///< overhead of every kernel without a table
  double gemm_efficiency = 0;          ///< efficiency in a precision without a table
  double batched_gemm_efficiency = 0;  ///< efficiency of batched products without a tile model
  /// Traffic of converting an element of a product's input to 8 bits, in both layouts that products need.
  /// Only traffic that the tables of products do not contain.
  Bytes conversion_traffic{5};
  Bytes conversion_traffic_fp4{5};  ///< traffic of converting to 4 bits
  /// Time of an 8-bit product without fast accumulation (cuBLAS: sums leave the tensor cores), over the
  /// table's time. Frameworks request this in the backward pass.
  double split_accumulation_factor = 1;
  TileModel tiles;                    ///< half precision, on tensor cores
  TileModel tiles_fp32;               ///< single precision, on CUDA cores
  double gemm_memory_efficiency = 0;  ///< bandwidth part reached by memory-bound products, half precision

  // Of kernels that memory bandwidth bounds: the part of it that they reach.
  double elementwise_efficiency = 0;  ///< part reached by element-by-element kernels
  double gelu_efficiency = 0;         ///< part reached by GELU
  double layer_norm_efficiency = 0;   ///< part reached by norms
  double softmax_efficiency = 0;      ///< part reached by the softmax of unfused attention
  double dropout_efficiency = 0;      ///< part reached by dropout
  double optimizer_efficiency = 0;    ///< part reached by the optimizer's update
  Bytes optimizer_traffic{};          ///< traffic per parameter and update
  /// Elements per second and multiprocessor in kernels without vector loads and stores; 0 if unknown.
  double strided_element_rate = 0;

  double latent_attention_forward_rate =
      0;  ///< rate with queries and keys of 192 and values of 128, relative to 128
  double latent_attention_backward_rate = 0;  ///< backward rate with these sizes, relative to 128

  std::int64_t gpus_per_node = 0;  ///< GPUs that share `node_network_bandwidth`
  std::int64_t nvlink_domain = 0;  ///< GPUs that reach each other over NVLink, or else over PCI Express
  BytesPerSecond node_network_bandwidth{};  ///< one way, all adapters of a node
  double network_efficiency = 0;            ///< part of the bandwidth that messages reach
  Nanoseconds network_step_latency{0};      ///< latency of every step of a ring through the network
  Nanoseconds send_latency{0};              ///< latency of a message from one GPU to another
  BytesPerSecond nvlink_bandwidth{};        ///< one GPU, one way
  double nvlink_efficiency = 0;             ///< bandwidth part reached by collectives without a table
  double nvlink_send_efficiency = 0;        ///< bandwidth part reached by messages from one GPU to another
  BytesPerSecond host_bandwidth{};  ///< between a GPU and the memory of its CPU, one way; 0 if unknown
  /// Time in which the CPU issues work, relative to the x86 hosts that stacks assume.
  double host_issue_factor = 1;

  /// ln(time / roofline) of GEMMs by m, n and k; by `Precision`, null if nothing was measured. The roofline
  /// of a product is its arithmetic at the peak rate or its traffic at `memory_bandwidth`, whichever takes
  /// longer.
  std::array<std::shared_ptr<const KernelSurface>, kNumPrecisions> gemm;
  std::array<AttentionRates, kNumAttentionKernels> attention;  ///< rates by `AttentionKernel`
  AttentionBackward attention_backward;  ///< rate of the backward pass, relative to the forward pass
  CollectiveTables collectives;          ///< times within a node or NVLink domain
  CollectiveTables old_collectives;      ///< times with libraries of 2021, if measured
  /// Products of measured shapes; null for none. They take precedence over `gemm`.
  std::shared_ptr<const MeasuredProducts> products;

  /// Dense peak of a precision; 0 if the GPU has no tensor cores for it.
  FlopsPerSecond peak_rate_of(Precision precision) const;
  /// Rate of large products of a precision under the power limit; 0 if unknown.
  FlopsPerSecond sustained_rate_of(Precision precision) const;
  /// The source of a table by its name; empty without such a table.
  std::string_view source_of(std::string_view table) const;
  /// Achieved bandwidth of a node's network.
  BytesPerSecond network_rate() const { return node_network_bandwidth * network_efficiency; }
};

/// Least time of an m x n x k product: its arithmetic at the peak rate or its traffic at the memory's
/// bandwidth, whichever takes longer. Inputs are in `precision` (fp4 with its scales: 0.5625 bytes), outputs
/// have 2 bytes (fp32: 4).
Nanoseconds gemm_roofline(const GpuProfile& profile, Precision precision, double m, double n, double k);

/// Checks that a GPU has arithmetic units for products in `precision`. The error names the formats that it
/// has.
Result<void> check_precision(const GpuProfile& profile, Precision precision);

/// The schema named in a profile's JSON.
inline constexpr std::string_view kProfileSchema = "vtrain-gpu-profile";
/// The version of that schema.
inline constexpr std::int64_t kProfileVersion = 2;

/// The default embedded profile.
inline constexpr std::string_view kDefaultProfile = "a100";

/// Reads a profile of this schema and version. A profile that `extends` an embedded one states only the
/// differences. Measurements of the embedded one are dropped if changed constants mean other hardware:
/// collectives over links of another bandwidth, rates under the power limit of another peak. Other profiles
/// must have every constant that is not optional (constants.cpp). Each constant has the expected unit and a
/// source; an unknown key is an error. `file` is used in errors.
Result<GpuProfile> parse_gpu_profile(std::string text, const std::string& file);

/// The names of the profiles that are part of the program.
std::span<const std::string_view> embedded_profile_names();

/// The embedded profile of a GPU by its name in drivers, schedulers and clouds: `h100` for `H100`, `NVIDIA
/// H100 80GB HBM3` and `nvidia_h100_80gb_hbm3`. Every part of a profile's name must be a word of `gpu`; among
/// several profiles the one with the most parts is chosen. Empty if there is none. Cards of another form
/// (PCIe, NVL) and parts of a GPU (MIG, `1g.10gb`; GRID) need a profile of their own.
std::string_view embedded_profile_of(std::string_view gpu);

/// Name of a profile: `h100`, a path, or either with changed constants,
/// `h100:node_network_bandwidth=400Gbit/s,nvlink_domain=72`.
struct ProfileName {
  std::string base;       ///< the name or path of a profile
  std::string constants;  ///< `name=value` pairs, separated by commas; may be empty
};

/// Splits a name into its parts.
ProfileName split_profile_name(const std::string& name);

/// True if `base` is the path of a profile, not the name of an embedded one. A path has a `/`, ends in
/// `.json` or is the folder of a recording.
bool is_profile_path(const std::string& base);

/// Loads an embedded profile by its name or its GPU's (`embedded_profile_of`), or the profile in a file.
/// Constants that the name changes (`ProfileName`) become part of the profile's own name. The path may also
/// be a recording (`kernel_table.json` or its folder), which extends the embedded profile of its GPU. The
/// error of an unknown name lists the known ones.
///
/// Changed constants also change dependent values. `gpus_per_node` changes the `nvlink_domain` that was a
/// node, or is larger than a new node. Peak rates change the rates under the power limit. `nvlink_bandwidth`
/// changes the measured times of collectives, except their latencies.
Result<GpuProfile> load_gpu_profile(const std::string& name);

/// The nodes of a cluster.
struct NodeShape {
  std::int64_t gpus = 0;             ///< GPUs of one node
  std::int64_t gpus_per_island = 0;  ///< GPUs that NVLink joins; 0: as in the profile's nodes
};

/// Loads a profile for GPUs in these nodes. If the profile's nodes differ, each GPU keeps its part of the
/// network. NVLink joins the GPUs of a node, unless it joins nodes. The name then shows the changes:
/// `h100:gpus_per_node=4,nvlink_domain=4,node_network_bandwidth=200GB/s`.
Result<GpuProfile> load_gpu_profile(const std::string& name, const NodeShape& nodes);

}  // namespace vtrain
