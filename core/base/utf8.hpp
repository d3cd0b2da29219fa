/// UTF-8 that may be shown on a terminal or in a JSON document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vtrain {

/// True if `text` is well-formed UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F). Names
/// must be.
bool is_plain_text(std::string_view text);

/// True if a terminal shows `text` unchanged: plain text without characters that are invisible or change the
/// order of others. Such characters are the bidirectional controls (U+061C, U+200E, U+200F, U+202A to U+202E,
/// U+2066 to U+2069). So are the separators of lines and paragraphs (U+2028, U+2029) and the byte-order mark
/// (U+FEFF).
bool is_printable(std::string_view text);

/// `text` for people, wherever it is shown: control characters and invalid UTF-8 become `\xNN`, other
/// characters that `is_printable` rejects become `\uNNNN`. Characters of `keep`, all below U+0080, stay.
std::string printable(std::string_view text, std::string_view keep = {});

/// A JSON text with unprintable characters in its strings replaced by escapes `\uNNNN`; the meaning is
/// unchanged. Line feeds and invalid UTF-8 stay.
std::string printable_json(std::string_view text);

/// True if `text` is well-formed UTF-8; control characters are allowed. About 20 GB/s for ASCII.
bool is_utf8(std::string_view text);
/// `text` with U+FFFD for every byte that is not part of well-formed UTF-8, as in names of other encodings.
std::string replace_non_utf8(std::string_view text);
/// Replacement for a byte of invalid UTF-8: U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

/// The beginning of `text`, at most `most` bytes: no character is cut.
std::string_view first_bytes(std::string_view text, std::size_t most);

}  // namespace vtrain
