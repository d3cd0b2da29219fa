#include "core/io/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/input.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

std::int64_t line_of(std::string_view text, std::size_t position) {
  return 1 + std::count(text.begin(),
                        text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size())), '\n');
}

/// The error of a number too large for a double. The parser quotes the number but does not say where it
/// stands.
Error overflow_error(std::string_view text, std::string file, std::string_view complaint) {
  Error error{.file = std::move(file), .message = malformed_json(complaint)};
  const std::size_t quote = complaint.find('\'');
  if (quote == std::string_view::npos) return error;
  const std::string_view number = complaint.substr(quote + 1, complaint.rfind('\'') - quote - 1);
  const std::size_t position = text.find(number);
  if (number.empty() || position == std::string_view::npos) return error;
  error.line = line_of(text, position);
  error.message = expected_found("a number within the range of a double", number);
  // The key before it, if it is the value of one.
  const std::size_t before = text.find_last_not_of(" \t\r\n", position == 0 ? 0 : position - 1);
  if (before == std::string_view::npos || text[before] != ':') return error;
  const std::size_t close = text.rfind('"', before);
  const std::size_t open = close == std::string_view::npos || close == 0 ? close : text.rfind('"', close - 1);
  if (open != std::string_view::npos && open < close)
    error.field = printable(text.substr(open + 1, close - open - 1));
  return error;
}

Error syntax_error(std::string_view text, std::string file, const json::parse_error& error) {
  return {.file = std::move(file),
          .line = line_of(text, error.byte == 0 ? 0 : error.byte - 1),
          .message = malformed_json(error.what())};
}

/// A NUL, at which the parser would stop as if the text ended there.
std::optional<Error> find_nul(std::string_view text, const std::string& file) {
  const std::size_t position = text.find('\0');
  if (position == std::string_view::npos) return std::nullopt;
  return Error{.file = file, .line = line_of(text, position), .message = "malformed JSON: a NUL character"};
}

/// Walks over text and tells where the parser is, which its handler cannot ask.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char*& position) : at_(at), position_(&position) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *position_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** position_;
};

/// What the brackets, colons and commas of a JSON text tell before it is parsed.
struct Outline {
  int depth = 0;               ///< of the deepest brackets
  std::size_t num_keys = 0;    ///< of all objects together, if it is JSON
  std::size_t num_values = 0;  ///< about so many are in all arrays and objects
};

Outline outline_of(std::string_view text) {
  Outline outline;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      outline.depth = std::max(outline.depth, ++depth);
      ++outline.num_values;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':') {
      ++outline.num_keys;
    } else if (c == ',') {
      ++outline.num_values;
    }
  }
  return outline;
}

/// `text` with null for what `NonFinite` names, outside of strings. Lines stay as they are, and so do columns
/// but those behind a `NaN`, which is shorter than null.
std::string with_null_for_non_finite(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = 1;
    if (text.front() == '"') {
      while (length < text.size() && text[length] != '"')
        length += text[length] == '\\' ? 2 : 1;
      ++length;
    } else {
      length = std::clamp<std::size_t>(text.find_first_of(" \t\r\n,:[]{}\""), 1, text.size());
    }
    const std::string_view word = text.substr(0, length);
    const bool is_non_finite = word == "NaN" || word == "Infinity" || word == "-Infinity";
    result += is_non_finite ? fmt::format("{:<{}}", "null", word.size()) : word;
    text.remove_prefix(word.size());
  }
  return result;
}

/// Keys of all objects in a value, of which each has one of a name.
std::size_t count_keys(const json& value) {
  std::size_t count = value.is_object() ? value.size() : 0;
  if (!value.is_structured()) return count;
  for (const json& part : value)
    count += count_keys(part);
  return count;
}

/// The path of what stands under a key of the object at `path`, or at an index in brackets of the list there.
std::string under(std::string_view path, std::string_view key) {
  const bool needs_dot = !path.empty() && !key.empty() && key.front() != '[';
  return fmt::format("{}{}{}", path, needs_dot ? "." : "", printable(key));
}

std::string in_brackets(std::size_t index) {
  return fmt::format("[{}]", index);
}

/// Extends `path`, that of `at`, to that of `wanted`; false if `wanted` is no part of `at`.
bool extend_to(const json& wanted, const json& at, std::string& path) {
  if (&at == &wanted) return true;
  if (!at.is_structured()) return false;
  const std::string here = path;
  std::size_t index = 0;
  for (const auto& item : at.items()) {
    path = under(here, at.is_array() ? in_brackets(index++) : item.key());
    if (extend_to(wanted, item.value(), path)) return true;
  }
  path = here;
  return false;
}

/// Walks over a JSON text, which has been parsed before, and tells where every key and every element of a
/// list stands.
class PlaceWalk : public JsonEvents {
 public:
  explicit PlaceWalk(std::string_view text) : text_(text) {}
  void walk() { [[maybe_unused]] const auto parsed = parse(text_, {}); }

  bool null() override { return begin_value(); }
  bool boolean(bool) override { return begin_value(); }
  bool number_integer(json::number_integer_t) override { return begin_value(); }
  bool number_unsigned(json::number_unsigned_t) override { return begin_value(); }
  bool number_float(json::number_float_t, const std::string&) override { return begin_value(); }
  bool string(std::string&) override { return begin_value(); }
  bool binary(json::binary_t&) override { return begin_value(); }
  bool start_object(std::size_t) override { return begin_container(false); }
  bool start_array(std::size_t) override { return begin_container(true); }
  bool end_object() override { return end_container(); }
  bool end_array() override { return end_container(); }
  bool key(std::string& name) override { return begin_place(name); }

 protected:
  /// What stands at `path` begins on `line()`; false ends the walk.
  virtual bool visit(const std::string& path) = 0;
  std::int64_t line() const { return line_of(text_, num_read() - 1); }

 private:
  struct Container {
    std::string path{};
    bool is_list = false;
    std::size_t length = 0;  ///< of a list, so far
  };

  bool begin_place(std::string_view key) {
    path_ = under(containers_.back().path, key);
    return visit(path_);
  }
  bool begin_value() {
    if (containers_.empty() || !containers_.back().is_list) return true;
    return begin_place(in_brackets(containers_.back().length++));
  }
  bool begin_container(bool is_list) {
    if (!begin_value()) return false;
    containers_.push_back({.path = path_, .is_list = is_list});
    return true;
  }
  bool end_container() {
    containers_.pop_back();
    return true;
  }

  std::string_view text_;
  std::vector<Container> containers_;
  std::string path_;  ///< of what began last
};

/// Finds the line of the deepest part of a path that a text has; 0 where it has none.
class LineFinder : public PlaceWalk {
 public:
  LineFinder(std::string_view text, std::string_view path) : PlaceWalk(text), wanted_(path) { walk(); }
  std::int64_t found() const { return line_; }

 private:
  bool visit(const std::string& path) override {
    const std::string_view rest = wanted_.substr(std::min(path.size(), wanted_.size()));
    const bool is_part =
        wanted_.starts_with(path) && (rest.empty() || rest.front() == '.' || rest.front() == '[');
    if (is_part) line_ = line();
    return true;
  }

  std::string_view wanted_;
  std::int64_t line_ = 0;
};

/// Most values of a document: each takes up to 200 bytes, however short its text is. Raised with the limits
/// of files.
std::size_t most_json_values() {
  constexpr std::size_t kMost = 2'000'000;
  constexpr std::size_t kBytesOfText = 32;  // of a value
  return std::max(kMost, raised_input_bytes() / kBytesOfText);
}

/// Finds the first key that stands twice in its object.
class RepeatedKeyFinder : public PlaceWalk {
 public:
  RepeatedKeyFinder(std::string_view text, std::string file) : PlaceWalk(text) {
    walk();
    error_.file = std::move(file);
  }
  const Error& found() const { return error_; }

 private:
  bool visit(const std::string& path) override {
    // A hash, as paths may be much longer than the text. A document that comes here has such a key.
    if (places_.insert(std::hash<std::string>()(path)).second) return true;
    error_.line = line();
    error_.field = path;
    error_.message = "the key stands twice in this object";
    return false;
  }

  std::unordered_set<std::size_t> places_;  ///< hashes of paths
  Error error_;
};

}  // namespace

std::string json_string(std::string_view text) {
  constexpr int kCompact = -1;
  return printable_json(json(text).dump(kCompact, ' ', false, json::error_handler_t::replace));
}

std::string malformed_json(std::string_view complaint) {
  // `[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing ... - ...`
  const auto cut = [&complaint](std::string_view start, std::string_view end) {
    const std::size_t found = complaint.find(end);
    if (!complaint.starts_with(start) || found == std::string_view::npos) return std::string_view();
    const std::string_view before = complaint.substr(0, found);
    complaint.remove_prefix(found + end.size());
    return before;
  };
  cut("[", "] ");
  const std::string_view position = cut("parse error", ": ");
  cut("syntax error", "syntax error ");
  std::string text(complaint);
  if (const std::size_t dash = text.find(" - "); dash != std::string::npos) text.replace(dash, 3, ": ");
  if (const std::size_t column = position.find("column"); column != std::string_view::npos)
    text += fmt::format(" ({})", position.substr(column));
  return "malformed JSON: " + printable(text);
}

Result<JsonDocument> JsonDocument::parse(std::string text, std::string file, NonFinite non_finite) {
  JsonDocument document;
  document.text_ = non_finite == NonFinite::Null ? with_null_for_non_finite(text) : std::move(text);
  document.file_ = std::move(file);
  if (auto nul = find_nul(document.text_, document.file_)) return fail(*std::move(nul));
  constexpr int kMaxDepth = 64;  // the parser would follow deeper brackets until the stack is full
  const Outline outline = outline_of(document.text_);
  if (outline.depth > kMaxDepth) {
    return fail({.file = document.file_, .message = "JSON nested more than 64 levels deep"});
  }
  if (const std::size_t most = most_json_values(); outline.num_values > most) {
    return fail({.kind = ErrorKind::Io,
                 .file = document.file_,
                 .message = fmt::format("has more than {} values, the limit of a JSON document; --max-input "
                                        "raises it",
                                        with_thousands(static_cast<std::int64_t>(most)))});
  }
  try {
    document.root_ = json::parse(document.text_);
  } catch (const json::parse_error& error) {
    return fail(syntax_error(document.text_, document.file_, error));
  } catch (const json::exception& error) {
    return fail(overflow_error(document.text_, document.file_, error.what()));
  }
  // Of equal keys the parser keeps one. Which, is looked for only where there are any.
  if (count_keys(document.root_) != outline.num_keys)
    return fail(RepeatedKeyFinder(document.text_, document.file_).found());
  return document;
}

Error JsonDocument::error_at(const json& object, std::string_view key, std::string message) const {
  constexpr std::size_t kMostSearched = 100'000'000;
  if (bytes_searched_ > kMostSearched)
    return {.file = file_, .field = std::string(key), .message = std::move(message)};
  bytes_searched_ += text_.size();
  std::string path;
  extend_to(object, root_, path);
  path = under(path, key);
  const std::int64_t line = LineFinder(text_, path).found();
  return {.file = file_, .line = line, .field = std::move(path), .message = std::move(message)};
}

Result<void> JsonEvents::parse(std::string_view text, std::string file) {
  text_ = text;
  file_ = std::move(file);
  position_ = text.data();
  counted_to_ = 0;
  lines_passed_ = 0;
  error_ = find_nul(text_, file_);
  if (error_) return fail(*error_);
  json::sax_parse(Cursor(text.data(), position_), Cursor(text.data() + text.size(), position_), this);
  if (error_) return fail(*error_);
  return {};
}

std::int64_t JsonEvents::current_line() {
  const std::size_t last = num_read() - 1;  // of a scalar, at most what comes behind it
  const std::string_view passed = text_.substr(counted_to_, last - counted_to_);
  lines_passed_ += std::count(passed.begin(), passed.end(), '\n');
  counted_to_ = last;
  return 1 + lines_passed_;
}

bool JsonEvents::parse_error(std::size_t, const std::string&, const json::exception& error) {
  const auto* const syntax = dynamic_cast<const json::parse_error*>(&error);
  error_ =
      syntax != nullptr ? syntax_error(text_, file_, *syntax) : overflow_error(text_, file_, error.what());
  return false;
}

JsonFields::JsonFields(const JsonDocument& document, const json& object)
    : document_(document), object_(object) {
  if (!object.is_object()) {
    error_ = document.error_at(object, "", expected_found("a JSON object", object.dump().substr(0, 80)));
  }
}

bool JsonFields::has(std::string_view key) const {
  if (!object_.is_object()) return false;
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const json* JsonFields::require(std::string_view key) {
  if (error_) return nullptr;
  if (!has(key)) {
    complain(key, "missing");
    return nullptr;
  }
  return &*object_.find(key);
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const json* value = require(key);
  if (value == nullptr) return low;
  const std::string found = value->dump();
  const auto parsed = parse_integer(value->is_number() ? found : "", low, high);
  if (!parsed) complain(key, expected_found(expected_integer(low, high), found));
  return parsed.value_or(low);
}

std::int64_t JsonFields::integer_or(std::string_view key, std::int64_t low, std::int64_t high,
                                    std::int64_t absent) {
  return has(key) ? integer(key, low, high) : absent;
}

double JsonFields::number(std::string_view key, double low, double high) {
  const json* value = require(key);
  if (value == nullptr) return low;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= low && number <= high)) {
    complain(key, expected_found(fmt::format("a number from {} to {}", low, high), value->dump()));
    return low;
  }
  return number;
}

double JsonFields::number_or(std::string_view key, double low, double high, double absent) {
  return has(key) ? number(key, low, high) : absent;
}

bool JsonFields::boolean_or(std::string_view key, bool absent) {
  if (!has(key) || error_) return absent;
  const json& value = *object_.find(key);
  if (!value.is_boolean()) complain(key, expected_found("true or false", value.dump()));
  return value.is_boolean() ? value.get<bool>() : absent;
}

std::string JsonFields::string(std::string_view key) {
  const json* value = require(key);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    complain(key, expected_found("a string", value->dump()));
    return {};
  }
  return value->get<std::string>();
}

std::string JsonFields::string_or(std::string_view key, std::string absent) {
  return has(key) ? string(key) : absent;
}

std::size_t JsonFields::choice_or(std::string_view key, std::span<const std::string_view> names,
                                  std::size_t absent) {
  if (!has(key) || error_) return absent;
  const std::string value = string(key);
  const auto found = std::find(names.begin(), names.end(), value);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (!error_) complain(key, expected_found("one of " + list_names(names), value));
  return absent;
}

void JsonFields::allow_only(std::span<const std::string_view> known) {
  if (error_) return;
  for (const auto& item : object_.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    complain(item.key(), "unknown key; " + suggest_name(item.key(), known));
    return;
  }
}

void JsonFields::complain(const json& object, std::string_view key, std::string message) {
  if (!error_) error_ = document_.error_at(object, key, std::move(message));
}

}  // namespace vtrain
