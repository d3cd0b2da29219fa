#include "profiler/json_value.hpp"

#include <doctest/doctest.h>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

/// The error message of a document.
std::string refusal(std::string_view text) {
  try {
    parse_json(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("json_value: values and where they stand") {
  const JsonValue document =
      parse_json(R"( {"a": [1, -2.5e3, {"b": null}], "text": "x\"\\\n\u0041", "yes": true} )");
  CHECK(document.at("a").array()[0].integer() == 1);
  CHECK(document.at("a").array()[1].number() == -2500);
  const JsonValue& inner = document.at("a").array()[2].at("b");
  CHECK(inner.is_null());
  CHECK(inner.place() == "a[2].b");
  CHECK(document.at("text").text() == "x\"\\\nA");
  CHECK(document.find("none") == nullptr);
  CHECK(document.members().size() == 3);
  CHECK(parse_json("[]").array().empty());
  CHECK(parse_json("{}").members().empty());
}

TEST_CASE("json_value: what is not as expected is named with its place") {
  const JsonValue document = parse_json(R"({"a": [1.5, -3]})");
  CHECK_THROWS_WITH_AS(document.at("b"), "document: expected a member 'b'", InputError);
  CHECK_THROWS_WITH_AS(document.at("a").text(), "a: expected a string", InputError);
  CHECK_THROWS_AS(document.at("a").array()[0].integer(), InputError);
  CHECK_THROWS_WITH_AS(document.at("a").array()[1].integer(0),
                       "a[1]: expected a whole number of at least 0, found '-3'", InputError);
}

TEST_CASE("json_value: broken documents") {
  CHECK(refusal("") == "line 1: expected a value, found ''");
  CHECK(refusal("{\"a\": 1,\n \"b\" 2}") == "line 2: expected ':', found '2}'");
  CHECK(refusal("[1, 2") == "line 1: expected ']', found ''");
  CHECK(refusal("[1] 2") == "line 1: expected the end of the document, found '2'");
  CHECK(refusal("\"abc") == "line 1: expected a closing quote, found ''");
  CHECK(refusal("\"\\u00e9\"").find("an escape of an ASCII character") != std::string::npos);
  CHECK(refusal("\"a\nb\"").find("control character") != std::string::npos);
  CHECK(refusal("nul").find("expected a value") != std::string::npos);
  CHECK(refusal("1e999").find("expected a value") != std::string::npos);
  CHECK(refusal("nan").find("expected a value") != std::string::npos);
  CHECK(refusal(std::string(100000, '[')).find("at most 16 levels") != std::string::npos);
}

TEST_CASE("json_value: quoted strings read back") {
  const std::string text = "a\"b\\c\nd\te\x01 <T, 2>";
  CHECK(parse_json(json_quoted(text)).text() == text);
}

}  // namespace
}  // namespace vtrain::profiler
