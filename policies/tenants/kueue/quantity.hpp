/// Kubernetes quantities as whole numbers of base units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vtrain::kueue {

/// An amount of one resource: thousandths of a CPU, bytes of memory, whole units of everything else.
using Amount = std::int64_t;

/// The largest amount, 2^63 - 1. Sums and products beyond it stay there.
inline constexpr Amount kMostAmount = INT64_MAX;

/// Sum of two amounts, within 64 bits.
inline Amount add_amounts(Amount a, Amount b) {
  Amount sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

/// A number of times an amount, both 0 or more, within 64 bits.
inline Amount multiply(Amount amount, std::int64_t count) {
  Amount product = 0;
  return __builtin_mul_overflow(amount, count, &product) ? kMostAmount : product;
}

/// Base units in one whole unit of a resource: 1000 for `cpu`, else 1.
Amount units_of(std::string_view resource);

/// The value of a Kubernetes quantity (`500m`, `3Gi`, `0.5`, `1e3`) in base units of the resource, rounded up
/// and kept within `kMostAmount` as Kubernetes does. None for another text.
std::optional<Amount> parse_quantity(std::string_view text, std::string_view resource);

/// The number that a quantity states, rounded to a double: weights. None for another text.
std::optional<double> parse_decimal_quantity(std::string_view text);

/// An amount of base units as a quantity that `parse_quantity` reads back exactly.
std::string quantity_text(Amount amount, std::string_view resource);

}  // namespace vtrain::kueue
