#include "core/base/utf8.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// The first character of a text.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  ///< bytes; 0: not well-formed UTF-8
};

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3fu);
  }
  // Surrogates, code points beyond Unicode, and code points that a shorter form holds are not well-formed.
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (is_surrogate || too_long || code > 0x10ffff) return {};
  return {code, length};
}

/// Bytes of the first character of `text`, 0 if it is a control character (U+0000 to U+001F, U+007F to
/// U+009F) or not well-formed UTF-8.
std::size_t character_length(std::string_view text) {
  const Character first = first_character(text);
  const bool is_control = first.code < 0x20 || (first.code >= 0x7f && first.code <= 0x9f);
  return is_control ? 0 : first.length;
}

/// Bytes of ASCII that `text` begins with, in steps of a block where it is long.
std::size_t count_ascii(std::string_view text) {
  constexpr std::size_t kBlock = 64;
  std::size_t at = 0;
  for (; text.size() - at >= kBlock; at += kBlock) {
    unsigned char bits = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
      bits = static_cast<unsigned char>(bits | static_cast<unsigned char>(text[at + i]));
    if (bits >= 0x80) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80)
    ++at;
  return at;
}

/// Bytes of well-formed UTF-8 that `text` begins with.
std::size_t count_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    at += count_ascii(text.substr(at));
    if (at == text.size()) break;
    const std::size_t length = first_character(text.substr(at)).length;
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace

std::string_view first_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t end = most;
  while (end > 0 && most - end < 3 && continues(end))
    --end;
  return text.substr(0, continues(end) ? most : end);
}

bool is_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= ' ' && text[i] <= '~') {  // nearly every character
      ++i;
      continue;
    }
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  return count_utf8(text) == text.size();
}

std::string replace_non_utf8(std::string_view text) {
  std::string replaced;
  replaced.reserve(text.size() + 64);
  for (;;) {
    const std::size_t length = count_utf8(text);
    replaced += text.substr(0, length);
    if (length == text.size()) return replaced;
    replaced += kReplacementCharacter;
    text.remove_prefix(length + 1);
  }
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length > 0) {
      shown += text.substr(0, length);
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

}  // namespace vtrain
