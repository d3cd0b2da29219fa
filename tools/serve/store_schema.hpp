/// The tables of a service's state, their versions and their checks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/database/sqlite.hpp"

namespace vtrain::serve {

/// `PRAGMA application_id` of a service's state: the letters `vtsv`.
inline constexpr std::int64_t kStoreApplication = 0x76747376;

/// Statements of each version: number i makes version i + 1 of version i; version 0 is an empty file. Rows
/// are never changed once a release has them.
std::span<const std::string_view> store_upgrades();

/// Opens a state for writing, in the newest version. A missing file is made as a whole: it appears under its
/// name when its tables are there. Errors as those of `Store::open`, but for the lock.
Result<Database> open_store(const std::filesystem::path& file);

/// Checks without a change that a file is a state of this version or an earlier one.
Result<void> check_store(const std::filesystem::path& file);

}  // namespace vtrain::serve
