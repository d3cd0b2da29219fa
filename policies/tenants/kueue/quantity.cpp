#include "policies/tenants/kueue/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/base/numbers.hpp"

namespace vtrain::kueue {
namespace {

__extension__ using Wide = __int128;

/// A suffix and what it multiplies by: a power of ten, or of two.
struct Suffix {
  std::string_view text;
  int power_of_ten;
  int power_of_two;
};

constexpr std::array<Suffix, 16> kSuffixes = {{{"n", -9, 0},
                                               {"u", -6, 0},
                                               {"m", -3, 0},
                                               {"", 0, 0},
                                               {"k", 3, 0},
                                               {"M", 6, 0},
                                               {"G", 9, 0},
                                               {"T", 12, 0},
                                               {"P", 15, 0},
                                               {"E", 18, 0},
                                               {"Ki", 0, 10},
                                               {"Mi", 0, 20},
                                               {"Gi", 0, 30},
                                               {"Ti", 0, 40},
                                               {"Pi", 0, 50},
                                               {"Ei", 0, 60}}};

/// A quantity taken apart: (-1)^negative · digits · 10^ten · 2^two.
struct Parts {
  bool is_negative = false;
  Wide digits = 0;
  int ten = 0;
  int two = 0;
};

constexpr int kMostDigits = 24;
constexpr int kMostPower = 40;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads digits with at most one point. False if there are none, or more than a quantity may have.
bool read_digits(std::string_view& text, Parts& parts) {
  int num_digits = 0;
  bool has_point = false;
  while (!text.empty() && (is_digit(text.front()) || (text.front() == '.' && !has_point))) {
    if (text.front() == '.') {
      has_point = true;
    } else {
      parts.digits = parts.digits * 10 + (text.front() - '0');
      if (has_point) --parts.ten;
      if (++num_digits > kMostDigits) return false;
    }
    text.remove_prefix(1);
  }
  return num_digits > 0;
}

std::optional<Parts> take_apart(std::string_view text) {
  Parts parts;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    parts.is_negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (!read_digits(text, parts)) return std::nullopt;
  const bool has_exponent = text.size() > 1 && (text.front() == 'e' || text.front() == 'E') &&
                            (is_digit(text[1]) || text[1] == '-' || text[1] == '+');
  if (has_exponent) {
    text.remove_prefix(text[1] == '+' ? 2 : 1);
    const auto power = parse_integer(text, -kMostPower, kMostPower);
    if (!power) return std::nullopt;
    parts.ten += static_cast<int>(*power);
    return parts;
  }
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text != text) continue;
    parts.ten += suffix.power_of_ten;
    parts.two = suffix.power_of_two;
    return parts;
  }
  return std::nullopt;
}

/// Larger than any amount, and small enough to be multiplied by 10 and by 2^60 once.
constexpr Wide kTooLarge = Wide{1} << 62;

}  // namespace

Amount units_of(std::string_view resource) {
  return resource == "cpu" ? 1000 : 1;
}

std::optional<Amount> parse_quantity(std::string_view text, std::string_view resource) {
  const auto parts = take_apart(text);
  if (!parts) return std::nullopt;
  const Amount most = parts->is_negative ? -kMostAmount : kMostAmount;
  // 24 digits times 1000 times 2^60 does not fit into 128 bits, so a factor follows only a check.
  Wide value = parts->digits * units_of(resource);
  int ten = parts->ten;
  bool has_rest = false;
  const auto divide = [&] {
    has_rest = has_rest || value % 10 != 0;
    value /= 10;
    ++ten;
  };
  // With a power of two the fraction is kept until it was multiplied.
  if (parts->two > 0) {
    while (ten < 0 && value >= kTooLarge)
      divide();
    if (value >= kTooLarge) return most;
    value <<= parts->two;
  }
  while (ten < 0)
    divide();
  for (; ten > 0 && value != 0; --ten) {
    if (value >= kTooLarge) return most;
    value *= 10;
  }
  // Away from zero, as Kubernetes rounds.
  if (has_rest) ++value;
  if (value > kMostAmount) return most;
  return static_cast<Amount>(parts->is_negative ? -value : value);
}

std::optional<double> parse_decimal_quantity(std::string_view text) {
  const auto parts = take_apart(text);
  if (!parts) return std::nullopt;
  // One rounding for the powers of ten that weights use: both operands are exact.
  const double digits = std::ldexp(static_cast<double>(parts->digits), parts->two);
  const double scale = std::pow(10.0, std::abs(parts->ten));
  const double value = parts->ten < 0 ? digits / scale : digits * scale;
  return parts->is_negative ? -value : value;
}

std::string quantity_text(Amount amount, std::string_view resource) {
  const Amount units = units_of(resource);
  if (amount % units == 0) return fmt::format("{}", amount / units);
  return fmt::format("{}m", amount);
}

}  // namespace vtrain::kueue
