/// Constants of a GPU profile by name: unit, range and member. Shared by the readers of profiles and of
/// device descriptions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {

class JsonDocument;

/// One constant: its unit, its plausible range, and its member in a profile.
struct KnownConstant {
  std::string_view name;
  std::string_view unit;
  double low;
  double high;
  void (*set)(GpuProfile&, double);
  bool whole = false;  ///< must be a whole number
  std::string_view group =
      {};  ///< name of a group whose constants are all present or all absent; empty without one
  bool optional = false;  ///< a profile may leave it out
};

/// All constants, in the order in which profiles are written.
std::span<const KnownConstant> known_constants();

/// Reads `{"name": {"value": ..., "unit": ..., "source": ...}, ...}` into `profile`, replacing existing
/// constants.
Result<void> read_constants(const JsonDocument& document, const nlohmann::json& object, GpuProfile& profile);

/// Sets one constant to a value as people write it, with a unit (`50GB/s`, `400Gbit/s`, `5us`, `96GB`) or in
/// the constant's own unit. The error has the constant's name as its field.
Result<void> set_constant(GpuProfile& profile, std::string_view name, std::string_view value,
                          std::string source);

/// Checks that no constant is missing; the error names the first missing one.
Result<void> check_constants(const JsonDocument& document, const nlohmann::json& object,
                             const GpuProfile& profile);

}  // namespace vtrain
