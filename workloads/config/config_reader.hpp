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

/// Reads a configuration and remembers which keys it has looked at. As `JsonFields`, it keeps the first
/// error.
class ConfigReader {
 public:
  /// `object` is the configuration, a part of `document`; both must outlive it.
  ConfigReader(const JsonDocument& document, const nlohmann::json& object)
      : fields_(document, object), object_(object) {}

  /// Takes note of a key that changes nothing of what is computed, whatever it holds.
  void accept(std::string_view key) { seen_.emplace(key); }
  /// The same; unless it is absent it must be true or false.
  void accept_flag(std::string_view key) { flag_or(key, false); }
  /// The same; unless it is absent it must be a size.
  void accept_size(std::string_view key) { size_or(key, 0); }
  /// A size that must be there.
  std::int64_t size(std::string_view key);
  /// The same under either of two names, of which the first is the usual one.
  std::int64_t size(std::string_view key, std::string_view other_key);
  /// The same, or 0, with a value for an absent key.
  std::int64_t size_or(std::string_view key, std::int64_t absent);
  /// The same where null is a value of its own: 0, none.
  std::int64_t size_or_none(std::string_view key, std::int64_t absent);
  /// True or false, or the value for an absent key.
  bool flag_or(std::string_view key, bool absent);
  /// A number, or the value for an absent key.
  double number_or(std::string_view key, double absent);
  /// A number from 0 to 1.
  double rate_or(std::string_view key, double absent);
  /// A text, or the value for an absent key.
  std::string text_or(std::string_view key, std::string absent);
  /// Complains unless the key is absent or has one of these texts.
  void expect_text(std::string_view key, std::initializer_list<std::string_view> allowed);
  /// Complains unless the key is absent or has this value.
  void expect_size(std::string_view key, std::int64_t expected, std::string_view why);
  /// Whether the key is there, be it with null.
  bool contains(std::string_view key);
  /// Whether the key is there with a value other than null.
  bool has(std::string_view key);
  /// The list under a key, empty when absent.
  const nlohmann::json& list(std::string_view key);
  /// The object under a key, empty when absent.
  const nlohmann::json& object(std::string_view key);
  /// An error of the caller's at a key, unless there is one already.
  void complain(std::string_view key, std::string message) { fields_.complain(key, std::move(message)); }
  /// The same at a key of another object of the document.
  void complain(const nlohmann::json& object, std::string_view key, std::string message) {
    fields_.complain(object, key, std::move(message));
  }
  /// An error of `check_model`, at the key that holds what it is about; under its own name if no key can.
  void complain(const Error& error);
  /// What the caller should be told of, beside the model.
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  /// Warns of keys that nobody asked for, but for those that change neither the shape nor the amount of the
  /// computation.
  void warn_of_the_rest();

  /// The first error, if any.
  const std::optional<Error>& error() const { return fields_.error(); }
  /// The warnings so far.
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  /// A whole number of at least `low` that is not larger than any size.
  std::int64_t whole_number(std::string_view key, std::int64_t low);
  /// What is under a key, which must be of the type of `empty`; this when absent.
  const nlohmann::json& nested(std::string_view key, const nlohmann::json& empty, std::string_view kind);

  JsonFields fields_;
  const nlohmann::json& object_;
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> warnings_;
};

}  // namespace vtrain
