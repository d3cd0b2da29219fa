#include "core/text/time_span.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

struct Unit {
  char letter;
  std::int64_t seconds;
};

constexpr std::array<Unit, 5> kUnits = {{{'w', 604800}, {'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};

/// None where `text` is no number in the range, with one of the units or, if allowed, in seconds.
std::optional<SimDuration> read_time_span(std::string_view text, bool seconds_need_unit) {
  std::string_view number = trim(text);
  std::int64_t seconds_per_unit = 1;
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& each) { return number.ends_with(each.letter); });
  if (unit != kUnits.end()) {
    number = trim(number.substr(0, number.size() - 1));
    seconds_per_unit = unit->seconds;
  } else if (seconds_need_unit && number != "0") {
    return std::nullopt;
  }
  const std::int64_t most = kHundredYears.count() / seconds_per_unit;
  if (const auto exact = parse_seconds_as_ns(number)) {
    if (*exact < 0 || *exact > most) return std::nullopt;
    return SimDuration(*exact * seconds_per_unit);
  }
  // More digits than nanoseconds have, or an exponent.
  const auto rounded = parse_number(number, 0, static_cast<double>(most) / 1e9);
  if (!rounded) return std::nullopt;
  return SimDuration(std::llround(*rounded * static_cast<double>(seconds_per_unit) * 1e9));
}

}  // namespace

Result<SimDuration> parse_time_span(std::string_view text) {
  if (const auto span = read_time_span(text, true)) return *span;
  return fail({.message = expected_found("a duration up to 100 years such as 90s, 45m, 720h or 30d", text)});
}

Result<SimDuration> parse_time_span_or_seconds(std::string_view text) {
  if (const auto span = read_time_span(text, false)) return *span;
  return fail({.message = expected_found("a time such as 90, 15m, 1.5h or 7d, of at most 100 years", text)});
}

std::string describe_time_span(SimDuration span) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  std::string text;
  std::int64_t rest = span.count();
  for (const Unit& unit : kUnits) {
    // Weeks are rare in the field: days up to any number are read more easily.
    const std::int64_t length = unit.seconds * kPerSecond;
    if (unit.letter == 'w' || unit.letter == 's' || rest < length) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", with_thousands(rest / length), unit.letter);
    rest %= length;
  }
  if (rest == 0 && !text.empty()) return text;
  if (!text.empty()) text += ' ';
  append_ns_as_seconds(text, rest);
  return text + " s";
}

}  // namespace vtrain
