/// JSON lines: one flat object a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// A key of the object with the text of its value: a number as written, a string without its quotes, nothing
/// for null.
struct JsonLineValue {
  std::string key{};
  std::string text{};
};

/// The keys and values of one line, in their order. The error of a line that is no object of numbers, strings
/// and nulls has the key at which; the caller adds file and line.
Result<std::vector<JsonLineValue>> parse_json_line(std::string_view line);

/// The position behind the first key of this name and its colon, at any depth; npos where there is none. A
/// string with that text, which no colon follows, is none. The text need not be whole or well-formed.
std::size_t find_json_key(std::string_view text, std::string_view key);

/// Whether a text begins with an object, as JSON lines do and no CSV does. A byte-order mark and blanks may
/// come before.
bool begins_with_object(std::string_view text);

}  // namespace vtrain
