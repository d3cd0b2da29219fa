#include "workloads/model/size_checks.hpp"

#include <string>

#include <fmt/format.h>

namespace vtrain {

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t high, std::int64_t low) {
  if (value >= low && value <= high) return {};
  return fail({.field = std::string(field),
               .message = expected_found(fmt::format("a whole number from {} to {}", low, high),
                                         std::to_string(value))});
}

Result<void> check_divides(std::string_view field, std::int64_t divisor, std::string_view what,
                           std::int64_t value) {
  if (value % divisor == 0) return {};
  return fail({.field = std::string(field),
               .message = expected_found(fmt::format("a divisor of the {} {}", value, what),
                                         std::to_string(divisor))});
}

std::optional<std::int64_t> product(std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  }
  return result;
}

Result<void> first_error(std::initializer_list<Result<void>> checks) {
  for (const Result<void>& check : checks) {
    if (!check) return check;
  }
  return {};
}

}  // namespace vtrain
