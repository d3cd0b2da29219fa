/// Formats of several tables: the ones that lie beside the file that was given.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// The file `name` of a folder, or `name` with a suffix of a packed file; empty when neither is there.
std::filesystem::path find_table(const std::filesystem::path& folder, std::string_view name);

/// A table as read.
struct CompanionFile {
  std::string path;
  std::string text;
};

/// Reads the table `name` that lies beside `file`. Not found: nothing.
Result<std::optional<CompanionFile>> read_companion(const std::string& file, std::string_view name);

}  // namespace vtrain
