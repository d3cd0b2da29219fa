/// The constants of a GPU profile by name: unit, range, and the member each one fills. Shared by the reader
/// of profiles and that of device descriptions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {

class JsonDocument;

/// One constant: its unit, the range that makes sense, and where it goes.
struct KnownConstant {
  std::string_view name;
  std::string_view unit;
  double low;
  double high;
  void (*set)(GpuProfile&, double);
  bool whole = false;           ///< only whole numbers make sense
  std::string_view group = {};  ///< of constants that are all there or none; empty for a constant on its own
  bool optional = false;        ///< a profile may leave it out
};

/// All of them, in the order in which profiles are written.
std::span<const KnownConstant> known_constants();

/// Reads `{"name": {"value": ..., "unit": ..., "source": ...}, ...}` into `profile`, over what it already
/// has.
Result<void> read_constants(const JsonDocument& document, const nlohmann::json& object, GpuProfile& profile);

/// Sets one constant to a value as people write it, with a unit (`50GB/s`, `400Gbit/s`, `5us`, `96GB`) or
/// without, in the constant's own. The error has the constant's name as its field.
Result<void> set_constant(GpuProfile& profile, std::string_view name, std::string_view value,
                          std::string source);

/// An error that names the first constant that the profile lacks.
Result<void> check_constants(const JsonDocument& document, const nlohmann::json& object,
                             const GpuProfile& profile);

}  // namespace vtrain
