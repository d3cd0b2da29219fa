/// Lists of names in messages, and suggestions for a misspelt name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// The name in `known` that is nearest to `word` by edit distance, whatever the case of letters, or empty
/// when none is close.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

/// `a`, `a and b`, `a, b and c`; empty for none.
std::string join_with_and(std::span<const std::string> words);
/// `'edf', 'fifo' and 'las'`-style list for messages.
std::string list_names(std::span<const std::string_view> names);

/// The value of an enumeration by the name at its place in `names`; the error, of this field, lists them.
template <class Value>
Result<Value> parse_name(std::string_view field, std::span<const std::string_view> names,
                         std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Value>(i);
  }
  return fail({.field = std::string(field), .message = expected_found("one of " + list_names(names), name)});
}

/// `did you mean 'edf'?` of the nearest name; of the few names that begin with `word` (three letters or more,
/// in any case) if it is none of these; or else of the few that have `word` within them: `did you mean one of
/// 'llama3-8b' and 'llama3-70b'?`. Empty when there are none, or many.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
/// A complaint about `word`, with `; ` and `did_you_mean` behind it where there is something to say.
std::string with_guess(std::string complaint, std::string_view word, std::span<const std::string_view> known);

/// What to say of a name that is not known: `did_you_mean`, or, when nothing resembles it, `known are 'edf',
/// 'fifo' and 'las'`.
std::string suggest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace vtrain
