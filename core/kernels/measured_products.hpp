/// Matrix products whose very shape was measured on a GPU.
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

/// Which of a linear layer's products one is. Forward passes and gradients of inputs are `Plain`; gradients
/// of weights add to what is in memory.
enum class ProductKind : std::uint8_t { Plain, WeightGradient };

/// Measured times by shape. Immutable once it is in a profile, so that copies may share it.
class MeasuredProducts {
 public:
  /// m, n and k of an m x k and a k x n matrix.
  using Shape = std::array<std::int64_t, 3>;

  /// Adds a product; of several times of a shape the mean counts.
  void add(Precision precision, ProductKind kind, const Shape& shape, Nanoseconds time);
  /// The time of this very shape; nothing if it was not measured.
  std::optional<Nanoseconds> time(Precision precision, ProductKind kind, const Shape& shape) const;

  /// The times of one shape.
  struct Times {
    Nanoseconds sum{0};
    std::int64_t count = 0;
    Nanoseconds mean() const { return sum / static_cast<double>(count); }
  };
  /// Products in the order of their shapes.
  using ByShape = std::map<Shape, Times>;
  /// All of a precision and kind.
  const ByShape& of(Precision precision, ProductKind kind) const {
    return products_[static_cast<std::size_t>(precision)][static_cast<std::size_t>(kind)];
  }
  /// Whether nothing was added.
  bool empty() const;

 private:
  std::array<std::array<ByShape, 2>, kNumPrecisions> products_;
};

/// Reads `{"bf16": {"source": "...", "plain": [[m, n, k, ns], ...], "weight_gradient": [...]}, ...}`; either
/// list may be absent.
Result<MeasuredProducts> read_products(const JsonDocument& document, const nlohmann::json& object);

}  // namespace vtrain
