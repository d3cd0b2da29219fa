/// The measured tables of a GPU profile as they stand in its JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/base/result.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {

class JsonDocument;

/// The keys of the tables in a profile; `read_tables` fills what each one names.
inline constexpr std::string_view kGemmKey = "gemm";
inline constexpr std::string_view kAttentionKey = "attention";
inline constexpr std::string_view kAttentionBackwardKey = "attention_backward";
inline constexpr std::string_view kCollectivesKey = "collectives";
inline constexpr std::string_view kOldCollectivesKey = "old_collectives";
inline constexpr std::string_view kProductsKey = "products";

/// Reads those that `profile_object` has, each in place of the one that `profile` has already.
Result<void> read_tables(const JsonDocument& document, const nlohmann::json& profile_object,
                         GpuProfile& profile);

}  // namespace vtrain
