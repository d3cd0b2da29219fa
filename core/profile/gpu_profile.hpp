/// What is known of a GPU and of the node it sits in: the constants of the physical predictor, each with its
/// source, and measured times of kernels and collectives.
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
  std::string name;
  double value = 0;
  std::string unit;    ///< `B`, `B/s`, `FLOP/s`, `1/s`, `ns`, or `1` for a ratio or a count
  std::string source;  ///< where the value comes from, or why it is assumed
};

/// One group of measured times as the profile states it. Errors are per cent, negative where not stated.
struct ProfileTable {
  /// `gemm bf16`, `products bf16`, `attention flash2`, `attention_backward`, `collectives all_reduce`,
  /// `old_collectives all_reduce`
  std::string name;
  std::string source;
  std::int64_t num_points = 0;  ///< measured times behind it
  /// Mean difference of the measured times from the profile's; where several measurements of a shape were
  /// averaged, their spread.
  double spread_percent = -1;
  /// Mean error when a line of the grid is left out and predicted from its neighbours: that of interpolation.
  double left_out_error_percent = -1;
  /// Mean error that rounding and thinning out the table for the profile has added.
  double compaction_error_percent = -1;
};

/// Generations of attention kernels; which one runs is a property of the software. `Unfused` writes the
/// scores to memory.
enum class AttentionKernel : std::uint8_t { Unfused, Flash1, Flash2, Flash3 };
/// How many of them there are.
inline constexpr std::size_t kNumAttentionKernels = 4;

/// `unfused`, `flash1`, `flash2`, `flash3`.
std::string_view name_of(AttentionKernel kernel);

/// How fast the forward pass of a generation of flash attention is: the logarithm of FLOP/s (of the lower
/// half of the scores) by head size, sequence length, and heads times micro-batch.
struct AttentionRates {
  std::shared_ptr<const KernelSurface> log_rate;  ///< null if nothing is known
  bool assumed = false;                           ///< taken from another generation or GPU by a factor
};

/// Rate of the backward pass relative to the forward pass, by heads x micro-batch x sequence / 4096: how many
/// blocks there are to work on. Linear in the logarithm of that, constant outside.
class AttentionBackward {
 public:
  AttentionBackward() = default;
  /// Rising `work` and as many ratios; `std::logic_error` otherwise.
  AttentionBackward(std::vector<double> work, std::vector<double> ratio);
  /// 1 if nothing is known.
  double relative_rate(double heads_times_sequence) const;
  /// The nodes: rising work, and the rates at it.
  const std::vector<double>& work() const { return work_; }
  const std::vector<double>& ratio() const { return ratio_; }

 private:
  std::vector<double> work_;
  std::vector<double> log_work_;
  std::vector<double> ratio_;
};

/// Constants of the tile model of matrix products: the output is cut into tiles, of which each multiprocessor
/// computes one at a time.
struct TileModel {
  FlopsPerSecond rate{};      ///< of the whole GPU, reference tile, waves full; 0 without the model
  double depth_overhead = 0;  ///< prologue and epilogue of a tile, in units of K
  /// Rate of a tile relative to `rate`, for tiles of 32768, 16384, 8192 and 4096 elements.
  std::array<double, 4> efficiency{1, 1, 1, 1};
  std::int64_t batched_side = 1;  ///< no side of a tile of several products at once is shorter
};

/// A GPU type. Efficiencies are fractions of the peak or bandwidth they belong to. Copies share the tables.
struct GpuProfile {
  std::string name;       ///< with the constants that were changed where it was named (`ProfileName`)
  std::string base_name;  ///< without them
  std::string description;
  std::string made_by;                     ///< the command line that wrote the profile, or empty
  std::vector<ProfileConstant> constants;  ///< all constants, in the order of the known names
  std::vector<ProfileTable> tables;

  Bytes memory_capacity{};  ///< usable by a training process
  Bytes memory_reserve{};   ///< of that, taken by the libraries
  BytesPerSecond memory_bandwidth{};
  FlopsPerSecond peak_rate{};       ///< dense, half precision: the denominator of MFU
  bool has_bf16 = true;             ///< else half precision is fp16 alone
  FlopsPerSecond peak_rate_fp32{};  ///< without tensor cores
  FlopsPerSecond peak_rate_fp8{};   ///< 0 if the GPU has no such tensor cores
  FlopsPerSecond peak_rate_fp4{};   ///< likewise
  /// What large products keep up once the GPU has reached its power limit, half precision; 0 if unknown.
  /// Tables time kernels in bursts, at clocks that a training run does not hold.
  FlopsPerSecond sustained_rate{};
  FlopsPerSecond sustained_rate_fp8{};  ///< likewise
  std::int64_t num_multiprocessors = 0;

  Nanoseconds kernel_overhead{0};      ///< of every kernel without a table
  double gemm_efficiency = 0;          ///< of a precision without a table
  double batched_gemm_efficiency = 0;  ///< without a tile model
  /// Traffic of turning an element of a product's input into 8 bits, in both layouts that products need,
  /// beyond what the tables of products contain.
  Bytes conversion_traffic{5};
  Bytes conversion_traffic_fp4{5};  ///< likewise into 4 bits
  /// Time of a product in 8 bits whose sums leave the tensor cores as it goes on (cuBLAS: no fast
  /// accumulation), which frameworks ask for in the backward pass, over one of the table.
  double split_accumulation_factor = 1;
  TileModel tiles;                    ///< half precision, on tensor cores
  TileModel tiles_fp32;               ///< single precision, on CUDA cores
  double gemm_memory_efficiency = 0;  ///< of products in half precision that memory bounds

  // Of kernels that memory bandwidth bounds: the part of it that they reach.
  double elementwise_efficiency = 0;
  double gelu_efficiency = 0;
  double layer_norm_efficiency = 0;
  double softmax_efficiency = 0;
  double dropout_efficiency = 0;
  double optimizer_efficiency = 0;
  Bytes optimizer_traffic{};  ///< per parameter and update
  /// Elements a second that one multiprocessor handles in kernels that do not read and write in vectors;
  /// 0 if unknown.
  double strided_element_rate = 0;

  double latent_attention_forward_rate = 0;   ///< queries and keys of 192 and values of 128, relative to 128
  double latent_attention_backward_rate = 0;  ///< likewise

  std::int64_t gpus_per_node = 0;  ///< that share `node_network_bandwidth`
  std::int64_t nvlink_domain = 0;  ///< GPUs that reach each other over NVLink, or else over PCI Express
  BytesPerSecond node_network_bandwidth{};  ///< one way, all adapters of a node
  double network_efficiency = 0;            ///< the part of that which messages reach
  Nanoseconds network_step_latency{0};      ///< of every step of a ring through the network
  Nanoseconds send_latency{0};              ///< of a message from one GPU to another
  BytesPerSecond nvlink_bandwidth{};        ///< one GPU, one way
  double nvlink_efficiency = 0;             ///< of collectives without a table
  double nvlink_send_efficiency = 0;        ///< of messages from one GPU to another
  BytesPerSecond host_bandwidth{};  ///< between a GPU and the memory of its CPU, one way; 0 if unknown
  /// Time in which the CPU issues work, over that of the x86 hosts for which stacks say it.
  double host_issue_factor = 1;

  /// ln(time / roofline) of GEMMs by m, n and k; by `Precision`, null where nothing was measured. The
  /// roofline of a product is its arithmetic at the peak rate or its traffic at `memory_bandwidth`.
  std::array<std::shared_ptr<const KernelSurface>, kNumPrecisions> gemm;
  std::array<AttentionRates, kNumAttentionKernels> attention;  ///< by `AttentionKernel`
  AttentionBackward attention_backward;
  CollectiveTables collectives;      ///< within a node or NVLink domain
  CollectiveTables old_collectives;  ///< the same with libraries of 2021, as far as they were measured
  /// Products whose very shape was measured; null for none. They go before `gemm`.
  std::shared_ptr<const MeasuredProducts> products;

  /// Dense peak of a precision; 0 if the GPU has no tensor cores for it.
  FlopsPerSecond peak_rate_of(Precision precision) const;
  /// What large products of a precision keep up under the power limit; 0 if unknown.
  FlopsPerSecond sustained_rate_of(Precision precision) const;
  /// The source of a table by its name; empty without such a table.
  std::string_view source_of(std::string_view table) const;
  /// What a node's network really moves a second.
  BytesPerSecond network_rate() const { return node_network_bandwidth * network_efficiency; }
};

/// The least time of an m x n x k product: its arithmetic at the peak rate or its traffic at the memory's
/// bandwidth, inputs in `precision` (fp4 with its scales: 0.5625 bytes) and 2-byte outputs (fp32: 4).
Nanoseconds gemm_roofline(const GpuProfile& profile, Precision precision, double m, double n, double k);

/// Whether a GPU has arithmetic units for products in `precision`; the error names the formats that it has.
Result<void> check_precision(const GpuProfile& profile, Precision precision);

/// The schema that a profile's JSON says it is of.
inline constexpr std::string_view kProfileSchema = "vtrain-gpu-profile";
/// The version of that schema.
inline constexpr std::int64_t kProfileVersion = 2;

/// The embedded profile that is taken where nothing names one.
inline constexpr std::string_view kDefaultProfile = "a100";

/// Reads a profile of this schema and version. A profile that `extends` another, embedded one says only what
/// differs. What was measured of that one does not hold where other constants say that the hardware differs:
/// collectives over links of another bandwidth, rates under the power limit of another peak. Otherwise every
/// constant must be there that is not optional (profile_constants.cpp). Each has the expected unit and a
/// source; an unknown key is an error. `file` is used in errors.
Result<GpuProfile> parse_gpu_profile(std::string text, const std::string& file);

/// The names of the profiles that are part of the program.
std::span<const std::string_view> embedded_profile_names();

/// The embedded profile of a GPU by what drivers, schedulers and clouds call it: `h100` for `H100`,
/// `NVIDIA H100 80GB HBM3` and `nvidia_h100_80gb_hbm3`. Every part of a profile's name is a word of `gpu`; of
/// several profiles the one with the most parts is taken. Empty if there is none, also for a card of another
/// form (PCIe, NVL) and for a part of a GPU (MIG, `1g.10gb`; GRID) without a profile of its own.
std::string_view embedded_profile_of(std::string_view gpu);

/// What names a profile: `h100`, the path of one, or either with constants that differ,
/// `h100:node_network_bandwidth=400Gbit/s,nvlink_domain=72`.
struct ProfileName {
  std::string base;       ///< the name or path of a profile
  std::string constants;  ///< `name=value` pairs, separated by commas; may be empty
};

/// Takes a name apart.
ProfileName split_profile_name(const std::string& name);

/// Whether `base` is the path of a profile (it has a `/`, ends in `.json` or is the folder of a recording),
/// and not the name of an embedded one.
bool is_profile_path(const std::string& base);

/// An embedded profile by its name or that of its GPU (`embedded_profile_of`), or the profile in a file, with
/// the constants that the name changes (`ProfileName`), which are then part of the profile's own name. A
/// recording (`kernel_table.json`, or the folder that has one) is a path as well: it extends the embedded
/// profile of its GPU. An unknown name is an error that lists the known ones.
///
/// Constants that are given take along what follows from them: `gpus_per_node` the `nvlink_domain`, where
/// that was a node or is larger than one of the new ones; peak rates those under the power limit;
/// `nvlink_bandwidth` the measured times of collectives, but for their latencies.
Result<GpuProfile> load_gpu_profile(const std::string& name);

/// The nodes of a cluster.
struct NodeShape {
  std::int64_t gpus = 0;
  std::int64_t gpus_per_island = 0;  ///< that NVLink joins; 0: as in nodes of the profile
};

/// The same of GPUs in these nodes. Where the profile's are others, each GPU keeps its part of the network
/// and NVLink joins the GPUs of a node, unless it joins nodes; the name then says so:
/// `h100:gpus_per_node=4,nvlink_domain=4,node_network_bandwidth=200GB/s`.
Result<GpuProfile> load_gpu_profile(const std::string& name, const NodeShape& nodes);

}  // namespace vtrain
