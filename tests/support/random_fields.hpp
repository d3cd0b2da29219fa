/// Random values for structs with a table of fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "core/base/fields.hpp"
#include "core/base/rng.hpp"

namespace vtrain {

/// Gives every field a random value within its bounds; numbers are at most `largest`.
template <class Struct>
void randomize(std::span<const Field<Struct>> fields, Struct& of, RandomStream& random,
               std::int64_t largest = 1'000'000'000) {
  for (const Field<Struct>& field : fields) {
    const std::int64_t high = std::min(field.high, largest);
    const auto number = [&] {
      return field.low +
             static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - field.low + 1)));
    };
    const auto set = [&](const auto& member) {
      using Member = std::decay_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, NamedMember<Struct>>)
        member.set_place(of, static_cast<std::size_t>(random.below(member.names().size())));
      else if constexpr (std::is_same_v<Member, std::int64_t Struct::*>)
        of.*member = number();
      else if constexpr (std::is_same_v<Member, double Struct::*>)
        of.*member = random.uniform() * static_cast<double>(high);
      else if constexpr (std::is_same_v<Member, bool Struct::*>)
        of.*member = random.below(2) == 1;
      else
        of.*member = std::string(static_cast<std::size_t>(random.below(5)), 'x');
    };
    std::visit(set, field.member);
  }
}

}  // namespace vtrain
