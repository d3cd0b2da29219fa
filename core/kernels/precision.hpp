/// Number formats of matrix products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// The format of a matrix product's inputs. With `Fp8` and `Fp4` the rest of the model (attention, norms,
/// communication of activations) stays in bf16, as in Transformer Engine.
enum class Precision : std::uint8_t {
  Fp32,  ///< single precision
  Fp16,  ///< IEEE half precision
  Bf16,  ///< half precision with the exponent of fp32
  Fp8,   ///< floating point of 8 bits
  Fp4    ///< floating point of 4 bits
};
/// Number of precisions.
inline constexpr std::size_t kNumPrecisions = 5;

/// Bytes of an element of activations, weights, their gradients and their communication: 4 in single
/// precision, else 2.
constexpr double element_bytes(Precision precision) {
  return precision == Precision::Fp32 ? 4 : 2;
}

/// Bytes of an element of a matrix product's inputs, without scaling factors.
constexpr double product_input_bytes(Precision precision) {
  if (precision == Precision::Fp4) return 0.5;
  return precision == Precision::Fp8 ? 1 : element_bytes(precision);
}

/// `fp32`, `fp16`, `bf16`, `fp8`, `fp4`.
std::string_view name_of(Precision precision);
/// All names, in the order of `Precision`.
std::span<const std::string_view> precision_names();
/// The precision of a name; the error lists the known names.
Result<Precision> parse_precision(std::string_view name);

}  // namespace vtrain
