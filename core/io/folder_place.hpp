/// Place of a `StagedFolder`, and checks that it can be replaced.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/folder_tree.hpp"

namespace vtrain {

/// The end of the name of a staging folder.
inline constexpr std::string_view kStagingSuffix = ".vtrain-writing";

/// A folder to be replaced.
struct FolderPlace {
  std::filesystem::path named;    ///< path as the user named it, for errors
  std::filesystem::path folder;   ///< path without symbolic links
  std::filesystem::path staging;  ///< staging folder next to it

  /// The place of a folder that a user names. Errors: symbolic links that lead nowhere, a name that is too
  /// long.
  static Result<FolderPlace> find(const std::filesystem::path& named);
  /// The place whose staging folder has this name, if it can be one.
  static std::optional<FolderPlace> of_staging(const std::filesystem::path& staging);
};

/// Checks that every relative name is free or a regular file in the place, and that none is the program's
/// standard output.
Result<void> check_names(const FolderPlace& place, const std::vector<std::filesystem::path>& names);

/// Error if the folder, which has this status, cannot be replaced.
Result<void> check_folder(const FolderPlace& place, const FileStatus& status);

/// Error unless files can be made in the folder's nearest existing parent.
Result<void> check_parent(const FolderPlace& place);

}  // namespace vtrain
