/// Durations as people say them: `90s`, `15m`, `1.5h`, `7d`, `2w`.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// The longest time that a trace or an option may name, 100 years of 365 days: an instant plus a duration
/// then stays within the 292 years that 64 bits of nanoseconds hold.
inline constexpr SimDuration kHundredYears = std::chrono::hours(24 * 365 * 100);

/// A decimal number with `s`, `m`, `h`, `d` or `w`, or `0`: 0 to `kHundredYears`, to the nanosecond: exact
/// with up to nine digits behind the point, else the nearest. The error carries only the message.
Result<SimDuration> parse_time_span(std::string_view text);

/// The same where a number without a unit is seconds: `90`.
Result<SimDuration> parse_time_span_or_seconds(std::string_view text);

/// The same for people, exactly: `7 d`, `1 h 30 m`, `1.5 s`.
std::string describe_time_span(SimDuration span);

}  // namespace vtrain
