/// UTF-8 that may be shown on a terminal or in a JSON document.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vtrain {

/// Whether `text` is well-formed UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F).
bool is_printable(std::string_view text);
/// `text` with every byte that `is_printable` would refuse as `\xNN`.
std::string printable(std::string_view text);
/// Whether `text` is well-formed UTF-8; control characters are. About 20 GB/s where it is ASCII.
bool is_utf8(std::string_view text);
/// `text` with U+FFFD for every byte that is no part of well-formed UTF-8, as in names of other encodings.
std::string replace_non_utf8(std::string_view text);
/// What stands in for a byte that is no UTF-8: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";
/// The beginning of `text`, at most `most` bytes: no character is cut.
std::string_view first_bytes(std::string_view text, std::size_t most);

}  // namespace vtrain
