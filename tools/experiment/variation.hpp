/// Values of options that vary in one comparison: `--vary placement=count,consolidate`.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/spec.hpp"

namespace vtrain {

class JsonFields;

/// An option and its values.
struct Variation {
  std::string option{};               ///< option without dashes, such as `placement`
  std::vector<std::string> values{};  ///< two of which never agree
};

/// A spec with one value of each option that varies.
struct Variant {
  std::vector<std::string> values{};  ///< in the order of the variations
  ScenarioSpec spec{};
};

/// Reads `OPTION=V1,V2,...`; if a value has a comma, values are separated by `;`, and one value ends in it.
/// Errors name `--vary`: no value, an option or a value that is named twice.
Result<std::vector<Variation>> parse_variations(std::span<const std::string> texts);

/// Reads `{"OPTION": [V1, V2, ...], ...}` of a spec as texts for `parse_variations`. Values are strings or
/// numbers. Complains in `fields` about an unknown option (with the nearest known one), an option without
/// values and a value that the option cannot have.
std::vector<std::string> read_variations(JsonFields& fields, const nlohmann::json& object);

/// Number of combinations, at most the largest whole number.
std::size_t count_variants(std::span<const Variation> variations);
/// The combination at a position below `count_variants`; the last option varies fastest. Errors: those of
/// `set_option`.
Result<Variant> variant_at(const ScenarioSpec& spec, std::span<const Variation> variations,
                           std::size_t position);
/// Every combination, in order. Errors: those of `variant_at`; more than 1,000 combinations.
Result<std::vector<Variant>> variants_of(const ScenarioSpec& spec, std::span<const Variation> variations);

}  // namespace vtrain
