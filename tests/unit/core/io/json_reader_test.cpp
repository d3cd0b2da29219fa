#include "core/io/json_reader.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

TEST_CASE("json_reader: typed access") {
  const auto document = JsonDocument::parse(
      R"({"whole": 8, "float": 2.5, "whole_float": 3.0, "yes": true, "text": "a", "nothing": null})",
      "f.json");
  REQUIRE(document);
  JsonFields fields(*document, document->root());
  CHECK(fields.integer("whole", 1, 10) == 8);
  CHECK(fields.integer("whole_float", 1, 10) == 3);
  CHECK(fields.integer_or("absent", 1, 10, 7) == 7);
  CHECK(fields.integer_or("nothing", 1, 10, 7) == 7);
  CHECK(fields.number("float", 0, 10) == 2.5);
  CHECK(fields.number_or("absent", 0, 10, 0.5) == 0.5);
  CHECK(fields.boolean_or("yes", false));
  CHECK(!fields.boolean_or("absent", false));
  CHECK(fields.string("text") == "a");
  CHECK(fields.string_or("absent", "b") == "b");
  constexpr std::array<std::string_view, 2> kNames = {"b", "a"};
  CHECK(fields.choice_or("text", kNames, 0) == 1);
  CHECK(fields.choice_or("absent", kNames, 0) == 0);
  CHECK(!fields.has("nothing"));
  CHECK(!fields.error());
}

TEST_CASE("json_reader: the first error is kept, with the line of its key") {
  const auto document = JsonDocument::parse("{\n \"a\": -1,\n \"b\": \"x\"\n}", "f.json");
  REQUIRE(document);
  JsonFields fields(*document, document->root());
  fields.integer("b", 1, 5);
  fields.integer("a", 1, 5);
  REQUIRE(fields.error());
  CHECK(fields.error()->describe() == "f.json:3: b: expected a whole number from 1 to 5, found '\"x\"'");
}

TEST_CASE("json_reader: an error stands at its own place, however often its key does") {
  const std::string text = R"({
    "text": "n", "n": 1,
    "list": [
      {"n": 2},
      {"n": 3, "deep": {
        "n": [4,
              5]}}
    ],
    "last": 6
  })";
  const auto document = JsonDocument::parse(text, "f.json");
  REQUIRE(document);
  const nlohmann::json& root = document->root();
  const nlohmann::json& last = root["list"][1];
  const auto at = [&](const nlohmann::json& object, std::string_view key) {
    return document->error_at(object, key, "wrong").describe();
  };
  CHECK(at(root, "n") == "f.json:2: n: wrong");
  CHECK(at(root, "last") == "f.json:9: last: wrong");
  CHECK(at(root["list"][0], "n") == "f.json:4: list[0].n: wrong");
  CHECK(at(last, "n") == "f.json:5: list[1].n: wrong");
  CHECK(at(last, "deep.n") == "f.json:6: list[1].deep.n: wrong");
  CHECK(at(last["deep"]["n"][1], "") == "f.json:7: list[1].deep.n[1]: wrong");
  CHECK(at(last["deep"], "n[1]") == "f.json:7: list[1].deep.n[1]: wrong");
  // What is missing is missed where its object begins.
  CHECK(at(last, "m") == "f.json:5: list[1].m: wrong");
  CHECK(at(root, "m") == "f.json: m: wrong");
  CHECK(at(root, "list[7].n") == "f.json:3: list[7].n: wrong");
  CHECK(at(root, "") == "f.json: wrong");
  const auto list = JsonDocument::parse("[1,\n {\"a\": 2}]", "f.json");
  REQUIRE(list);
  CHECK(list->error_at(list->root()[1], "a", "wrong").describe() == "f.json:2: [1].a: wrong");
  // No part of the document.
  CHECK(document->error_at(nlohmann::json::object(), "n", "wrong").field == "n");
}

TEST_CASE("json_reader: every value of a large document has its line and path") {
  // Lists grow and move their elements while they are read, so 10,000 pairs of nested ones.
  constexpr std::size_t kNumPairs = 10'000;
  std::string text = "{\"list\":";
  for (std::size_t i = 0; i < kNumPairs; ++i)
    text += (i == 0 ? "[\n[{\"z.a\": 1}, 2]" : ",\n[{\"z.a\": 1}, 2]");
  auto parsed = JsonDocument::parse(text + "]}", "f");
  REQUIRE(parsed);
  const auto document = std::move(*parsed);  // places stay when a document moves
  const nlohmann::json& list = document.root()["list"];
  for (std::size_t i = 0; i < kNumPairs; ++i) {
    const Error key = document.error_at(list[i][0], "z.a", "wrong");
    REQUIRE(key.line == static_cast<std::int64_t>(i + 2));
    REQUIRE(key.field == "list[" + std::to_string(i) + "][0].z.a");
    const Error element = document.error_at(list[i][1], "", "wrong");
    REQUIRE(element.line == key.line);
    REQUIRE(element.field == "list[" + std::to_string(i) + "][1]");
  }
}

TEST_CASE("json_reader: a key that stands twice in an object is an error") {
  const auto error_of = [](const std::string& text) {
    const auto document = JsonDocument::parse(text, "f.json");
    REQUIRE_FALSE(document);
    return document.error().describe();
  };
  CHECK(error_of("{\"n\": 1,\n \"n\": 1}") == "f.json:2: n: the key stands twice in this object");
  CHECK(error_of("{\"n\": [{\"n\": 1}, {\"a\": 0,\n\"b\": {\"c\": {}, \"\\u0063\": []}}]}") ==
        "f.json:2: n[1].b.c: the key stands twice in this object");
  CHECK(JsonDocument::parse(R"({"a:b": "c:d", "n": [{"n": ":"}, {"n": "\"n\":"}], "": {"": 1}})", "f"));
}

TEST_CASE("json_reader: each kind of wrong value") {
  const auto error_of = [](const std::string& value, auto access) {
    const auto document = JsonDocument::parse("{\"k\": " + value + "}", "f.json");
    REQUIRE(document);
    JsonFields fields(*document, document->root());
    access(fields);
    REQUIRE(fields.error());
    return fields.error()->message;
  };
  const auto integer = [](JsonFields& fields) { fields.integer("k", 0, 9); };
  CHECK(error_of("10", integer) == "expected a whole number from 0 to 9, found '10'");
  CHECK(error_of("1.5", integer) == "expected a whole number from 0 to 9, found '1.5'");
  CHECK(error_of("99999999999999999999", integer).starts_with("expected a whole number from 0 to 9"));
  CHECK(error_of(R"("it's")", integer) == R"(expected a whole number from 0 to 9, found '"it's"')");
  CHECK(error_of('"' + std::string(5000, 'x') + '"', integer) ==
        "expected a whole number from 0 to 9, found '\"" + std::string(59, 'x') + "...' (5002 characters)");
  CHECK(error_of("[1]", integer) == "expected a whole number from 0 to 9, found '[1]'");
  CHECK(error_of("null", integer) == "missing");
  CHECK(error_of("-1", [](JsonFields& fields) { fields.number("k", 0, 9); }) ==
        "expected a number from 0 to 9, found '-1'");
  CHECK(error_of("1", [](JsonFields& fields) { fields.boolean_or("k", true); }) ==
        "expected true or false, found '1'");
  const auto choice = [](JsonFields& fields) {
    constexpr std::array<std::string_view, 2> kNames = {"red", "blue"};
    fields.choice_or("k", kNames, 0);
  };
  CHECK(error_of("\"green\"", choice) == "expected one of 'red' and 'blue', found 'green'");
  CHECK(error_of("1", choice) == "expected a string, found '1'");
  CHECK(error_of("1", [](JsonFields& fields) { fields.string("k"); }) == "expected a string, found '1'");
}

TEST_CASE("json_reader: unknown keys") {
  const auto document = JsonDocument::parse(R"({"modle": 1, "zzzzzzzzz": 2})", "f.json");
  REQUIRE(document);
  constexpr std::array<std::string_view, 2> kKnown = {"model", "gpus"};
  JsonFields fields(*document, document->root());
  fields.allow_only(kKnown);
  REQUIRE(fields.error());
  CHECK(fields.error()->message == "unknown key; did you mean 'model'?");
}

TEST_CASE("json_reader: malformed documents") {
  const auto cut = JsonDocument::parse("{\n\"a\": 1,\n", "f.json");
  REQUIRE(!cut);
  CHECK(cut.error().line == 3);
  CHECK(!JsonDocument::parse("", "f.json"));
  const auto deep = JsonDocument::parse("[\n" + std::string(1'000'000, '['), "f.json");
  REQUIRE(!deep);
  CHECK(deep.error().describe() == "f.json:2: JSON nested more than 64 levels deep");
  CHECK(JsonDocument::parse(std::string(64, '[') + std::string(64, ']'), "f.json"));
  // The number that is too large, not the same digits in a text before it.
  const auto later = JsonDocument::parse("{\"a\": \"1e999\",\n\"b\": [{\"c\": 1e999}]}", "f.json");
  REQUIRE(!later);
  CHECK(later.error().describe() ==
        "f.json:2: c: expected a number within the range of a double, found '1e999'");
  const auto overflow = JsonDocument::parse("{\"a\": 1,\n\"b\" : 1e999}", "f.json");
  REQUIRE(!overflow);
  CHECK(overflow.error().describe() ==
        "f.json:2: b: expected a number within the range of a double, found '1e999'");
  CHECK(!JsonDocument::parse("1e999", "f.json"));
  CHECK(!JsonDocument::parse("[1e999]", "f.json"));
  CHECK(!JsonDocument::parse("\"\xff\"", "f.json"));
  const auto list = JsonDocument::parse("[1]", "f.json");
  REQUIRE(list);
  const JsonFields fields(*list, list->root());
  REQUIRE(fields.error());
  CHECK(fields.error()->message == "expected a JSON object, found '[1]'");
}

TEST_CASE("json_reader: what is not finite is refused, or null where a reader wants it") {
  const std::string text =
      "{\"limits\": [0.0, Infinity, -Infinity, NaN],\n\"name\": \"NaN, \\\"Infinity\",\n\"a\": -1}";
  CHECK_FALSE(JsonDocument::parse(text, "f.json"));
  const auto document = JsonDocument::parse(text, "f.json", NonFinite::Null);
  REQUIRE(document);
  CHECK(document->root()["limits"].dump() == "[0.0,null,null,null]");
  CHECK(document->root()["name"] == "NaN, \"Infinity");
  CHECK(document->error_at(document->root(), "a", "").line == 3);
  for (const char* malformed : {"Infinity2", "[nan]", "{NaN: 1}", "\"NaN", "\"\\", "-NaN"})
    CHECK_FALSE(JsonDocument::parse(malformed, "f.json", NonFinite::Null));
  // The second of two commas is the 14th character.
  const auto comma = JsonDocument::parse("[1, Infinity,,2]", "f.json", NonFinite::Null);
  REQUIRE_FALSE(comma);
  CHECK(comma.error().message.find("column 14") != std::string::npos);
}

/// Records the text read up to each string.
class PrefixesOfStrings : public JsonEvents {
 public:
  explicit PrefixesOfStrings(std::string_view text) : text_(text) {}
  const std::vector<std::string_view>& prefixes() const { return prefixes_; }

  bool null() override { return true; }
  bool boolean(bool value) override { return value; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return add(); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return add(); }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }

 private:
  bool add() {
    prefixes_.push_back(text_.substr(0, num_read()));
    return true;
  }

  std::string_view text_;
  std::vector<std::string_view> prefixes_;
};

TEST_CASE("json_reader: events know how much was read, and fail as documents do") {
  constexpr std::string_view kText = "\xef\xbb\xbf{\"a\" : [\"b\\n\", 1]}";
  PrefixesOfStrings events(kText);
  REQUIRE(events.parse(kText, "f.json"));
  REQUIRE(events.prefixes().size() == 2);
  CHECK(events.prefixes()[0] == "\xef\xbb\xbf{\"a\"");
  CHECK(events.prefixes()[1] == "\xef\xbb\xbf{\"a\" : [\"b\\n\"");
  // What the derived class ends is no error.
  CHECK(events.parse("[false, \"a\" \"b\"]", "f.json"));
  const std::vector<std::string> malformed = {std::string("0\n\0{\"a\": 1}", 11),
                                              "{\n\"a\" 1}",
                                              "[1,\n2",
                                              "",
                                              "{\"a\":\n1e999}",
                                              "[\"\xff\"]",
                                              "[1] 2"};
  for (const std::string& text : malformed) {
    CAPTURE(text);
    const auto streamed = PrefixesOfStrings(text).parse(text, "f.json");
    const auto document = JsonDocument::parse(text, "f.json");
    REQUIRE_FALSE(streamed);
    REQUIRE_FALSE(document);
    CHECK(streamed.error().describe() == document.error().describe());
  }
}

}  // namespace
}  // namespace vtrain
