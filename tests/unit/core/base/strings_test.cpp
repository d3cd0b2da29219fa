#include "core/base/strings.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vtrain {
namespace {

using namespace std::string_view_literals;

TEST_CASE("strings: case is that of the letters A to Z alone, in every locale") {
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

TEST_CASE("strings: parts between separators, without blanks") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("a, b,c ", ',') == Parts{"a", "b", "c"});
  CHECK(split("", ',') == Parts{""});
  CHECK(split("a,,b,", ',') == Parts{"a", "", "b", ""});
  CHECK(split("a\t\tb", '\t') == Parts{"a", "", "b"});
  CHECK(split_once(" key = a=b ", '=') == std::pair("key"sv, std::optional("a=b"sv)));
  CHECK(split_once("key=", '=') == std::pair("key"sv, std::optional(""sv)));
  CHECK(split_once(" key ", '=') == std::pair("key"sv, std::optional<std::string_view>()));
}

TEST_CASE("strings: lower case of ASCII alone") {
  CHECK(lower_case("A100-SXM4 \xC3\x84") == "a100-sxm4 \xC3\x84");
}

TEST_CASE("strings: trimming") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim("  ").empty());
}

}  // namespace
}  // namespace vtrain
