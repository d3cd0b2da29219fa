/// Tables of the members of a struct, from which its JSON, its options, its text and its fingerprint derive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/result.hpp"

namespace vtrain {

/// A member that is an enumeration. Its values are positions in a list of names.
template <class Struct>
struct NamedMember {
  std::span<const std::string_view> (*names)() = nullptr;
  std::size_t (*place)(const Struct& of) = nullptr;
  void (*set_place)(Struct& of, std::size_t place) = nullptr;

  /// The name of the member's value.
  std::string_view name(const Struct& of) const { return names()[place(of)]; }
};

template <class Member>
struct MemberTypes;
/// The types behind a pointer to a member.
template <class Of, class Type>
struct MemberTypes<Type Of::*> {
  using Struct = Of;
  using Value = Type;
};

/// Describes a member that is an enumeration. `names` returns the names of its values, from 0 on.
template <auto member, std::span<const std::string_view> (*names)()>
constexpr auto named_member() {
  using Struct = typename MemberTypes<decltype(member)>::Struct;
  using Value = typename MemberTypes<decltype(member)>::Value;
  return NamedMember<Struct>{
      .names = names,
      .place = [](const Struct& of) { return static_cast<std::size_t>(of.*member); },
      .set_place = [](Struct& of, std::size_t place) { of.*member = static_cast<Value>(place); }};
}

/// One member of a struct: a row of its table. Its default is the struct's.
template <class Struct>
struct Field {
  using Member = std::variant<std::int64_t Struct::*, double Struct::*, bool Struct::*, std::string Struct::*,
                              NamedMember<Struct>>;
  std::string_view key{};      ///< key in JSON
  Member member{};             ///< pointer to the member
  std::string_view meaning{};  ///< meaning in one line
  std::string_view unit{};     ///< unit of a number; empty if the meaning gives it
  std::int64_t low = 0;        ///< smallest number
  std::int64_t high = 0;       ///< largest number
  /// Reading JSON without the key is an error, unless the struct has a number that is not 0.
  bool required = false;
  std::string_view option{};   ///< name in options; empty: options do not set it
  std::string_view alias{};    ///< short name in options, as people of the field write it
  std::string_view title{};    ///< title in tables of text; empty: another column shows the value
  bool hides_default = false;  ///< text leaves out the default
  bool omits_default = false;  ///< JSON leaves out the default
};

/// The text of a field's value, without loss.
template <class Struct>
std::string field_text(const Field<Struct>& field, const Struct& of) {
  const auto text = [&of](const auto& member) -> std::string {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, NamedMember<Struct>>)
      return std::string(member.name(of));
    else
      return fmt::format("{}", of.*member);
  };
  return std::visit(text, field.member);
}

/// True if a field has its default value.
template <class Struct>
bool has_default(const Field<Struct>& field, const Struct& of) {
  static const Struct defaults{};
  const auto equal = [&of](const auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, NamedMember<Struct>>)
      return member.name(of) == member.name(defaults);
    else
      return of.*member == defaults.*member;
  };
  return std::visit(equal, field.member);
}

/// Sets a field to the value in a text. The error gives the expected values.
template <class Struct>
Result<void> set_field(const Field<Struct>& field, Struct& of, std::string_view text) {
  const auto set = [&](const auto& member) -> Result<void> {
    using Member = std::decay_t<decltype(member)>;
    constexpr std::string_view kBooleans[] = {"false", "true"};
    const auto store = [](auto& to, auto value) -> Result<void> {
      if (!value) return fail(std::move(value.error()));
      to = *std::move(value);
      return {};
    };
    if constexpr (std::is_same_v<Member, NamedMember<Struct>>) {
      const auto place = parse_name<std::size_t>("", member.names(), text);
      if (!place) return fail(place.error());
      member.set_place(of, *place);
      return {};
    } else if constexpr (std::is_same_v<Member, std::int64_t Struct::*>) {
      return store(of.*member, parse_integer(text, field.low, field.high));
    } else if constexpr (std::is_same_v<Member, double Struct::*>) {
      return store(of.*member,
                   parse_number(text, static_cast<double>(field.low), static_cast<double>(field.high)));
    } else if constexpr (std::is_same_v<Member, bool Struct::*>) {
      return store(of.*member, parse_name<bool>("", kBooleans, text));
    } else {
      of.*member = std::string(text);
      return {};
    }
  };
  return std::visit(set, field.member);
}

/// All fields of a struct as text: `tensor 8 context 1 ...`, equal for equal structs only.
template <class Struct>
std::string fingerprint(std::span<const Field<Struct>> fields, const Struct& of) {
  std::string text;
  for (const Field<Struct>& field : fields)
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", field.key, field_text(field, of));
  return text;
}

/// Converts to every type, so that the members of a struct can be counted.
struct AnyValue {
  template <class Type>
  operator Type() const;
};

/// True if a struct can be made from this many values in braces.
template <class Struct, std::size_t... places>
constexpr bool takes_values(std::index_sequence<places...> /*places*/) {
  return requires {
    Struct{(static_cast<void>(places), AnyValue{})...};
  };
}

/// Number of members of a struct without base. A table with this many rows is complete.
template <class Struct, std::size_t at_least = 1>
constexpr std::size_t num_members() {
  if constexpr (takes_values<Struct>(std::make_index_sequence<at_least + 1>()))
    return num_members<Struct, at_least + 1>();
  else
    return at_least;
}

}  // namespace vtrain
