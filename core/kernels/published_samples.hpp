/// Readers of published tables of measured GPU kernels and collectives, the raw material of GPU profiles. The
/// tables are CSV text, unpacked; `file` is used in errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/collective_table.hpp"
#include "core/kernels/precision.hpp"

namespace vtrain {

/// One measured product of an m x k and a k x n matrix.
struct GemmSample {
  Precision precision = Precision::Bf16;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  Nanoseconds time{0};
};

/// AIConfigurator's `gemm_perf` (columns `gemm_dtype`, `m`, `n`, `k`, `latency` in ms). Both kinds of fp8
/// scaling count as fp8, fp16 as bf16, nvfp4 as fp4. Error: another type.
Result<std::vector<GemmSample>> parse_gemm_table(std::string_view text, const std::string& file);

/// One measured forward pass of causal attention.
struct AttentionSample {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  std::int64_t heads = 1;
  std::int64_t key_value_heads = 1;
  std::int64_t head_size = 1;
  Nanoseconds time{0};
};

/// AIConfigurator's `context_attention_perf` (columns `batch_size`, `isl`, `num_heads`,
/// `num_key_value_heads`, `head_dim`, `attn_dtype`, `kv_cache_dtype`, `latency` in ms, and optionally
/// `window_size` and `step`). Rows that do not occur in training are left out: a sliding window, a filled
/// cache, and types other than 16 bit.
Result<std::vector<AttentionSample>> parse_attention_table(std::string_view text, const std::string& file);

/// One measured collective; `bytes` is the whole tensor.
struct CollectiveSample {
  Collective collective = Collective::AllReduce;
  std::int64_t num_gpus = 2;
  std::int64_t bytes = 1;
  Nanoseconds time{0};
};

/// AIConfigurator's `nccl_perf` (columns `op_name`, `nccl_dtype`, `num_gpus`, `message_size` in elements,
/// `latency` in ms). Only rows of type half are used; rows of int8 repeat them.
Result<std::vector<CollectiveSample>> parse_nccl_table(std::string_view text, const std::string& file);

/// An all-reduce table of the public vTrain release, for the number of GPUs in its name
/// (`AR_GPU8_1M_1024M_LUT`).
Result<std::vector<CollectiveSample>> parse_all_reduce_table(std::string_view text, const std::string& file);

/// One operator of SimuMax's efficiency tables: achieved over peak FLOP/s of one shape.
struct OperatorSample {
  std::string op;     ///< `matmul`, `group_matmul`, `sdp_fwd`, `sdp_bwd`
  std::string shape;  ///< `key=value` pairs, joined by a comma and a blank
  double efficiency = 0;

  /// A whole number of the shape, or 0 without such a key.
  std::int64_t size(std::string_view key) const;
};

/// SimuMax's operator efficiencies (columns `op`, `shape`, `efficiency`).
Result<std::vector<OperatorSample>> parse_operator_table(std::string_view text, const std::string& file);

}  // namespace vtrain
