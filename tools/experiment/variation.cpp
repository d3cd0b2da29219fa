#include "tools/experiment/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"

namespace vtrain {
namespace {

Error bad_variation(std::string message) {
  return {.field = "--vary", .message = std::move(message)};
}

Result<Variation> parse_variation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(bad_variation(fmt::format("expected OPTION=VALUE,VALUE,..., found '{}'", printable(text))));
  Variation variation{.option = std::string(text.substr(0, equals))};
  const std::string_view list = text.substr(equals + 1);
  const char separator = list.find(';') != std::string_view::npos ? ';' : ',';
  for (const std::string_view value : split(list, separator)) {
    if (value.empty()) return fail(bad_variation(fmt::format("an empty value in '{}'", printable(text))));
    if (std::ranges::find(variation.values, value) != variation.values.end())
      return fail(
          bad_variation(fmt::format("'{}' is named twice in '{}'", printable(value), printable(text))));
    variation.values.emplace_back(value);
  }
  return variation;
}

}  // namespace

Result<std::vector<Variation>> parse_variations(std::span<const std::string> texts) {
  std::vector<Variation> variations;
  for (const std::string& text : texts) {
    auto variation = parse_variation(text);
    if (!variation) return fail(std::move(variation.error()));
    if (std::ranges::find(variations, variation->option, &Variation::option) != variations.end())
      return fail(bad_variation(fmt::format("'{}' varies twice", printable(variation->option))));
    variations.push_back(*std::move(variation));
  }
  return variations;
}

Result<std::vector<Variant>> variants_of(const ScenarioSpec& spec, std::span<const Variation> variations) {
  constexpr std::size_t kMostVariants = 1000;
  std::vector<Variant> variants = {{{}, spec}};
  for (const Variation& variation : variations) {
    if (variants.size() * variation.values.size() > kMostVariants)
      return fail(bad_variation(fmt::format("expected up to {} combinations, found more",
                                            with_thousands(static_cast<std::int64_t>(kMostVariants)))));
    std::vector<Variant> more;
    for (const Variant& variant : variants) {
      for (const std::string& value : variation.values) {
        more.push_back(variant);
        if (auto set = set_option(more.back().spec, variation.option, value); !set)
          return fail(std::move(set.error()));
        more.back().values.push_back(value);
      }
    }
    variants = std::move(more);
  }
  return variants;
}

}  // namespace vtrain
