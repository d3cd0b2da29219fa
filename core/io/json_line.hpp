/// JSON lines: one flat object per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// A key of the object with the text of its value: a number as written, a string without its quotes, empty
/// for null.
struct JsonLineValue {
  std::string key{};
  std::string text{};
};

/// The keys and values of one line, in their order. Error: a line that is no object of numbers, strings and
/// nulls, with the key. The caller adds file and line.
Result<std::vector<JsonLineValue>> parse_json_line(std::string_view line);

/// The position after the first key of this name and its colon, at any depth; npos without one. A string
/// without a following colon is no key. The text may be incomplete or malformed.
std::size_t find_json_key(std::string_view text, std::string_view key);

/// True if a text begins with an object, as JSON lines do and CSV does not. A byte-order mark and blanks may
/// precede it.
bool begins_with_object(std::string_view text);

}  // namespace vtrain
