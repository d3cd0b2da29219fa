#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"

#include <array>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

using namespace std::string_view_literals;

TEST_CASE("text: the beginning of a text cuts no character") {
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

TEST_CASE("text: case is that of the letters A to Z alone, in every locale") {
  const std::string latin1 = "\xc4\xe4";  // a and A with two dots, where ISO 8859-1 is spoken
  const char* const before = std::setlocale(LC_ALL, nullptr);
  const std::string kept = before == nullptr ? "C" : before;
  for (const char* locale : {"C", "de_DE.ISO-8859-1", "en_US.ISO-8859-1", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;  // not on this machine
    CAPTURE(locale);
    CHECK(lower_case("A100-PCIe [Z]@`{" + latin1) == "a100-pcie [z]@`{" + latin1);
    CHECK(upper_case("a100-pcie [z]@`{" + latin1) == "A100-PCIE [Z]@`{" + latin1);
    CHECK(equal_in_any_case("JobID", "jobId"));
    CHECK(!equal_in_any_case("JobID", "jobI"));
    CHECK(!equal_in_any_case("\xc4", "\xe4"));
  }
  std::setlocale(LC_ALL, kept.c_str());
  static_assert(lower_case('Q') == 'q' && lower_case('[') == '[');
}

TEST_CASE("text: control characters are not printable, also those of two bytes") {
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

TEST_CASE("text: whole numbers") {
  CHECK(parse_integer(" 42 ", 0, 100).value() == 42);
  CHECK(parse_integer("-3", -5, 5).value() == -3);
  CHECK(parse_integer("8.00", 0, 100).value() == 8);
  CHECK(parse_integer("9223372036854775807", 0, INT64_MAX).value() == INT64_MAX);
  for (const char* bad : {"", "x", "8.5", "1e3", "101", "-1", "9223372036854775808", "8 8", "0x8", "+8"}) {
    CAPTURE(bad);
    CHECK(!parse_integer(bad, 0, 100));
  }
  CHECK(parse_integer("7", 1, 5).error().message == "expected a whole number from 1 to 5, found '7'");
  CHECK(parse_integer("7", 2, 2).error().message == "expected 2, found '7'");
}

TEST_CASE("text: numbers") {
  CHECK(parse_number("1.5e3", 0, 1e4).value() == 1500);
  for (const char* bad : {"", "nan", "inf", "1e999", "-0.5", "1,5", "2x"}) {
    CAPTURE(bad);
    CHECK(!parse_number(bad, 0, 1e4));
  }
}

TEST_CASE("text: parts between separators, without blanks") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("a, b,c ", ',') == Parts{"a", "b", "c"});
  CHECK(split("", ',') == Parts{""});
  CHECK(split("a,,b,", ',') == Parts{"a", "", "b", ""});
  CHECK(split("a\t\tb", '\t') == Parts{"a", "", "b"});
  CHECK(split_once(" key = a=b ", '=') == std::pair("key"sv, std::optional("a=b"sv)));
  CHECK(split_once("key=", '=') == std::pair("key"sv, std::optional(""sv)));
  CHECK(split_once(" key ", '=') == std::pair("key"sv, std::optional<std::string_view>()));
}

TEST_CASE("text: ranges of whole numbers") {
  CHECK(parse_integer_range("5", 0, 9) == IntegerRange{5, 5});
  CHECK(parse_integer_range(" 2 - 9 ", 0, 9) == IntegerRange{2, 9});
  CHECK(parse_integer_range("3-3", 0, 9) == IntegerRange{3, 3});
  for (const char* bad : {"", "-", "-3", "3-", "3-2", "0-10", "10", "1-2-3", "a-b", "1..3"}) {
    CAPTURE(bad);
    CHECK(!parse_integer_range(bad, 0, 9));
  }
}

TEST_CASE("text: doubles rounded to decimals print as these, in every locale") {
  const char* const before = std::setlocale(LC_ALL, nullptr);
  const std::string kept = before == nullptr ? "C" : before;
  for (const char* locale : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;  // not on this machine
    CAPTURE(locale);
    CHECK(round_to_digits(123456.789, 3) == 123000);
    CHECK(round_to_digits(0.1234567, 3) == 0.123);
    CHECK(round_to_digits(-1.5e-20, 1) == -2e-20);
    CHECK(round_to_digits(0, 3) == 0);
    CHECK(round_to_decimals(1234.56789, 2) == 1234.57);
    CHECK(round_to_decimals(1e15 + 0.25, 5) == 1e15 + 0.25);
    CHECK(std::isinf(round_to_digits(std::numeric_limits<double>::infinity(), 3)));
  }
  std::setlocale(LC_ALL, kept.c_str());
  constexpr double kLargest = std::numeric_limits<double>::max();  // 1.7977e308, which three digits exceed
  CHECK(round_to_digits(kLargest, 3) == kLargest);
}

TEST_CASE("text: words of a sentence") {
  CHECK(join_with_and({}).empty());
  CHECK(join_with_and(std::vector<std::string>{"a"}) == "a");
  CHECK(join_with_and(std::vector<std::string>{"a", "b"}) == "a and b");
  CHECK(join_with_and(std::vector<std::string>{"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("text: large counts") {
  CHECK(parse_large_count("300B").value() == 300e9);
  CHECK(parse_large_count("1.4T").value() == 1.4e12);
  CHECK(parse_large_count("3e11").value() == 3e11);
  CHECK(parse_large_count("12").value() == 12);
  for (const char* bad : {"", "B", "0", "-3B", "1e19", "3G", "3 b", "nan", "infT", "2000000T"}) {
    CAPTURE(bad);
    CHECK(!parse_large_count(bad));
  }
  CHECK(parse_large_count("3G").error().message ==
        "expected a number above 0 such as 300B, 1.4T or 3e11, found '3G'");
}

TEST_CASE("text: seconds are exact nanoseconds both ways") {
  CHECK(parse_seconds_as_ns("0.1").value() == 100'000'000);
  CHECK(parse_seconds_as_ns("1.000000001").value() == 1'000'000'001);
  CHECK(parse_seconds_as_ns("1.0000000010").value() == 1'000'000'001);
  CHECK(parse_seconds_as_ns("-2.5").value() == -2'500'000'000);
  CHECK(parse_seconds_as_ns(".5").value() == 500'000'000);
  for (const char* bad : {"", ".", "-", "1.0000000001", "1e9", "nan", "9999999999", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(!parse_seconds_as_ns(bad));
  }
  const auto text_of = [](std::int64_t nanoseconds) {
    std::string text;
    append_ns_as_seconds(text, nanoseconds);
    return text;
  };
  CHECK(text_of(0) == "0");
  CHECK(text_of(1'500'000'000) == "1.5");
  CHECK(text_of(-1) == "-0.000000001");
  CHECK(text_of(INT64_MIN) == "-9223372036.854775808");
  for (const std::int64_t value :
       {std::int64_t{1}, std::int64_t{999'999'999}, std::int64_t{123'456'789'012}}) {
    CHECK(parse_seconds_as_ns(text_of(value)).value() == value);
  }
}

TEST_CASE("text: the nearest name") {
  constexpr std::array<std::string_view, 3> kNames = {"fifo", "edf", "easy"};
  CHECK(nearest_name("edff", kNames) == "edf");
  CHECK(nearest_name("fif", kNames) == "fifo");
  CHECK(nearest_name("gandiva", kNames).empty());
  CHECK(list_names(kNames) == "'fifo', 'edf' and 'easy'");
  CHECK(list_names({}).empty());
  constexpr std::array<std::string_view, 6> kModels = {"llama3-8b", "llama3-70b", "gpt3-125m",
                                                       "gpt3-1.3b", "gpt3-13b",   "gpt3-175b"};
  CHECK(did_you_mean("llama3", kModels) == "did you mean one of 'llama3-8b' and 'llama3-70b'?");
  CHECK(did_you_mean("gpt3-13", kModels) == "did you mean 'gpt3-13b'?");  // the nearest comes first
  CHECK(did_you_mean("125m", kModels) == "did you mean 'gpt3-125m'?");
  CHECK(did_you_mean("-", kModels).empty());
  // Nearer by letters is another GPU.
  CHECK(nearest_name("srft", std::vector<std::string_view>{"sjf", "srtf", "srsf"}) == "srtf");
  CHECK(did_you_mean("V100", std::vector<std::string_view>{"v100-pcie", "v100-sxm3", "a100"}) ==
        "did you mean one of 'v100-pcie' and 'v100-sxm3'?");
  CHECK(did_you_mean("foo", std::vector<std::string_view>{"fgd", "count"}).empty());
  CHECK(did_you_mean("opt", kModels).empty());
  CHECK(suggest_name("edff", kNames) == "did you mean 'edf'?");
  CHECK(suggest_name("gandiva", kNames) == "known are 'fifo', 'edf' and 'easy'");
}

TEST_CASE("text: lower case of ASCII alone") {
  CHECK(lower_case("A100-SXM4 \xC3\x84") == "a100-sxm4 \xC3\x84");
}

TEST_CASE("text: trimming") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim("  ").empty());
}

}  // namespace
}  // namespace vtrain
