/// Matrix products of shapes that were measured on a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/precision.hpp"

namespace vtrain {

class JsonDocument;

/// Kind of a linear layer's product. Forward passes and gradients of inputs are `Plain`; gradients of weights
/// are added to memory.
enum class ProductKind : std::uint8_t { Plain, WeightGradient };

/// Measured times by shape. Immutable within a profile, so that copies may share it.
class MeasuredProducts {
 public:
  /// Sizes m, n and k of the product of an m x k and a k x n matrix.
  using Shape = std::array<std::int64_t, 3>;

  /// Adds a product; several times of one shape are averaged.
  void add(Precision precision, ProductKind kind, const Shape& shape, Nanoseconds time);
  /// Measured time of this shape; none if it was not measured.
  std::optional<Nanoseconds> time(Precision precision, ProductKind kind, const Shape& shape) const;

  /// The times of one shape.
  struct Times {
    Nanoseconds sum{0};
    std::int64_t count = 0;
    Nanoseconds mean() const { return sum / static_cast<double>(count); }
  };
  /// Products in the order of their shapes.
  using ByShape = std::map<Shape, Times>;
  /// All products of a precision and kind.
  const ByShape& of(Precision precision, ProductKind kind) const {
    return products_[static_cast<std::size_t>(precision)][static_cast<std::size_t>(kind)];
  }
  /// True if nothing was added.
  bool empty() const;

 private:
  std::array<std::array<ByShape, 2>, kNumPrecisions> products_;
};

/// Reads `{"bf16": {"source": "...", "plain": [[m, n, k, ns], ...], "weight_gradient": [...]}, ...}`; either
/// list may be absent.
Result<MeasuredProducts> read_products(const JsonDocument& document, const nlohmann::json& object);

}  // namespace vtrain
