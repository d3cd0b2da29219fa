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

}  // namespace
}  // namespace vtrain
