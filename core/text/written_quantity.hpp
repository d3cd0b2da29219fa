/// Quantities with units as people write them: `50GB/s`, `400Gbit/s`, `5us`.
#pragma once

#include <optional>
#include <string_view>

namespace vtrain {

/// What a text is in `unit`, which is `B/s`, `B`, `FLOP/s`, `ns`, `1/s`, or `1` for a number without one: a
/// number alone, or one with its unit, to which a prefix from `n` to `P` may belong. Bandwidths may be in
/// `bit/s`; times are written in `s`. Nothing for another text; the range is the caller's to check.
std::optional<double> parse_quantity(std::string_view text, std::string_view unit);

}  // namespace vtrain
