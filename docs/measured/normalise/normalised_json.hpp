/// Records as normalised runs, in JSON.
#pragma once

#include <cstdint>
#include <string>

#include "docs/measured/normalise/raw_case.hpp"

namespace vtrain {

/// A file of normalised runs.
struct NormalisedFile {
  std::string text{};               ///< its JSON, the same for the same records
  std::int64_t num_incomplete = 0;  ///< runs that list what is missing
};

/// The runs of records, as `parse_measured_cases` reads them. A record that cannot be predicted has the list
/// of what it lacks in place of settings.
NormalisedFile normalised_file(const RawCases& raw);

}  // namespace vtrain
