/// Typed access to the fields of Kubernetes' objects in a JSON document.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/json_reader.hpp"
#include "tools/live/kubernetes_objects.hpp"

namespace vtrain {

/// Takes values out of the objects of one document. The first error is remembered with file, line and field;
/// all later reads return empty values. An absent value and null are the same.
class KubernetesFields {
 public:
  explicit KubernetesFields(const JsonDocument& document) : document_(document) {}

  /// The object under a key; an empty one without the key.
  const nlohmann::json& object(const nlohmann::json& in, std::string_view key);
  /// The list of objects under a key; an empty one without the key.
  const nlohmann::json& objects(const nlohmann::json& in, std::string_view key);
  /// True if a key has a value other than null.
  static bool has(const nlohmann::json& in, std::string_view key);

  /// A text, empty without the key.
  std::string text(const nlohmann::json& in, std::string_view key);
  /// A text that is not empty, under a required key.
  std::string required_text(const nlohmann::json& in, std::string_view key);
  /// Texts in a list, none without the key.
  std::vector<std::string> texts(const nlohmann::json& in, std::string_view key);
  bool boolean(const nlohmann::json& in, std::string_view key, bool absent);
  /// A whole number in [low, high]; none without the key.
  std::optional<std::int64_t> integer(const nlohmann::json& in, std::string_view key, std::int64_t low,
                                      std::int64_t high);
  /// A number of pods or the like: 0 to 10 million.
  std::int64_t count(const nlohmann::json& in, std::string_view key, std::int64_t absent);
  /// A span in whole seconds, 0 or more; none without the key.
  std::optional<std::int64_t> seconds(const nlohmann::json& in, std::string_view key);
  /// An instant as RFC 3339 writes it, in seconds since 1970; none without the key.
  std::optional<std::int64_t> instant(const nlohmann::json& in, std::string_view key);
  /// A quantity of 0 or more in base units of a resource, written as a text or a number; 0 without the key.
  kueue::Amount quantity(const nlohmann::json& in, std::string_view key, std::string_view resource);
  /// Quantities by resource.
  ResourceAmounts amounts(const nlohmann::json& in, std::string_view key);
  /// Labels, annotations or a selector.
  kueue::Labels labels(const nlohmann::json& in, std::string_view key);
  /// Position in `names` of a text that must be one of them; `absent` without the key.
  std::size_t choice(const nlohmann::json& in, std::string_view key, std::span<const std::string_view> names,
                     std::size_t absent);

  /// The condition of a type in `status`, an empty object without it.
  const nlohmann::json& condition(const nlohmann::json& status, std::string_view type);
  /// True if there is a condition of a type whose status is `True`.
  bool has_condition(const nlohmann::json& status, std::string_view type);
  /// The controller among the owners in `metadata`, or else the first of them.
  OwnerReference owner(const nlohmann::json& metadata);

  /// Remembers an error at a key of an object of the document.
  void complain(const nlohmann::json& in, std::string_view key, std::string message);
  const std::optional<Error>& error() const { return error_; }

 private:
  /// The value under a key; null if there is none or an error was met before.
  const nlohmann::json* find(const nlohmann::json& in, std::string_view key) const;
  void complain_type(const nlohmann::json& in, std::string_view key, std::string_view expected);

  const JsonDocument& document_;
  std::optional<Error> error_;
};

}  // namespace vtrain
