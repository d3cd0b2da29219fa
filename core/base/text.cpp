#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace vtrain {
namespace {

tl::unexpected<Error> bad_value(std::string_view expected, std::string_view found) {
  return fail({.message = expected_found(expected, found)});
}

std::string range_text(std::string_view what, double low, double high) {
  const bool bounded_above = high < 9e18;
  if (low <= -9e18) return bounded_above ? fmt::format("{} of at most {}", what, high) : std::string(what);
  return bounded_above ? fmt::format("{} from {} to {}", what, low, high)
                       : fmt::format("{} of at least {}", what, low);
}

/// The number that a formatted double is; `beyond` where the largest ones were rounded beyond all doubles.
double double_of(std::string_view text, double beyond) {
  double value = beyond;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Bytes of the first character of `text`, 0 if it is a control character (U+0000 to U+001F, U+007F to
/// U+009F) or not well-formed UTF-8.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return lead < 0x20 || lead == 0x7f ? 0 : 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3fu);
  }
  // Surrogates, code points beyond Unicode, and code points that a shorter form holds are not well-formed.
  const bool is_control = code <= 0x9f;
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return is_control || is_surrogate || too_long || code > 0x10ffff ? 0 : length;
}

/// A decimal number of units as nanoseconds. Inline, so that the unit of nearly every file is a constant.
inline Result<std::int64_t> parse_decimal(std::string_view text, const TimeUnit& unit) {
  constexpr std::int64_t kParts = 1'000'000'000;  // nine digits after the point
  const std::int64_t max_whole = std::numeric_limits<std::int64_t>::max() / unit.nanoseconds - 1;
  const std::string_view digits = trim(text);
  const char* at = digits.data();
  const char* end = at + digits.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  std::int64_t whole = 0;
  const char* const first = at;
  while (at != end && *at >= '0' && *at <= '9' && whole <= max_whole)
    whole = whole * 10 + (*at++ - '0');
  bool has_digits = at != first;
  std::int64_t parts = 0;
  if (at != end && *at == '.') {
    ++at;
    for (std::int64_t part = kParts / 10; at != end && *at >= '0' && *at <= '9' && part > 0; part /= 10) {
      parts += part * (*at++ - '0');
      has_digits = true;
    }
    while (at != end && *at == '0')
      ++at;
  }
  if (!has_digits || at != end || whole > max_whole) {
    return bad_value(
        fmt::format("{} as a decimal number with at most nine digits after the point", unit.name), text);
  }
  // Parts of a minute are up to 60 times more nanoseconds than parts, which 64 bits hold.
  const std::int64_t below_one =
      unit.nanoseconds >= kParts ? parts * (unit.nanoseconds / kParts) : parts / (kParts / unit.nanoseconds);
  const std::int64_t nanoseconds = whole * unit.nanoseconds + below_one;
  return negative ? -nanoseconds : nanoseconds;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    letter = lower_case(letter);
  return result;
}

std::string_view first_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t end = most;
  while (end > 0 && most - end < 3 && continues(end))
    --end;
  return text.substr(0, continues(end) ? most : end);
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return result;
}

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

bool is_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= ' ' && text[i] <= '~') {  // nearly every character
      ++i;
      continue;
    }
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length > 0) {
      shown += text.substr(0, length);
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::pair<std::string_view, std::optional<std::string_view>> split_once(std::string_view text,
                                                                        char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {trim(text), std::nullopt};
  return {trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high) {
  const std::string_view digits = trim(text);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (code == std::errc() && stop != end && *stop == '.') {
    ++stop;  // "1.0" and "1." are whole
    while (stop != end && *stop == '0')
      ++stop;
  }
  if (code != std::errc() || stop != end || value < low || value > high) {
    return bad_value(expected_integer(low, high), text);
  }
  return value;
}

std::optional<IntegerRange> parse_integer_range(std::string_view text, std::int64_t low, std::int64_t high) {
  const auto [first_text, last_text] = split_once(text, '-');
  const auto first = parse_integer(first_text, low, high);
  if (!first) return std::nullopt;
  const auto last = last_text ? parse_integer(*last_text, *first, high) : first;
  if (!last) return std::nullopt;
  return IntegerRange{*first, *last};
}

std::string expected_integer(std::int64_t low, std::int64_t high) {
  if (low == high) return std::to_string(low);
  return range_text("a whole number", static_cast<double>(low), static_cast<double>(high));
}

Result<double> parse_number(std::string_view text, double low, double high) {
  const std::string_view digits = trim(text);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, value);
  // NaN fails both comparisons, infinity the finite test.
  if (code != std::errc() || stop != end || !std::isfinite(value) || !(value >= low && value <= high)) {
    return bad_value(range_text("a number", low, high), text);
  }
  return value;
}

double round_to_digits(double value, int digits) {
  return double_of(fmt::format("{:.{}g}", value, digits), value);
}

double round_to_decimals(double value, int decimals) {
  return double_of(fmt::format("{:.{}f}", value, decimals), value);
}

Result<double> parse_large_count(std::string_view text) {
  constexpr std::array<std::pair<char, double>, 4> kUnits = {
      {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}}};
  constexpr double kMost = 1e18;
  std::string_view number = trim(text);
  double factor = 1;
  for (const auto& [letter, thousands] : kUnits) {
    if (!number.ends_with(letter)) continue;
    number.remove_suffix(1);
    factor = thousands;
    break;
  }
  const double count = parse_number(number, 0, kMost).value_or(0) * factor;
  if (count > 0 && count <= kMost) return count;
  return bad_value("a number above 0 such as 300B, 1.4T or 3e11", text);
}

Result<std::int64_t> parse_seconds_as_ns(std::string_view text) {
  return parse_decimal(text, kSeconds);
}

Result<std::int64_t> parse_time_as_ns(std::string_view text, const TimeUnit& unit) {
  return unit.nanoseconds == kSeconds.nanoseconds ? parse_decimal(text, kSeconds) : parse_decimal(text, unit);
}

void append_ns_as_seconds(std::string& out, std::int64_t nanoseconds) {
  constexpr std::uint64_t kPerSecond = 1'000'000'000;
  std::uint64_t magnitude = static_cast<std::uint64_t>(nanoseconds);
  if (nanoseconds < 0) {
    out += '-';
    magnitude = 0 - magnitude;
  }
  std::uint64_t fraction = magnitude % kPerSecond;
  char buffer[32];
  char* at = std::to_chars(buffer, buffer + sizeof buffer, magnitude / kPerSecond).ptr;
  if (fraction != 0) {
    *at++ = '.';
    for (std::uint64_t unit = kPerSecond / 10; fraction != 0; unit /= 10) {
      *at++ = static_cast<char>('0' + fraction / unit);
      fraction %= unit;
    }
  }
  out.append(buffer, at);
}

std::string with_thousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

namespace {

/// How many letters must be put in, taken out, replaced, or exchanged with the next one (Damerau), to turn
/// one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> above(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::vector<std::size_t> two_above(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool exchanged = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (exchanged) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) {
  const std::string wanted = lower_case(word);
  std::string_view best;
  // Two letters of three may be any other word's.
  std::size_t best_distance = word.size() <= 3 ? 2 : std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view known_name : known) {
    const std::size_t distance = edit_distance(wanted, lower_case(known_name));
    if (distance < best_distance) {
      best_distance = distance;
      best = known_name;
    }
  }
  return best;
}

std::string join_with_and(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string list_names(std::span<const std::string_view> names) {
  std::vector<std::string> quoted;
  for (const std::string_view name : names)
    quoted.push_back(fmt::format("'{}'", name));
  return join_with_and(quoted);
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kTellsEnough = 3;
  constexpr std::size_t kFew = 8;
  const std::string wanted = lower_case(word);
  const auto few_where = [&](auto holds) {
    std::vector<std::string_view> names;
    if (word.size() < kTellsEnough) return names;
    std::copy_if(known.begin(), known.end(), std::back_inserter(names),
                 [&](std::string_view name) { return holds(lower_case(name)); });
    if (names.size() > kFew) names.clear();
    return names;
  };
  const std::string_view nearest = nearest_name(word, known);
  std::vector<std::string_view> meant =
      few_where([&](const std::string& name) { return name.starts_with(wanted); });
  // What begins so is likelier meant than what is as near: `v100` is more like `v100-pcie` than like `a100`.
  const bool is_one = meant.empty() || std::find(meant.begin(), meant.end(), nearest) != meant.end();
  if (is_one && !nearest.empty()) meant = {nearest};
  if (meant.empty())
    meant = few_where([&](const std::string& name) { return name.find(wanted) != std::string::npos; });
  if (meant.empty()) return {};
  return fmt::format("did you mean {}{}?", meant.size() == 1 ? "" : "one of ", list_names(meant));
}

std::string with_guess(std::string complaint, std::string_view word,
                       std::span<const std::string_view> known) {
  const std::string meant = did_you_mean(word, known);
  if (!meant.empty()) complaint += "; " + meant;
  return complaint;
}

std::string suggest_name(std::string_view word, std::span<const std::string_view> known) {
  std::string meant = did_you_mean(word, known);
  return meant.empty() ? "known are " + list_names(known) : meant;
}

}  // namespace vtrain
