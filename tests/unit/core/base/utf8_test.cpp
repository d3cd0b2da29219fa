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

}  // namespace
}  // namespace vtrain
