/// JSON Schemas of structs that have a table of fields.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "core/base/fields.hpp"

namespace vtrain::serve {

/// The schema of one row.
template <class Struct>
nlohmann::ordered_json field_schema(const Field<Struct>& field) {
  nlohmann::ordered_json schema;
  const auto describe = [&](const auto& member) {
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, NamedMember<Struct>>) {
      schema["type"] = "string";
      schema["enum"] = member.names();
    } else if constexpr (std::is_same_v<Member, bool Struct::*>) {
      schema["type"] = "boolean";
    } else if constexpr (std::is_same_v<Member, std::string Struct::*>) {
      schema["type"] = "string";
    } else {
      schema["type"] = std::is_same_v<Member, double Struct::*> ? "number" : "integer";
      schema["minimum"] = field.low;
      schema["maximum"] = field.high;
    }
  };
  std::visit(describe, field.member);
  schema["description"] = field.meaning;
  return schema;
}

/// The schema of an object with these fields and no others.
template <class Struct>
nlohmann::ordered_json object_schema(std::span<const Field<Struct>> fields) {
  nlohmann::ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
  for (const Field<Struct>& field : fields) {
    schema["properties"][std::string(field.key)] = field_schema(field);
    if (field.required) schema["required"].push_back(field.key);
  }
  return schema;
}

}  // namespace vtrain::serve
