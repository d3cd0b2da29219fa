/// Lists of names in messages, and suggestions for a misspelt name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// The name in `known` that is nearest to `word` by edit distance, ignoring case; empty if none is close.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

/// `a`, `a and b`, `a, b and c`; empty for none.
std::string join_with_and(std::span<const std::string> words);
/// `'edf', 'fifo' and 'las'`-style list for messages.
std::string list_names(std::span<const std::string_view> names);

/// The value of an enumeration whose position in `names` has this name. The error, of this field, lists the
/// names.
template <class Value>
Result<Value> parse_name(std::string_view field, std::span<const std::string_view> names,
                         std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Value>(i);
  }
  return fail({.field = std::string(field), .message = expected_found("one of " + list_names(names), name)});
}

/// Suggestion for a misspelt name: `did you mean 'edf'?` for the nearest name. If the nearest is not among
/// the few names that begin with `word` (three letters or more, in any case), these are suggested. Without
/// any of these, the few names that contain `word`: `did you mean one of 'llama3-8b' and 'llama3-70b'?`.
/// Empty for no or many names.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
/// A complaint about `word`, followed by `; ` and `did_you_mean` if that is not empty.
std::string with_guess(std::string complaint, std::string_view word, std::span<const std::string_view> known);

/// Hint on an unknown name: `did_you_mean`, or, if no name is similar, `known are 'edf', 'fifo' and 'las'`.
std::string suggest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace vtrain
