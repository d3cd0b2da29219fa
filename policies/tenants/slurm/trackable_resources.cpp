#include "policies/tenants/slurm/trackable_resources.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain::slurm {
namespace {

constexpr double kMostTres = 1e18;

/// Factor from a unit to MB; none for another letter.
std::optional<double> megabytes(char unit) {
  switch (lower_case(unit)) {
    case 'k':
      return 1.0 / 1024;
    case 'm':
      return 1;
    case 'g':
      return 1024;
    case 't':
      return 1024.0 * 1024;
    case 'p':
      return 1024.0 * 1024 * 1024;
    default:
      return std::nullopt;
  }
}

/// A name, `=` and the rest of an entry.
struct TresEntry {
  std::uint32_t tres = 0;
  std::string_view number{};
  std::optional<double> unit{};  ///< MB of the suffix
};

Result<TresEntry> parse_entry(std::string_view text, TresNames& names) {
  const auto [name, number] = split_once(text, '=');
  if (name.empty() || !number || number->empty())
    return fail({.message = expected_found("a resource as cpu=4", text)});
  TresEntry entry{.tres = names.add(name), .number = *number};
  entry.unit = megabytes(number->back());
  if (entry.unit) entry.number.remove_suffix(1);
  return entry;
}

}  // namespace

TresNames::TresNames() : names_{"cpu", "mem", "node", "billing", "gres/gpu"} {}

std::uint32_t TresNames::add(std::string_view name) {
  const std::string lower = lower_case(name);
  const auto found = std::ranges::find(names_, lower);
  if (found == names_.end()) {
    names_.push_back(lower);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }
  return static_cast<std::uint32_t>(found - names_.begin());
}

double amount_of(const TresList& list, std::uint32_t tres) {
  const auto found = std::ranges::find(list, tres, &TresAmount::tres);
  return found == list.end() ? 0 : found->amount;
}

void add_amount(TresList& list, std::uint32_t tres, double amount) {
  const auto found = std::ranges::find(list, tres, &TresAmount::tres);
  if (found == list.end())
    list.push_back({tres, amount});
  else
    found->amount += amount;
}

Result<TresList> parse_tres_list(std::string_view text, TresNames& names) {
  TresList list;
  if (trim(text).empty()) return list;
  for (const std::string_view part : split(text, ',')) {
    const auto entry = parse_entry(part, names);
    if (!entry) return fail(entry.error());
    const auto number = parse_number(entry->number, -1, kMostTres);
    if (!number) return fail({.message = expected_found("a resource as cpu=4", part)});
    if (*number >= 0) add_amount(list, entry->tres, *number * entry->unit.value_or(1));
  }
  return list;
}

Result<TresList> parse_tres_weights(std::string_view text, TresNames& names) {
  TresList list;
  if (trim(text).empty()) return list;
  for (const std::string_view part : split(text, ',')) {
    const auto entry = parse_entry(part, names);
    if (!entry) return fail(entry.error());
    const auto number = parse_number(entry->number, 0, kMostTres);
    if (!number) return fail({.message = expected_found("a weight from 0 as CPU=1.0", part)});
    add_amount(list, entry->tres, *number / entry->unit.value_or(1));
  }
  return list;
}

}  // namespace vtrain::slurm
