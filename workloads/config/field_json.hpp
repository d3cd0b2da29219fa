/// JSON of the structs that have a table of fields.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/fields.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {

/// The keys of a table.
template <class Struct>
std::vector<std::string_view> keys_of(std::span<const Field<Struct>> table) {
  std::vector<std::string_view> keys;
  for (const Field<Struct>& field : table)
    keys.push_back(field.key);
  return keys;
}

/// `'none', 'selective' or 'full'`.
inline std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += fmt::format("{}'{}'", separator, names[i]);
  }
  return text;
}

/// Reads one field; without its key the struct keeps its value.
template <class Struct>
void read_field(JsonFields& json, const Field<Struct>& field, Struct& to) {
  const auto read = [&](const auto& member) {
    using Member = std::decay_t<decltype(member)>;
    const bool is_missing = field.required && !json.has(field.key);
    if constexpr (std::is_same_v<Member, NamedMember<Struct>>) {
      if (is_missing) json.complain(field.key, "missing: expected " + alternatives(member.names()));
      member.set_place(to, json.choice_or(field.key, member.names(), member.place(to)));
    } else if constexpr (std::is_same_v<Member, std::int64_t Struct::*>) {
      if (is_missing && to.*member == 0) json.complain(field.key, "missing");
      to.*member = json.integer_or(field.key, field.low, field.high, to.*member);
    } else if constexpr (std::is_same_v<Member, double Struct::*>) {
      to.*member = json.number_or(field.key, static_cast<double>(field.low), static_cast<double>(field.high),
                                  to.*member);
    } else if constexpr (std::is_same_v<Member, bool Struct::*>) {
      to.*member = json.boolean_or(field.key, to.*member);
    } else {
      to.*member = json.string_or(field.key, to.*member);
    }
  };
  std::visit(read, field.member);
}

/// Reads all fields of a table.
template <class Struct>
void read_fields(JsonFields& json, std::span<const Field<Struct>> table, Struct& to) {
  for (const Field<Struct>& field : table)
    read_field(json, field, to);
}

/// The fields of a table under their keys, in its order.
template <class Struct>
nlohmann::ordered_json fields_to_json(std::span<const Field<Struct>> table, const Struct& from) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Field<Struct>& field : table) {
    if (field.omits_default && has_default(field, from)) continue;
    const auto write = [&](const auto& member) {
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, NamedMember<Struct>>)
        json[std::string(field.key)] = member.name(from);
      else
        json[std::string(field.key)] = from.*member;
    };
    std::visit(write, field.member);
  }
  return json;
}

/// Reads the struct that `fields_to_json` wrote. Throws `nlohmann::json::exception` if a key is missing or of
/// another kind, and `tl::bad_expected_access<Error>` if a name is unknown.
template <class Struct>
Struct fields_from_json(std::span<const Field<Struct>> table, const nlohmann::json& object) {
  Struct to;
  for (const Field<Struct>& field : table) {
    if (field.omits_default && !object.contains(field.key)) continue;
    const nlohmann::json& value = object.at(std::string(field.key));
    const auto read = [&](const auto& member) {
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, NamedMember<Struct>>)
        member.set_place(
            to, parse_name<std::size_t>(field.key, member.names(), value.get<std::string>()).value());
      else
        value.get_to(to.*member);
    };
    std::visit(read, field.member);
  }
  return to;
}

}  // namespace vtrain
