/// Conditions of shell scripts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "workloads/settings/shell_text.hpp"

namespace vtrain {

/// Truth of a condition; none if it depends on something unknown.
using Truth = std::optional<bool>;

/// Truth of the words of a test, as in `[ a = b ]`, without the brackets. Files are not looked at.
Truth shell_test(const std::vector<ShellText>& words);

/// True if a text matches a pattern with `*` and `?`.
bool matches_shell_pattern(std::string_view pattern, std::string_view text);

}  // namespace vtrain
