/// Values of options that vary in one comparison: `--vary placement=count,consolidate`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/spec.hpp"

namespace vtrain {

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

/// Reads `OPTION=V1,V2,...`; if a value has a comma, values are separated by `;`. Errors name `--vary`: no
/// value, an option or a value that is named twice.
Result<std::vector<Variation>> parse_variations(std::span<const std::string> texts);

/// Every combination of values; the last option varies fastest. Errors: those of `set_option`; more than
/// 1,000 combinations.
Result<std::vector<Variant>> variants_of(const ScenarioSpec& spec, std::span<const Variation> variations);

}  // namespace vtrain
