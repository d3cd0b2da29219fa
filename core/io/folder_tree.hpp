/// Contents of folders, which `StagedFolder` moves and removes.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// Status of a file. The struct's name is also a function, so it needs an alias.
using FileStatus = struct stat;

/// Status of the file of this name (of a link itself, not of its target); none if there is no file.
std::optional<FileStatus> status_of(const std::filesystem::path& path);

/// The names in a folder. Error: an unreadable folder.
Result<std::vector<std::filesystem::path>> names_in(const std::filesystem::path& folder);

/// `a regular file`, `a named pipe`, ...
std::string_view kind_of(mode_t mode);

/// True if the path is a mount point. `parent_device` is the file system of its folder.
bool is_mount_point(const std::filesystem::path& path, const FileStatus& status, dev_t parent_device);

/// True if the contents of a folder can be moved or removed. The folder's owner can always allow it.
bool can_be_emptied(const std::filesystem::path& path, const FileStatus& status);

/// Removes a file, or a folder with its contents, even without its owner's write permission.
Result<void> remove_tree(const std::filesystem::path& path);

/// An entry in a folder of results that is no result of the program.
struct OthersEntry {
  std::filesystem::path name;  ///< relative
  FileStatus status{};
};

/// Lists entries of a folder that are not the program's own; folders come before their contents.
class OthersEntries {
 public:
  /// `own_files` are relative names.
  OthersEntries(std::filesystem::path folder, const std::vector<std::filesystem::path>& own_files);

  /// Lists the entries. Error: an unreadable folder.
  Result<std::vector<OthersEntry>> list();
  /// True if a file is the program's own.
  bool is_own(const std::filesystem::path& name) const { return own_.contains(name); }

 private:
  Result<void> add_entries_of(const std::filesystem::path& parent);

  std::filesystem::path folder_;
  std::set<std::filesystem::path> own_;
  std::set<std::filesystem::path> own_folders_;
  std::vector<OthersEntry> entries_;
};

}  // namespace vtrain
