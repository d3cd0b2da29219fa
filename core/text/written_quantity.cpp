#include "core/text/written_quantity.hpp"

#include <algorithm>
#include <array>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

/// A unit in which people write a quantity, by the one it is wanted in.
struct WrittenUnit {
  std::string_view unit;
  std::string_view written;
  double factor;  ///< from what is written
};
constexpr std::array kWrittenUnits = {
    WrittenUnit{"B/s", "B/s", 1},       WrittenUnit{"B/s", "bit/s", 1.0 / 8}, WrittenUnit{"B", "B", 1},
    WrittenUnit{"FLOP/s", "FLOP/s", 1}, WrittenUnit{"ns", "s", 1e9},          WrittenUnit{"1/s", "/s", 1},
};

/// What one of `unit` is with the written unit, which may begin with a prefix; nothing for another unit.
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
