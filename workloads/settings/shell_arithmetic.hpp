/// Whole numbers of shell scripts: `$((GPUS_PER_NODE * NUM_NODES))`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace vtrain {

/// Value of a variable by its name, none if it has no whole number.
using ShellNumbers = std::function<std::optional<std::int64_t>(std::string_view)>;

/// A whole number of at most 10^12 in size; none for other text.
std::optional<std::int64_t> shell_number(std::string_view text);

/// The value of an arithmetic expression: numbers, variables, `+ - * / %`, comparisons, `&& || !`, `a ? b :
/// c` and brackets. None for other expressions, for overflow, division by zero and variables without value.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers);

}  // namespace vtrain
