/// JSON for the kernel table. The profiler is built on nodes with only CUDA and a compiler, so it has its own
/// reader. The rest of the project reads JSON with nlohmann's library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vtrain::profiler {

struct JsonMember;

/// A JSON value. The accessors throw `InputError` with the place in the document for a value of another kind.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;
  using Content = std::variant<std::nullptr_t, bool, double, std::string, Array, Object>;

  // Defined where a member is complete.
  JsonValue();
  JsonValue(Content content, std::string place);

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(content_); }
  const std::string& text() const;
  double number() const;
  /// A whole number between -2^53 and 2^53.
  std::int64_t integer() const;
  /// A whole number from `least` to 2^53.
  std::int64_t integer(std::int64_t least) const;
  const Array& array() const;
  /// The member of that name; an error if there is none.
  const JsonValue& at(std::string_view name) const;
  /// The member of that name, or null.
  const JsonValue* find(std::string_view name) const;
  /// The members of an object in their order.
  const Object& members() const;
  /// Place of the value in the document: `operators[3].warm`.
  const std::string& place() const { return place_; }

 private:
  Content content_;
  std::string place_;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

/// Reads one document of at most 64 MiB and 16 levels. Errors are `InputError`s with the line. `\u` escapes
/// beyond ASCII are rejected, as the profiler writes none.
JsonValue parse_json(std::string_view text);

/// A string with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace vtrain::profiler
