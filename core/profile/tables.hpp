/// The measured tables of a GPU profile in its JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {

class JsonDocument;

/// Keys of the tables in a profile, as `read_tables` reads them.
inline constexpr std::string_view kGemmKey = "gemm";
inline constexpr std::string_view kAttentionKey = "attention";
inline constexpr std::string_view kAttentionBackwardKey = "attention_backward";
inline constexpr std::string_view kCollectivesKey = "collectives";
inline constexpr std::string_view kOldCollectivesKey = "old_collectives";
inline constexpr std::string_view kProductsKey = "products";

/// Reads the tables of `profile_object`; each replaces the one that `profile` already has.
Result<void> read_tables(const JsonDocument& document, const nlohmann::json& profile_object,
                         GpuProfile& profile);

}  // namespace vtrain
