/// Reading the `config.json` of a model: every key is accounted for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/json_reader.hpp"

namespace vtrain {

/// Reads a configuration and records the keys that it has read. Like `JsonFields`, it keeps the first error.
class ConfigReader {
 public:
  /// `object` is the configuration, a part of `document`; both must outlive it.
  ConfigReader(const JsonDocument& document, const nlohmann::json& object)
      : fields_(document, object), object_(object) {}

  /// Accepts a key that does not change the computation, with any value.
  void accept(std::string_view key) { seen_.emplace(key); }
  /// Accepts a key that does not change the computation; its value must be true or false.
  void accept_flag(std::string_view key) { flag_or(key, false); }
  /// Accepts a key that does not change the computation; its value must be a size.
  void accept_size(std::string_view key) { size_or(key, 0); }
  /// A required size.
  std::int64_t size(std::string_view key);
  /// A required size under either of two names; the first is the usual one.
  std::int64_t size(std::string_view key, std::string_view other_key);
  /// A size or 0; `absent` if the key is absent.
  std::int64_t size_or(std::string_view key, std::int64_t absent);
  /// A size, or 0 for null; `absent` if the key is absent.
  std::int64_t size_or_none(std::string_view key, std::int64_t absent);
  /// True or false; `absent` if the key is absent.
  bool flag_or(std::string_view key, bool absent);
  /// A number; `absent` if the key is absent.
  double number_or(std::string_view key, double absent);
  /// A number from 0 to 1; `absent` if the key is absent.
  double rate_or(std::string_view key, double absent);
  /// A text; `absent` if the key is absent.
  std::string text_or(std::string_view key, std::string absent);
  /// Reports an error unless the key is absent or has one of these texts.
  void expect_text(std::string_view key, std::initializer_list<std::string_view> allowed);
  /// Reports an error unless the key is absent or has this value; `why` explains it.
  void expect_size(std::string_view key, std::int64_t expected, std::string_view why);
  /// True if the key is present, even with null.
  bool contains(std::string_view key);
  /// True if the key is present with a value other than null.
  bool has(std::string_view key);
  /// The list under a key, empty if absent.
  const nlohmann::json& list(std::string_view key);
  /// The object under a key, empty if absent.
  const nlohmann::json& object(std::string_view key);
  /// Reports an error at a key, unless there is one already.
  void complain(std::string_view key, std::string message) { fields_.complain(key, std::move(message)); }
  /// Reports an error at a key of another object of the document.
  void complain(const nlohmann::json& object, std::string_view key, std::string message) {
    fields_.complain(object, key, std::move(message));
  }
  /// Reports an error of `check_model` at the key of its field; under the field's own name if it has no key.
  void complain(const Error& error);
  /// Adds a warning for the caller.
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  /// Warns of keys that were not read, except those that change neither the shape nor the amount of
  /// computation.
  void warn_of_the_rest();

  /// The first error, if any.
  const std::optional<Error>& error() const { return fields_.error(); }
  /// Takes the warnings so far.
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  /// A whole number of at least `low` that is not larger than any size.
  std::int64_t whole_number(std::string_view key, std::int64_t low);
  /// The value under a key, which must have the type of `empty`; `empty` if absent.
  const nlohmann::json& nested(std::string_view key, const nlohmann::json& empty, std::string_view kind);

  JsonFields fields_;
  const nlohmann::json& object_;
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> warnings_;
};

}  // namespace vtrain
