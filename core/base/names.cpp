#include "core/base/names.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/strings.hpp"

namespace vtrain {
namespace {

/// Number of letters to insert, remove, replace, or swap with the next one (Damerau), to turn one word into
/// the other.
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
    // The distance is no less than the difference of the lengths: a huge word costs nothing.
    const std::size_t longer = std::max(wanted.size(), known_name.size());
    const std::size_t shorter = std::min(wanted.size(), known_name.size());
    if (longer - shorter >= best_distance) continue;
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
