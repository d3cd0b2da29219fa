/// Operators of one transformer, split over GPUs, that one GPU runs in a training iteration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// Parts of the layers. `Gpt`: layer norm, GELU, multi-head attention, dropout. `Llama`: RMS norm, gated
/// SiLU, grouped queries, rotary positions, no dropout.
enum class Family : std::uint8_t { Gpt, Llama };

/// `gpt`, `llama`.
std::string_view name_of(Family family);
/// The family of a name; `InputError` for an unknown name.
Family parse_family(std::string_view name);

/// One model with one split. Sizes are those of the whole model; `tensor` GPUs share a layer. `heads`,
/// `key_value_heads`, `ffn_hidden` and `vocabulary` are divisible by `tensor`. If there are fewer key-value
/// heads than GPUs, each GPU has one.
struct ModelPoint {
  Family family = Family::Gpt;
  std::int64_t hidden = 1024;
  std::int64_t heads = 8;
  std::int64_t key_value_heads = 8;
  std::int64_t ffn_hidden = 4096;
  std::int64_t vocabulary = 51200;
  std::int64_t sequence = 2048;
  std::int64_t micro_batch = 1;
  std::int64_t tensor = 1;
  /// Norms, dropout and residuals work on 1 / `tensor` of the tokens.
  bool sequence_parallel = false;
  Format format = Format::Bf16;  ///< format of the layers' linear products; with fp8 everything else is bf16
  Variant gradients = Variant::Fp32Output;
  Variant attention = Variant::Fused;
};

/// The operators of one part of a model in the order in which they run.
struct PartOperators {
  std::string_view name;  ///< name in kernel traces: `embeddings`, `transformer`, `logit`, `loss`
  std::vector<Operator> forward;
  std::vector<Operator> backward;
  std::vector<Operator> update;  ///< empty if another part's weights are shared, or without weights
};

/// Parts of a model: embedding, one layer, head (with the final norm) and loss.
std::vector<PartOperators> parts_of(const ModelPoint& point);

/// Reason that these sizes do not make a model (a size is not divisible by another), or an empty text.
std::string find_fault(const ModelPoint& point);

}  // namespace vtrain::profiler
