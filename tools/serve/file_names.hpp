/// Rules that keep requests from naming files: a service reads only what comes with the program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain::serve {

/// A value of a request that could be the name of a file.
struct NameRule {
  std::string_view group;                       ///< object that has it; empty: the request itself
  std::string_view key;                         ///< its key
  bool (*names_file)(const std::string& name);  /// true for a name that is not allowed
  std::string_view expected;                    ///< what is allowed
};

// Names that could be files. Constants of a profile may have units with a slash: `h100:node_network=50GB/s`.
bool names_model_file(const std::string& model);
bool names_profile_file(const std::string& profile);
bool names_cluster_file(const std::string& cluster);
bool names_calibration_file(const std::string& calibration);
/// True for a policy that reads a file or a folder. A spec that is malformed names none.
bool names_policy_file(const std::string& policy);

// What is expected in their place.
inline constexpr std::string_view kKnownProfile = "the name of a profile that comes with the program";
inline constexpr std::string_view kShortCluster = "nodes x GPUs : type, such as 16x8:h100";
inline constexpr std::string_view kKnownCalibration = "published, or nothing";
inline constexpr std::string_view kPolicyAlone = "a policy without files";

/// Refuses values that break a rule, and any list of `files`. `object` is a part of the document.
Result<void> refuse_files(const JsonDocument& document, const nlohmann::json& object,
                          std::span<const NameRule> rules);

}  // namespace vtrain::serve
