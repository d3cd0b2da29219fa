/// Checks of whole numbers, for models and plans.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// Checks that `value` is from `low` to `high`; the error names `field`.
Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t high, std::int64_t low = 1);

/// Checks that `divisor` divides `value`; the error names `field` and calls the value `what`.
Result<void> check_divides(std::string_view field, std::int64_t divisor, std::string_view what,
                           std::int64_t value);

/// The product, if 64 bits hold it.
std::optional<std::int64_t> product(std::initializer_list<std::int64_t> factors);

/// The first error of a list of checks.
Result<void> first_error(std::initializer_list<Result<void>> checks);

}  // namespace vtrain
