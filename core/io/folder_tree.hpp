/// What is in a folder, as `StagedFolder` moves and removes it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// What the system knows of a file; the function of the name hides the type.
using FileStatus = struct stat;

/// The status of what has this name, a symbolic link itself; none if there is nothing.
std::optional<FileStatus> status_of(const std::filesystem::path& path);

/// The names in a folder. Error: one that cannot be read.
Result<std::vector<std::filesystem::path>> names_in(const std::filesystem::path& folder);

/// `a regular file`, `a named pipe`, ...
std::string_view kind_of(mode_t mode);

/// True for what is mounted where it is, in a folder that is on the file system `parent_device`.
bool is_mount_point(const std::filesystem::path& path, const FileStatus& status, dev_t parent_device);

/// Whether what is in a folder can be moved or removed; its owner can always allow it.
bool can_be_emptied(const std::filesystem::path& path, const FileStatus& status);

/// Removes a file or a folder with all that is in it, also where its owner may not write.
Result<void> remove_tree(const std::filesystem::path& path);

/// Something in a folder of results that is no result of the program.
struct OthersEntry {
  std::filesystem::path name;  ///< relative
  FileStatus status{};
};

/// Lists what is in a folder and not the program's own, folders before what is in them.
class OthersEntries {
 public:
  /// `own_files` are relative names.
  OthersEntries(std::filesystem::path folder, const std::vector<std::filesystem::path>& own_files);

  /// Error: a folder that cannot be read.
  Result<std::vector<OthersEntry>> list();
  /// Whether a file is the program's own.
  bool is_own(const std::filesystem::path& name) const { return own_.contains(name); }

 private:
  Result<void> add_entries_of(const std::filesystem::path& parent);

  std::filesystem::path folder_;
  std::set<std::filesystem::path> own_;
  std::set<std::filesystem::path> own_folders_;
  std::vector<OthersEntry> entries_;
};

}  // namespace vtrain
