/// Structs as JSON and back, from one list of their members.
///
/// The list is a member function or a free function, which a writer and a reader call alike:
///
///     template <class Archive>
///     void members(Archive& archive, Step& of) {
///       archive("time", of.time);
///       archive("gpus", of.gpus, 0);  // left out where it is 0
///       archive.check(of.gpus >= 0, "gpus", "at least 0");
///     }
///
/// Instants and durations are whole nanoseconds, counts and ids whole numbers, pairs and lists arrays.
/// Numbers come back exactly. A pointer to JSON is a part that somebody else writes and reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Smallest whole number that is read. Differences to times from 0 on stay in the range of the clock.
inline constexpr std::int64_t kLeastWholeNumber = -(std::int64_t{1} << 62);

/// The value as JSON. Doubles must be finite.
template <class Value>
nlohmann::json json_of_members(const Value& value);

/// Reads such JSON into `value`. Errors name the path to the part that is missing, unknown, of another type
/// or out of range, such as `jobs[3].left`. `value` is then without meaning.
template <class Value>
Result<void> read_members(const nlohmann::json& from, Value& value);

/// Writes members into an object.
class MemberWriter {
 public:
  /// Adds a member.
  template <class Value>
  void operator()(const char* key, const Value& value) {
    object_[key] = json_of_members(value);
  }
  /// Adds a member unless it is absent.
  template <class Value>
  void operator()(const char* key, const std::optional<Value>& value) {
    if (value) object_[key] = json_of_members(*value);
  }
  /// Adds a member unless it has its usual value; that of a list is an empty one.
  template <class Value>
  void operator()(const char* key, const Value& value, const std::type_identity_t<Value>& usual) {
    bool is_usual = false;
    if constexpr (requires { value.empty(); })
      is_usual = value.empty();
    else
      is_usual = value == usual;
    if (!is_usual) object_[key] = json_of_members(value);
  }
  /// Adds the number of an enumeration's value.
  template <class Enum>
  void choice(const char* key, const Enum& value, Enum /*last*/) {
    object_[key] = static_cast<std::int64_t>(value);
  }
  /// Checks nothing: what is written is valid.
  void check(bool, const char*, const char*) {}
  /// The object with all members.
  nlohmann::json take() { return std::move(object_); }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

/// Reads members of an object. The first error is kept, and every later read does nothing.
class MemberReader {
 public:
  /// Anything but an object is an error. Both outlive the reader.
  MemberReader(const nlohmann::json& from, std::optional<Error>& error);

  /// Reads a member that must be there.
  template <class Value>
  void operator()(const char* key, Value& value) {
    if (const auto* const found = find(key, true)) read(key, *found, value);
  }
  /// Reads a member that may be absent.
  template <class Value>
  void operator()(const char* key, std::optional<Value>& value) {
    value.reset();
    if (const auto* const found = find(key, false)) read(key, *found, value.emplace());
  }
  /// Reads a member that is absent where it has its usual value.
  template <class Value>
  void operator()(const char* key, Value& value, const std::type_identity_t<Value>& usual) {
    if (const auto* const found = find(key, false))
      read(key, *found, value);
    else
      value = usual;
  }
  /// Reads the number of an enumeration's value, up to that of `last`.
  template <class Enum>
  void choice(const char* key, Enum& value, Enum last) {
    std::uint8_t number = 0;
    (*this)(key, number);
    check(number <= static_cast<std::uint8_t>(last), key, "the number of a known value");
    if (!error_) value = static_cast<Enum>(number);
  }
  /// Makes an error at `key` where a condition does not hold.
  void check(bool holds, const char* key, const char* expected);
  /// Makes an error where the object has members that nobody has read.
  void finish();

 private:
  const nlohmann::json* find(const char* key, bool required);
  template <class Value>
  void read(const char* key, const nlohmann::json& from, Value& value);

  const nlohmann::json& object_;
  std::optional<Error>& error_;
  std::size_t num_read_ = 0;
};

/// Parts of the functions above.
namespace json_members {

template <class>
constexpr bool kIsId = false;
template <class Tag>
constexpr bool kIsId<Id<Tag>> = true;
template <class>
constexpr bool kIsCount = false;
template <class Tag, class Rep>
constexpr bool kIsCount<Quantity<Tag, Rep>> = true;
template <class>
constexpr bool kIsList = false;
template <class Element>
constexpr bool kIsList<std::vector<Element>> = true;
template <class>
constexpr bool kIsPair = false;
template <class First, class Second>
constexpr bool kIsPair<std::pair<First, Second>> = true;
template <class>
constexpr bool kIsMap = false;
template <class Value>
constexpr bool kIsMap<std::map<std::string, Value>> = true;

/// Calls the list of a struct.
template <class Archive, class Value>
void visit(Archive& archive, Value& value) {
  if constexpr (requires { value.members(archive); })
    value.members(archive);
  else
    members(archive, value);
}

/// A whole number from `low` to `high`; 0 with an error.
std::int64_t whole_number(const nlohmann::json& from, std::int64_t low, std::int64_t high,
                          std::optional<Error>& error);
/// A finite number; 0 with an error.
double finite_number(const nlohmann::json& from, std::optional<Error>& error);
/// Makes the error of a value of another type.
void complain(std::optional<Error>& error, const char* expected, const nlohmann::json& found);
/// Puts a step before the path of an error that a part of a value has.
void add_step(std::optional<Error>& error, const std::string& step);

template <class Value>
void read_value(const nlohmann::json& from, Value& value, std::optional<Error>& error) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if constexpr (std::is_same_v<Value, const nlohmann::json*>) {
    value = &from;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (!from.is_boolean()) return complain(error, "true or false", from);
    value = from.get<bool>();
  } else if constexpr (std::is_same_v<Value, double>) {
    value = finite_number(from, error);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    if (!from.is_string()) return complain(error, "a text", from);
    value = from.get<std::string>();
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    value = whole_number(from, kLeastWholeNumber, kLargest, error);
  } else if constexpr (std::is_integral_v<Value>) {
    value = static_cast<Value>(
        whole_number(from, std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max(), error));
  } else if constexpr (std::is_same_v<Value, SimTime>) {
    value = SimTime(SimDuration(whole_number(from, kLeastWholeNumber, kLargest, error)));
  } else if constexpr (std::is_same_v<Value, SimDuration>) {
    value = SimDuration(whole_number(from, kLeastWholeNumber, kLargest, error));
  } else if constexpr (kIsId<Value>) {
    value = Value(static_cast<std::uint32_t>(whole_number(from, 0, std::int64_t{Value::kNone} - 1, error)));
  } else if constexpr (kIsCount<Value>) {
    using Number = decltype(value.value);
    value = Value(static_cast<Number>(whole_number(from, 0, std::numeric_limits<Number>::max(), error)));
  } else if constexpr (kIsList<Value>) {
    if (!from.is_array()) return complain(error, "a list", from);
    value.clear();
    for (std::size_t i = 0; i < from.size() && !error; ++i) {
      read_value(from[i], value.emplace_back(), error);
      if (error) add_step(error, "[" + std::to_string(i) + "]");
    }
  } else if constexpr (kIsPair<Value>) {
    if (!from.is_array() || from.size() != 2) return complain(error, "a list of two", from);
    read_value(from[0], value.first, error);
    if (!error) read_value(from[1], value.second, error);
  } else if constexpr (kIsMap<Value>) {
    if (!from.is_object()) return complain(error, "an object", from);
    value.clear();
    for (auto item = from.begin(); item != from.end() && !error; ++item) {
      read_value(*item, value[item.key()], error);
      if (error) add_step(error, item.key());
    }
  } else {
    MemberReader reader(from, error);
    visit(reader, value);
    reader.finish();
  }
}

}  // namespace json_members

template <class Value>
nlohmann::json json_of_members(const Value& value) {
  using nlohmann::json;
  if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<Value, const json*>) {
    return *value;
  } else if constexpr (std::is_same_v<Value, SimTime>) {
    return value.time_since_epoch().count();
  } else if constexpr (std::is_same_v<Value, SimDuration>) {
    return value.count();
  } else if constexpr (json_members::kIsId<Value> || json_members::kIsCount<Value>) {
    return value.value;
  } else if constexpr (json_members::kIsList<Value>) {
    json list = json::array();
    for (const auto& element : value)
      list.push_back(json_of_members(element));
    return list;
  } else if constexpr (json_members::kIsPair<Value>) {
    json pair = json::array();
    pair.push_back(json_of_members(value.first));
    pair.push_back(json_of_members(value.second));
    return pair;
  } else if constexpr (json_members::kIsMap<Value>) {
    json object = json::object();
    for (const auto& [key, each] : value)
      object[key] = json_of_members(each);
    return object;
  } else {
    MemberWriter writer;
    json_members::visit(writer, const_cast<Value&>(value));  // a writer changes nothing
    return writer.take();
  }
}

template <class Value>
Result<void> read_members(const nlohmann::json& from, Value& value) {
  std::optional<Error> error;
  json_members::read_value(from, value, error);
  if (error) return fail(*std::move(error));
  return {};
}

template <class Value>
void MemberReader::read(const char* key, const nlohmann::json& from, Value& value) {
  json_members::read_value(from, value, error_);
  if (error_) json_members::add_step(error_, key);
}

}  // namespace vtrain
