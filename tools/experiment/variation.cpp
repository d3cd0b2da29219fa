#include "tools/experiment/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"

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
  std::string_view list = text.substr(equals + 1);
  const char separator = list.find(';') != std::string_view::npos ? ';' : ',';
  if (list.size() > 1 && list.ends_with(';')) list.remove_suffix(1);
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

std::vector<std::string> read_variations(JsonFields& fields, const nlohmann::json& object) {
  std::vector<std::string> texts;
  for (const auto& [option, values] : object.items()) {
    if (!values.is_array() || values.empty()) {
      fields.complain(object, option, expected_found("a list of one value or more", values.dump()));
      return texts;
    }
    std::vector<std::string> words;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const nlohmann::json& value = values[i];
      const std::string place = fmt::format("{}[{}]", option, i);
      if (!value.is_string() && !value.is_number()) {
        fields.complain(object, place, expected_found("a string or a number", value.dump()));
        return texts;
      }
      words.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      if (words.back().empty() || words.back().find(';') != std::string::npos) {
        fields.complain(object, place, expected_found("a value without ';'", words.back()));
        return texts;
      }
      ScenarioSpec scratch;
      if (auto set = set_option(scratch, option, words.back()); !set) {
        const bool is_unknown = set.error().field == "--vary";
        fields.complain(object, is_unknown ? option : place, std::move(set.error().message));
        return texts;
      }
    }
    const bool has_comma = std::ranges::any_of(
        words, [](const std::string& word) { return word.find(',') != std::string::npos; });
    std::string text = option + "=";
    for (std::size_t i = 0; i < words.size(); ++i)
      text += (i == 0 ? "" : has_comma ? ";" : ",") + words[i];
    texts.push_back(has_comma && words.size() == 1 ? text + ";" : text);
  }
  return texts;
}

std::size_t count_variants(std::span<const Variation> variations) {
  std::size_t count = 1;
  for (const Variation& variation : variations) {
    const std::size_t values = variation.values.size();
    if (values > 0 && count > std::numeric_limits<std::size_t>::max() / values)
      return std::numeric_limits<std::size_t>::max();
    count *= values;
  }
  return count;
}

Result<Variant> variant_at(const ScenarioSpec& spec, std::span<const Variation> variations,
                           std::size_t position) {
  Variant variant{{}, spec};
  for (std::size_t i = variations.size(); i-- > 0;) {
    const std::vector<std::string>& values = variations[i].values;
    variant.values.push_back(values[position % values.size()]);
    position /= values.size();
  }
  std::ranges::reverse(variant.values);
  for (std::size_t i = 0; i < variations.size(); ++i) {
    if (auto set = set_option(variant.spec, variations[i].option, variant.values[i]); !set)
      return fail(std::move(set.error()));
  }
  return variant;
}

Result<std::vector<Variant>> variants_of(const ScenarioSpec& spec, std::span<const Variation> variations) {
  constexpr std::size_t kMostVariants = 1000;
  const std::size_t count = count_variants(variations);
  if (count > kMostVariants)
    return fail(bad_variation(fmt::format("expected up to {} combinations, found more",
                                          with_thousands(static_cast<std::int64_t>(kMostVariants)))));
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < count; ++i) {
    auto variant = variant_at(spec, variations, i);
    if (!variant) return fail(std::move(variant.error()));
    variants.push_back(*std::move(variant));
  }
  return variants;
}

}  // namespace vtrain
