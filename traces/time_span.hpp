/// Times as people say them on a command line: `90`, `15m`, `1.5h`, `7d`.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/units.hpp"

namespace vtrain {

/// A decimal number of seconds, or with `s`, `m`, `h`, `d` or `w` of that unit: 0 to `kMaxTraceTime`, exact
/// to the nanosecond. The error carries only the message.
Result<SimDuration> parse_time_span(std::string_view text);

/// The same for people, exactly: `7 d`, `1 h 30 m`, `1.5 s`.
std::string describe_time_span(SimDuration span);

}  // namespace vtrain
