#include "core/base/numbers.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace vtrain {
namespace {

TEST_CASE("numbers: whole numbers") {
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

TEST_CASE("numbers: numbers") {
  CHECK(parse_number("1.5e3", 0, 1e4).value() == 1500);
  for (const char* bad : {"", "nan", "inf", "1e999", "-0.5", "1,5", "2x"}) {
    CAPTURE(bad);
    CHECK(!parse_number(bad, 0, 1e4));
  }
}

TEST_CASE("numbers: ranges of whole numbers") {
  CHECK(parse_integer_range("5", 0, 9) == IntegerRange{5, 5});
  CHECK(parse_integer_range(" 2 - 9 ", 0, 9) == IntegerRange{2, 9});
  CHECK(parse_integer_range("3-3", 0, 9) == IntegerRange{3, 3});
  for (const char* bad : {"", "-", "-3", "3-", "3-2", "0-10", "10", "1-2-3", "a-b", "1..3"}) {
    CAPTURE(bad);
    CHECK(!parse_integer_range(bad, 0, 9));
  }
}

TEST_CASE("numbers: doubles rounded to decimals print as these, in every locale") {
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

TEST_CASE("numbers: large counts") {
  CHECK(parse_large_count("300B").value() == 300e9);
  CHECK(parse_large_count("1.4T").value() == 1.4e12);
  CHECK(parse_large_count("3e11").value() == 3e11);
  CHECK(parse_large_count("300b").value() == 300e9);
  CHECK(parse_large_count("3 b").value() == 3e9);
  CHECK(parse_large_count("1000000").value() == 1e6);
  for (const char* bad :
       {"", "B", "0", "-3B", "1e19", "3G", "300", "999999", "nan", "infT", "2000000T"}) {
    CAPTURE(bad);
    CHECK(!parse_large_count(bad));
  }
  CHECK(parse_large_count("3G").error().message ==
        "expected a number of at least a million such as 300B, 1.4T or 3e11, found '3G'");
}

TEST_CASE("numbers: seconds are exact nanoseconds both ways") {
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

}  // namespace
}  // namespace vtrain
