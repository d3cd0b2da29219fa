#include "profiler/json_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;
constexpr int kMaxDepth = 16;
constexpr double kMaxInteger = 9007199254740992.0;  // 2^53

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  JsonValue document() {
    if (text_.size() > kMaxText) throw InputError("larger than 64 MiB");
    JsonValue value = parse_value("", 0);
    skip_blanks();
    if (position_ != text_.size()) fail("the end of the document");
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position_), '\n');
    const std::string_view rest =
        text_.substr(position_, std::min<std::size_t>(20, text_.size() - position_));
    throw expected_found("line " + std::to_string(line), expected, rest.substr(0, rest.find('\n')));
  }

  void skip_blanks() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  void require(char wanted) {
    if (!take(wanted)) fail(std::string("'") + wanted + "'");
  }

  bool take_word(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  JsonValue parse_value(std::string place, int depth) {
    if (depth > kMaxDepth) fail("at most 16 levels");
    skip_blanks();
    if (take('{')) return parse_object(std::move(place), depth);
    if (take('[')) return parse_array(std::move(place), depth);
    if (take('"')) return {parse_string(), std::move(place)};
    if (take_word("null")) return {nullptr, std::move(place)};
    if (take_word("true")) return {true, std::move(place)};
    if (take_word("false")) return {false, std::move(place)};
    return {parse_number(), std::move(place)};
  }

  JsonValue parse_object(std::string place, int depth) {
    JsonValue::Object members;
    if (take('}')) return {std::move(members), std::move(place)};
    do {
      require('"');
      std::string name = parse_string();
      require(':');
      std::string inner = place.empty() ? name : place + "." + name;
      members.push_back({std::move(name), parse_value(std::move(inner), depth + 1)});
    } while (take(','));
    require('}');
    return {std::move(members), std::move(place)};
  }

  JsonValue parse_array(std::string place, int depth) {
    JsonValue::Array elements;
    if (take(']')) return {std::move(elements), std::move(place)};
    do {
      elements.push_back(parse_value(place + "[" + std::to_string(elements.size()) + "]", depth + 1));
    } while (take(','));
    require(']');
    return {std::move(elements), std::move(place)};
  }

  std::string parse_string() {
    std::string value;
    while (position_ < text_.size() && text_[position_] != '"') {
      const char c = text_[position_];
      if (static_cast<unsigned char>(c) < 0x20) fail("no control character in a string");
      ++position_;
      value += c == '\\' ? parse_escape() : c;
    }
    if (position_ == text_.size()) fail("a closing quote");
    ++position_;
    return value;
  }

  char parse_escape() {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (position_ == text_.size()) fail("an escape");
    const char letter = text_[position_];
    if (const std::size_t found = kLetters.find(letter); found != std::string_view::npos) {
      ++position_;
      return kMeanings[found];
    }
    unsigned code = 0;
    const char* const digits = text_.data() + position_ + 1;
    if (letter != 'u' || text_.size() - position_ < 5 ||
        std::from_chars(digits, digits + 4, code, 16).ptr != digits + 4 || code >= 0x80) {
      fail("an escape of an ASCII character");
    }
    position_ += 5;
    return static_cast<char>(code);
  }

  double parse_number() {
    double value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, status] = std::from_chars(text_.data() + position_, end, value);
    if (status != std::errc() || !std::isfinite(value)) fail("a value");
    position_ = static_cast<std::size_t>(stop - text_.data());
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

template <typename Kind>
const Kind& get(const JsonValue::Content& content, const std::string& place, std::string_view expected) {
  const Kind* value = std::get_if<Kind>(&content);
  if (value == nullptr)
    throw InputError((place.empty() ? "document" : place) + ": expected " + std::string(expected));
  return *value;
}

}  // namespace

JsonValue::JsonValue() = default;

JsonValue::JsonValue(Content content, std::string place)
    : content_(std::move(content)), place_(std::move(place)) {}

const std::string& JsonValue::text() const {
  return get<std::string>(content_, place_, "a string");
}

double JsonValue::number() const {
  return get<double>(content_, place_, "a number");
}

std::int64_t JsonValue::integer() const {
  const double value = number();
  if (std::abs(value) > kMaxInteger || value != std::floor(value)) {
    throw expected_found(place_, "a whole number", std::to_string(value));
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t JsonValue::integer(std::int64_t least) const {
  const std::int64_t value = integer();
  if (value < least) {
    throw expected_found(place_, "a whole number of at least " + std::to_string(least),
                         std::to_string(value));
  }
  return value;
}

const JsonValue::Array& JsonValue::array() const {
  return get<Array>(content_, place_, "an array");
}

const JsonValue::Object& JsonValue::members() const {
  return get<Object>(content_, place_, "an object");
}

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const JsonMember& member : members()) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

const JsonValue& JsonValue::at(std::string_view name) const {
  if (const JsonValue* value = find(name)) return *value;
  throw InputError((place_.empty() ? "document" : place_) + ": expected a member '" + std::string(name) +
                   "'");
}

JsonValue parse_json(std::string_view text) {
  return Parser(text).document();
}

std::string json_quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      made += '\\';
      made += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      made += escape;
    } else {
      made += c;
    }
  }
  return made + '"';
}

}  // namespace vtrain::profiler
