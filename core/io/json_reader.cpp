#include "core/io/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/input.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

std::int64_t line_of(std::string_view text, std::size_t position) {
  return 1 + std::count(text.begin(),
                        text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size())), '\n');
}

/// The error of a number too large for a double, the last thing in `read`. Its field is the key before it.
Error overflow_error(std::string_view read, const std::string& number) {
  const std::size_t position = read.rfind(number);
  Error error{.line = line_of(read, position),
              .message = expected_found("a number within the range of a double", number)};
  const std::string_view before = trim(read.substr(0, position));
  if (!before.ends_with(':')) return error;
  const std::size_t close = before.rfind('"');
  const std::size_t open = before.rfind('"', close - 1);
  error.field = printable(before.substr(open + 1, close - open - 1));
  return error;
}

/// Walks over text and knows the parser's position, which its handler cannot ask for.
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

/// `text` with null for the words of `NonFinite`, outside of strings. Lines are unchanged. Columns change
/// only after a `NaN`, which is shorter than null.
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

/// The path of the value under a key of the object at `path`, or at an index in brackets of the list there.
std::string under(std::string_view path, std::string_view key) {
  const bool needs_dot = !path.empty() && !key.empty() && key.front() != '[';
  return fmt::format("{}{}{}", path, needs_dot ? "." : "", printable(key));
}

/// The part of `value` named by the first step of `path`, which is then cut off from it; null if there is
/// none.
const json* take_part(const json& value, std::string_view& path) {
  if (!value.is_structured()) return nullptr;
  for (const auto& item : value.items()) {
    const std::string name = value.is_array() ? fmt::format("[{}]", item.key()) : item.key();
    const std::string_view rest = path.substr(std::min(name.size(), path.size()));
    if (!path.starts_with(name) || !(rest.empty() || rest.front() == '.' || rest.front() == '[')) continue;
    path = rest.substr(rest.starts_with('.') ? 1 : 0);
    return &item.value();
  }
  return nullptr;
}

/// Largest number of values of a document: each takes up to 200 bytes, even if its text is short. Raised with
/// the limits of files.
std::size_t most_json_values() {
  constexpr std::size_t kMost = 2'000'000;
  constexpr std::size_t kBytesOfText = 32;  // of a value
  return std::max(kMost, raised_input_bytes() / kBytesOfText);
}

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

/// Makes the document from the parser's events.
class JsonDocument::Builder : public JsonEvents {
 public:
  /// Takes `root` and `places` of an empty document.
  Builder(json& root, std::vector<Place>& places) : root_(root), places_(places) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(json::number_integer_t value) override { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) override { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) override { return add(value); }
  bool string(std::string& text) override { return add(text); }
  bool binary(json::binary_t&) override { return false; }  // text has none
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }

  bool key(std::string& name) override {
    const auto [member, is_new] = parent().get_ref<json::object_t&>().try_emplace(name);
    if (is_new) return add_place(member->second, current_line());
    return stop({.line = current_line(),
                 .field = under(path_of(places_, containers_.back()), name),
                 .message = "the key stands twice in this object"});
  }

  bool end_object() override {
    containers_.pop_back();
    return true;
  }

  bool end_array() override {
    // Elements move as a list grows, and now stay.
    json& list = parent();
    const std::size_t first = elements_.size() - list.size();
    for (std::size_t i = 0; i < list.size(); ++i)
      places_[elements_[first + i]].value = &list[i];
    elements_.resize(first);
    containers_.pop_back();
    return true;
  }

 private:
  json& parent() { return *places_[containers_.back()].value; }

  bool add_place(json& value, std::int64_t line) {
    const std::uint32_t parent = containers_.empty() ? 0 : containers_.back();
    places_.push_back({&value, parent, static_cast<std::uint32_t>(line)});
    if (places_.size() <= most_values_ + 1) return true;  // the root does not count
    return stop({.kind = ErrorKind::Io,
                 .message = fmt::format("has more than {} values, the limit of a JSON document; --max-input "
                                        "raises it",
                                        with_thousands(static_cast<std::int64_t>(most_values_)))});
  }

  /// Puts a value in its place: the root, under the last key, or the end of a list.
  bool add(json value) {
    if (containers_.empty()) {
      root_ = std::move(value);
      return add_place(root_, 0);
    }
    if (parent().is_object()) {
      *places_.back().value = std::move(value);
      return true;
    }
    elements_.push_back(static_cast<std::uint32_t>(places_.size()));
    return add_place(parent().get_ref<json::array_t&>().emplace_back(std::move(value)), current_line());
  }

  bool open(json container) {
    if (!check_depth(containers_.size()) || !add(std::move(container))) return false;
    containers_.push_back(static_cast<std::uint32_t>(places_.size() - 1));
    return true;
  }

  json& root_;
  std::vector<Place>& places_;
  const std::size_t most_values_ = most_json_values();
  std::vector<std::uint32_t> containers_;  ///< places of open objects and lists
  std::vector<std::uint32_t> elements_;    ///< places of elements of open lists
};

Result<JsonDocument> JsonDocument::parse(std::string text, std::string file, NonFinite non_finite) {
  if (non_finite == NonFinite::Null) text = with_null_for_non_finite(text);
  JsonDocument document;
  document.file_ = std::move(file);
  Builder builder(*document.root_, document.places_);
  if (auto parsed = builder.parse(text, document.file_); !parsed) return fail(std::move(parsed.error()));
  return document;
}

Error JsonDocument::error_at(const json& object, std::string_view key, std::string message) const {
  Error error{.file = file_, .field = under("", key), .message = std::move(message)};
  const auto place = find(object);
  if (!place) return error;
  error.field = under(path_of(places_, *place), key);
  const json* deepest = &object;
  while (const json* const part = key.empty() ? nullptr : take_part(*deepest, key))
    deepest = part;
  error.line = places_[find(*deepest).value()].line;
  return error;
}

std::optional<std::uint32_t> JsonDocument::find(const json& value) const {
  const auto address_of = [this](std::uint32_t place) -> const json* { return places_[place].value; };
  if (by_address_.empty()) {
    by_address_.resize(places_.size());
    std::iota(by_address_.begin(), by_address_.end(), 0U);
    std::ranges::sort(by_address_, std::less<>(), address_of);
  }
  const auto found = std::ranges::lower_bound(by_address_, &value, std::less<>(), address_of);
  if (found == by_address_.end() || address_of(*found) != &value) return std::nullopt;
  return *found;
}

std::string JsonDocument::path_of(const std::vector<Place>& places, std::uint32_t place) {
  if (place == 0) return {};
  const Place& part = places[place];
  const json& parent = *places[part.parent].value;
  std::string path = path_of(places, part.parent);
  if (parent.is_array()) return under(path, fmt::format("[{}]", part.value - &parent.front()));
  for (const auto& member : parent.items()) {
    if (&member.value() == part.value) return under(path, member.key());
  }
  return path;
}

Result<void> JsonEvents::parse(std::string_view text, std::string file) {
  text_ = text;
  file_ = std::move(file);
  position_ = text.data();
  counted_to_ = 0;
  lines_passed_ = 0;
  error_.reset();
  // At a NUL the parser would stop as if the text ended there.
  const std::size_t nul = text.find('\0');
  if (nul == std::string_view::npos)
    json::sax_parse(Cursor(text.data(), position_), Cursor(text.data() + text.size(), position_), this);
  else
    stop({.line = line_of(text, nul), .message = "malformed JSON: a NUL character"});
  if (error_) return fail(*std::move(error_));
  return {};
}

std::int64_t JsonEvents::current_line() {
  const std::size_t last = num_read() - 1;  // of a scalar, at most what comes behind it
  const std::string_view passed = text_.substr(counted_to_, last - counted_to_);
  lines_passed_ += std::count(passed.begin(), passed.end(), '\n');
  counted_to_ = last;
  return 1 + lines_passed_;
}

bool JsonEvents::stop(Error error) {
  error.file = file_;
  error_ = std::move(error);
  return false;
}

bool JsonEvents::check_depth(std::size_t depth) {
  constexpr std::size_t kMostLevels = 64;
  if (depth < kMostLevels) return true;
  return stop({.line = current_line(), .message = "JSON nested more than 64 levels deep"});
}

bool JsonEvents::parse_error(std::size_t byte, const std::string& token, const json::exception& error) {
  if (dynamic_cast<const json::parse_error*>(&error) == nullptr)
    return stop(overflow_error(text_.substr(0, num_read()), token));
  return stop({.line = line_of(text_, byte - 1), .message = malformed_json(error.what())});
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
