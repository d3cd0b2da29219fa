/// Durations and quantities with units as people write them: `90s`, `1.5h`, `7d`; `50GB/s`, `400Gbit/s`,
/// `5us`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// The longest time that a trace or an option may name, 100 years of 365 days. An instant plus a duration
/// then fits into 64 bits of nanoseconds (292 years).
inline constexpr SimDuration kHundredYears = std::chrono::hours(24 * 365 * 100);

/// A decimal number with `s`, `m`, `h`, `d` or `w`, or `0`, from 0 to `kHundredYears`. Exact with up to nine
/// digits after the point, else rounded to a nanosecond. The error carries only the message.
Result<SimDuration> parse_time_span(std::string_view text);

/// A time span for people, exactly: `7 d`, `1 h 30 m`, `1.5 s`.
std::string describe_time_span(SimDuration span);

/// The value of a text in `unit`, which is `B/s`, `B`, `FLOP/s`, `ns`, `1/s`, or `1` for a plain number. The
/// text is a number alone, or a number with its unit, which may have a prefix from `n` to `P`. Bandwidths may
/// be in `bit/s`; times are written in `s`. None for another text; the caller checks the range.
std::optional<double> parse_quantity(std::string_view text, std::string_view unit);

}  // namespace vtrain
