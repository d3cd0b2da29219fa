#include "core/base/utf8.hpp"

#include <algorithm>

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

/// Number of ASCII bytes at the beginning of `text`; long texts are checked block by block.
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

/// Number of bytes of well-formed UTF-8 at the beginning of `text`.
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

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/// Characters that are invisible, or that change the order of others.
bool is_hidden(std::uint32_t code) {
  const auto is_within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return code == 0x061c || is_within(0x200e, 0x200f) || is_within(0x2028, 0x202e) ||
         is_within(0x2066, 0x2069) || code == 0xfeff;
}

/// True if every character of a text is well-formed and none is refused.
template <class Refuses>
bool all_characters(std::string_view text, const Refuses& refuses) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= ' ' && text[i] <= '~') {  // nearly every character
      ++i;
      continue;
    }
    const Character character = first_character(text.substr(i));
    if (character.length == 0 || refuses(character.code)) return false;
    i += character.length;
  }
  return true;
}

/// `text` with each refused character, and each byte of invalid UTF-8, replaced by `replace(character, its
/// bytes)`.
template <class Refuses, class Replace>
std::string replaced_characters(std::string_view text, const Refuses& refuses, const Replace& replace) {
  if (all_characters(text, refuses)) return std::string(text);
  std::string replaced;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(character.length, 1));
    if (character.length > 0 && !refuses(character.code)) {
      replaced += bytes;
    } else {
      replaced += replace(character, bytes);
    }
    text.remove_prefix(bytes.size());
  }
  return replaced;
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

bool is_plain_text(std::string_view text) {
  return all_characters(text, is_control);
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

bool is_printable(std::string_view text) {
  return all_characters(text, [](std::uint32_t code) { return is_control(code) || is_hidden(code); });
}

std::string printable(std::string_view text, std::string_view keep) {
  const auto is_refused = [keep](std::uint32_t code) {
    const bool is_kept = code < 0x80 && keep.find(static_cast<char>(code)) != std::string_view::npos;
    return is_hidden(code) || (is_control(code) && !is_kept);
  };
  return replaced_characters(text, is_refused, [](const Character& character, std::string_view bytes) {
    if (character.length > 0 && is_hidden(character.code)) return fmt::format("\\u{:04x}", character.code);
    std::string shown;
    for (const char byte : bytes)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return shown;
  });
}

std::string printable_json(std::string_view text) {
  const auto is_refused = [](std::uint32_t code) {
    return code != '\n' && (is_control(code) || is_hidden(code));
  };
  return replaced_characters(text, is_refused, [](const Character& character, std::string_view bytes) {
    return character.length > 0 ? fmt::format("\\u{:04x}", character.code) : std::string(bytes);
  });
}

}  // namespace vtrain
