#include "core/text/quantities.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

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

/// Reads a time span; none if `text` is no number in the range with one of the units.
std::optional<SimDuration> read_time_span(std::string_view text) {
  std::string_view number = trim(text);
  std::int64_t seconds_per_unit = 1;
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& each) { return number.ends_with(each.letter); });
  if (unit != kUnits.end()) {
    number = trim(number.substr(0, number.size() - 1));
    seconds_per_unit = unit->seconds;
  } else if (number != "0") {
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

/// A written unit of a quantity, by the wanted unit.
struct WrittenUnit {
  std::string_view unit;
  std::string_view written;
  double factor;  ///< factor from the written to the wanted unit
};
constexpr std::array kWrittenUnits = {
    WrittenUnit{"B/s", "B/s", 1},       WrittenUnit{"B/s", "bit/s", 1.0 / 8}, WrittenUnit{"B", "B", 1},
    WrittenUnit{"FLOP/s", "FLOP/s", 1}, WrittenUnit{"ns", "s", 1e9},          WrittenUnit{"1/s", "/s", 1},
};

/// The factor from the written unit, which may begin with a prefix, to `unit`; none for another unit.
std::optional<double> written_factor(std::string_view written, std::string_view unit) {
  constexpr std::string_view kPrefixes = "numkMGTP";
  constexpr std::array kFactors = {1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e15};
  if (written.empty()) return 1;
  for (const WrittenUnit& known : kWrittenUnits) {
    if (known.unit != unit || !written.ends_with(known.written)) continue;
    const std::string_view prefix = written.substr(0, written.size() - known.written.size());
    if (prefix.empty()) return known.factor;
    const std::size_t place = kPrefixes.find(prefix);
    if (prefix.size() == 1 && place != std::string_view::npos) return known.factor * kFactors[place];
  }
  return std::nullopt;
}

}  // namespace

Result<SimDuration> parse_time_span(std::string_view text) {
  if (const auto span = read_time_span(text)) return *span;
  return fail({.message = expected_found("a duration up to 100 years such as 90s, 45m, 720h or 30d", text)});
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

std::optional<double> parse_quantity(std::string_view text, std::string_view unit) {
  constexpr double kMost = 1e300;
  const std::string_view quantity = trim(text);
  const std::size_t end = std::min(quantity.find_first_not_of("0123456789.eE+-"), quantity.size());
  const auto number = parse_number(quantity.substr(0, end), -kMost, kMost);
  const auto factor = written_factor(trim(quantity.substr(end)), unit);
  if (!number || !factor) return std::nullopt;
  return *number * *factor;
}

}  // namespace vtrain
