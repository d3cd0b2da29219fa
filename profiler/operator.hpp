/// Operators that the profiler measures, as described in SCHEMA.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vtrain::profiler {

enum class OperatorKind : std::uint8_t {
  Gemm,
  Attention,
  Softmax,
  LayerNorm,
  RmsNorm,
  Gelu,
  Swiglu,
  Dropout,
  ResidualAdd,
  Rotary,
  Quantize,
  Embedding,
  CrossEntropy,
  Adam
};

enum class Pass : std::uint8_t { Forward, Backward, DataGradient, WeightGradient, Update };

/// The format of an operator's inputs.
enum class Format : std::uint8_t { Bf16, Fp16, Fp8 };

/// Variant of one operator's implementations. `SameOutput` and `Fp32Output` are for weight gradients: they
/// overwrite 16-bit gradients, or add to fp32 ones.
enum class Variant : std::uint8_t { None, SameOutput, Fp32Output, Fused, Unfused };

/// The names that the table uses.
std::string_view name_of(OperatorKind kind);
std::string_view name_of(Pass pass);
std::string_view name_of(Format format);
/// The format `bf16`, `fp16` or `fp8`; `InputError` for another name.
Format parse_format(std::string_view name);

/// One size of an operator. Its name is a literal.
struct Size {
  std::string_view name;
  std::int64_t value = 1;

  friend bool operator==(const Size&, const Size&) = default;
};

/// One operator of one shape. The functions below make it, with the sizes in the table's order.
struct Operator {
  OperatorKind kind = OperatorKind::Gemm;
  Pass pass = Pass::Forward;
  Format format = Format::Bf16;
  Variant variant = Variant::None;
  std::vector<Size> sizes;

  /// A size by name; `std::logic_error` if the operator has none of that name.
  std::int64_t size(std::string_view name) const;
  friend bool operator==(const Operator&, const Operator&) = default;
};

/// The product of an m x k and a k x n matrix. `variant` is for weight gradients alone.
Operator make_gemm(Pass pass, Format format, std::int64_t m, std::int64_t n, std::int64_t k,
                   Variant variant = Variant::None);

/// Causal attention of the heads of one GPU.
struct AttentionSize {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t key_value_heads = 1;
  std::int64_t sequence = 1;
  std::int64_t head_size = 1;
};
Operator make_attention(Pass pass, Format format, Variant variant, const AttentionSize& size);

/// An operator that works element by element or row by row.
Operator make_rows(OperatorKind kind, Pass pass, Format format, std::int64_t rows, std::int64_t columns);
Operator make_rotary(Format format, std::int64_t rows, std::int64_t columns, std::int64_t head_size);
Operator make_embedding(Pass pass, Format format, std::int64_t rows, std::int64_t columns,
                        std::int64_t vocabulary);
Operator make_adam(Format format, std::int64_t elements);

/// Name of the variant in the table: `fused`, `out=fp32`, `out=bf16`; empty without one.
std::string variant_name(const Operator& op);
/// Key of an operator in the table.
std::string key_of(const Operator& op);

/// Multiplications and additions of the products; 0 without products.
double flops_of(const Operator& op);
/// Bytes of every input and output, counted once.
double traffic_of(const Operator& op);
/// The tensors that an operator needs on the device, in bytes and in the order of its runner (see
/// operator_memory.cpp).
std::vector<std::size_t> buffers_of(const Operator& op);

}  // namespace vtrain::profiler
