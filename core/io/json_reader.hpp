/// Reads JSON that people write: every error names file, line and key.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// `text` as a JSON string in quotes, printable; invalid UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

/// The message about a text that is no JSON: the parser's message without its codes.
std::string malformed_json(std::string_view complaint);

/// Treatment of `NaN`, `Infinity` and `-Infinity`: an error, or null. JSON (RFC 8259, section 6) lacks them,
/// but Python's `json` writes them.
enum class NonFinite : std::uint8_t { Refused, Null };

/// A JSON document that knows the line of each value, so that errors can name it.
class JsonDocument {
 public:
  /// Parses `text`, which is not kept; at most 64 levels of nesting and two million values, no key twice in
  /// an object. `file` is used in errors.
  static Result<JsonDocument> parse(std::string text, std::string file,
                                    NonFinite non_finite = NonFinite::Refused);

  /// The outermost value. Its address is stable when the document moves.
  const nlohmann::json& root() const { return *root_; }
  /// File name as given to `parse`.
  const std::string& file() const { return file_; }
  /// An error at the value, or the missing value, under `key` of `object`, which is a part of this document.
  /// The key may be a path, `experts.top_k`, or empty for the object itself. The error's field is the path
  /// from the root, `groups[1].num_nodes`, its line that of the deepest part of the path that the document
  /// has. The first call sorts the values by address; calls must not run at the same time.
  Error error_at(const nlohmann::json& object, std::string_view key, std::string message) const;

 private:
  class Builder;

  /// A value of the document with its place in the text.
  struct Place {
    nlohmann::json* value = nullptr;
    std::uint32_t parent = 0;  ///< position in `places_`: the object or list around it
    std::uint32_t line = 0;    ///< line of the key or list element; 0 for the root
  };

  /// The position of a value in `places_`, if it is a part of the document.
  std::optional<std::uint32_t> find(const nlohmann::json& value) const;
  /// The path from the root to a place.
  static std::string path_of(const std::vector<Place>& places, std::uint32_t place);

  std::string file_;
  std::unique_ptr<nlohmann::json> root_ = std::make_unique<nlohmann::json>();
  std::vector<Place> places_;                      ///< every value, in the order of the text
  mutable std::vector<std::uint32_t> by_address_;  ///< positions in `places_`; filled by the first search
};

/// Receives the parts of a JSON text in their order, so that a large file needs no document. Derived classes
/// interpret each part. The parse ends when they return false: quietly, or with the error of `stop` or
/// `check_depth`.
class JsonEvents : public nlohmann::json::json_sax_t {
 public:
  /// Passes every part of `text` to the derived class. Malformed JSON is an error as in
  /// `JsonDocument::parse`. `file` is used in errors.
  Result<void> parse(std::string_view text, std::string file);

  bool parse_error(std::size_t byte, const std::string& token, const nlohmann::json::exception& error) final;

 protected:
  /// Number of characters read so far. The last one is the bracket or the closing quote of the current part;
  /// after a number, one more has been read.
  std::size_t num_read() const { return static_cast<std::size_t>(position_ - text_.data()); }
  /// Line of the current part, a bracket or a scalar. Each call continues the count of the last.
  std::int64_t current_line();
  /// Ends the parse with an error of the file. Returns false.
  bool stop(Error error);
  /// Checks the nesting when a bracket opens and `depth` are open already. More than 64 end the parse with an
  /// error. Returns true to continue.
  bool check_depth(std::size_t depth);

 private:
  std::string_view text_;
  std::string file_;
  const char* position_ = nullptr;  ///< position in `text_`, after the last character that was read
  std::size_t counted_to_ = 0;      ///< length of the part of `text_` that has `lines_passed_` lines
  std::int64_t lines_passed_ = 0;
  std::optional<Error> error_;
};

/// Typed access to the keys of one JSON object. The first failed access is remembered; later ones do nothing.
/// A reader can thus be a plain list of fields with one check at the end.
class JsonFields {
 public:
  /// `object` is a part of `document`; anything but an object is an error.
  JsonFields(const JsonDocument& document, const nlohmann::json& object);

  /// True if the key is present with a value other than null.
  bool has(std::string_view key) const;
  /// A whole number in [low, high] under a required key.
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  /// A whole number in [low, high], or `absent` without the key.
  std::int64_t integer_or(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t absent);
  /// A finite number in [low, high] under a required key.
  double number(std::string_view key, double low, double high);
  /// A finite number in [low, high], or `absent` without the key.
  double number_or(std::string_view key, double low, double high, double absent);
  /// True or false, or `absent` without the key.
  bool boolean_or(std::string_view key, bool absent);
  /// A text under a required key.
  std::string string(std::string_view key);
  /// A text, or `absent` without the key.
  std::string string_or(std::string_view key, std::string absent);

  /// Position in `names` of a string, which must be one of them; `absent` without the key.
  std::size_t choice_or(std::string_view key, std::span<const std::string_view> names, std::size_t absent);

  /// Error for a key that is not in `known`; names the nearest known one.
  void allow_only(std::span<const std::string_view> known);
  /// Remembers the caller's error at `key`, unless there is one already.
  void complain(std::string_view key, std::string message) { complain(object_, key, std::move(message)); }
  /// Remembers the caller's error at a key of another object of the document.
  void complain(const nlohmann::json& object, std::string_view key, std::string message);
  /// The first error, if any.
  const std::optional<Error>& error() const { return error_; }

 private:
  const nlohmann::json* require(std::string_view key);

  const JsonDocument& document_;
  const nlohmann::json& object_;
  std::optional<Error> error_;
};

}  // namespace vtrain
