#include "core/base/utf8.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace vtrain {
namespace {

TEST_CASE("utf8: the beginning of a text cuts no character") {
  CHECK(first_bytes("abc", 3) == "abc");
  CHECK(first_bytes("abcd", 3) == "abc");
  const std::string accents = "\u00e9\u00e9\u00e9";  // of two bytes each
  CHECK(first_bytes(accents, 6) == accents);
  CHECK(first_bytes(accents, 5) == "\u00e9\u00e9");
  CHECK(first_bytes(accents, 4) == "\u00e9\u00e9");
  CHECK(first_bytes("a\U0001f600b", 4) == "a");
  CHECK(first_bytes("a\U0001f600b", 5) == "a\U0001f600");
  // Bytes that are no UTF-8 are cut anywhere.
  CHECK(first_bytes("\x80\x80\x80\x80\x80\x80", 5).size() == 5);
  CHECK(first_bytes("", 0).empty());
}

TEST_CASE("utf8: control characters are not printable, also those of two bytes") {
  for (const std::string_view text : {"\x1b[2J", "\x7f", "\xc2\x80",
                                      "\xc2\x9b"
                                      "2J",
                                      "\xc2\x9f"}) {
    CAPTURE(text);
    CHECK_FALSE(is_printable(text));
  }
  CHECK_FALSE(is_plain_text("\x1b[2J"));
  CHECK(is_printable("\xc2\xa0\xc3\xa9 \xe2\x86\x92"));
  CHECK(printable("a\xc2\x9b"
                  "2J") == "a\\xc2\\x9b2J");
}

TEST_CASE("utf8: bytes of other encodings are replaced, one by one") {
  const std::string ascii(200, 'x');
  for (const std::string& good :
       {std::string(), ascii, ascii + "\u00e9\U0001f600\n\x1b" + ascii, std::string("a\0b", 3)}) {
    CHECK(is_utf8(good));
    CHECK(replace_non_utf8(good) == good);
  }
  // Latin-1, a cut character, a surrogate, a long form of '/' and a code point beyond Unicode.
  for (const std::string bad : {"\xf6", "\xe2\x86", "\xed\xa0\x80", "\xc0\xaf", "\xf5\x80\x80\x80"}) {
    CAPTURE(printable(bad));
    std::string replaced;
    for (std::size_t i = 0; i < bad.size(); ++i)
      replaced += kReplacementCharacter;
    const std::string text = ascii + bad;
    CHECK_FALSE(is_utf8(text));
    CHECK(replace_non_utf8(text + ascii) == ascii + replaced + ascii);
  }
  CHECK(replace_non_utf8("j\xf6rg \u00e9") == "j\ufffdrg \u00e9");
}

TEST_CASE("utf8: what nobody sees or what turns the order of others is not printable, but may be in names") {
  // Unicode's Bidi_Control characters, the separators, and the byte-order mark.
  for (const std::string_view text :
       {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e",
        "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff"}) {
    CAPTURE(text);
    CHECK(is_plain_text(text));
    CHECK_FALSE(is_printable(text));
  }
  // Neighbours of these, among them the joiner that emoji are made with.
  for (const std::string_view text :
       {"\u061b", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a", "\uff01"})
    CHECK(is_printable(text));
  CHECK(printable("abc\u202efdp") == "abc\\u202efdp");
  CHECK(printable("\ufeffx\u2028") == "\\ufeffx\\u2028");
}

TEST_CASE("utf8: characters to keep stay, whatever else is escaped") {
  CHECK(printable("a\n\tb\r", "\n\t") == "a\n\tb\\x0d");
  CHECK(printable("a\nb", "") == "a\\x0ab");
  CHECK(printable("\xff\xe2\x80") == "\\xff\\xe2\\x80");
}

TEST_CASE("utf8: JSON gets escapes of its own, and means the same") {
  CHECK(printable_json("{\n\"a\": \"\u202e\u0085\x7f\u00e9\"\n}") ==
        "{\n\"a\": \"\\u202e\\u0085\\u007f\u00e9\"\n}");
  CHECK(printable_json("{\"a\": 1}\n") == "{\"a\": 1}\n");
}

}  // namespace
}  // namespace vtrain
