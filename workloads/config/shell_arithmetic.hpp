/// Whole numbers of shell scripts: `$((GPUS_PER_NODE * NUM_NODES))`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace vtrain {

/// Value of a variable by its name, none if it has no whole number.
using ShellNumbers = std::function<std::optional<std::int64_t>(std::string_view)>;

/// The value of an arithmetic expression: numbers, variables, `+ - * / %`, comparisons, `&& || !`, `a ? b :
/// c` and brackets. None for other expressions, for overflow, division by zero and variables without value.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers);

}  // namespace vtrain
