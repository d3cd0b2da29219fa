/// A folder of results that replaces an older one as a whole.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/file.hpp"
#include "core/io/unfinished.hpp"

namespace vtrain {

/// A new folder that replaces an old one (if any) in one step. At any time, even if the process is killed,
/// there is either the complete old folder or the complete new one.
///
/// It is written in a *staging folder* next to its place, `.NAME.vtrain-writing`. `commit` exchanges both by
/// one rename. Where the file system cannot exchange folders (NFS), it renames twice, and a process that is
/// killed in between leaves no folder under the name. The next writer restores the old one.
///
/// Files of the old folder that are not its own results stay: before the exchange they get a second name in
/// the new folder (a hard link). Entries that cannot have one are moved there right after it. Folders that
/// hold such files are created again, with the same permissions.
///
/// The staging folder holds a lock (`flock`) that ends with the process. The next writer to any folder of the
/// same parent cleans up after a dead process; a live one is never disturbed. Staging folders of other users
/// are ignored.
class StagedFolder {
 public:
  /// Lists the files in a folder that are results of this program, relative to it. They are removed with the
  /// folder.
  using OwnFiles = std::function<std::vector<std::filesystem::path>(const std::filesystem::path& folder)>;

  /// Checks, before the work, that the folder can be replaced by one with files of these relative names.
  /// Errors: a parent or folder without write permission; a mount point; the current folder or one above it;
  /// a name of anything but a regular file.
  static Result<void> check(const std::filesystem::path& folder,
                            const std::vector<std::filesystem::path>& names);

  /// Begins a new folder. If another process is writing one to the same place, `waits` is called once, and
  /// the call returns when that process is done.
  static Result<StagedFolder> create(const std::filesystem::path& folder, const OwnFiles& own_files,
                                     const std::function<void()>& waits);
  /// Begins a folder under a new name. None if the name exists, or another process is writing it.
  static Result<std::optional<StagedFolder>> try_create_new(const std::filesystem::path& folder,
                                                            const OwnFiles& own_files);
  /// Takes the other's folder; the other then has none.
  StagedFolder(StagedFolder&&) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  /// Removes the written files, unless they were committed.
  ~StagedFolder();

  /// Opens a new file with a relative name, and makes its parent folders. The caller finishes the file.
  Result<OutputFile> open(const std::filesystem::path& name);
  /// Writes a whole file.
  Result<void> add(const std::filesystem::path& name, std::string_view content);
  /// Puts the new folder into its place. Its content is on disk before the old folder is removed.
  Result<void> commit();

 private:
  class Staging;
  explicit StagedFolder(std::unique_ptr<Staging> staging);
  /// None if another process writes to the place; then `busy`, if given, is a descriptor of its lock.
  static Result<std::optional<StagedFolder>> begin(const std::filesystem::path& folder,
                                                   const OwnFiles& own_files, int* busy);
  /// Cleans up staging folders of dead processes in this parent.
  static void clear_left_overs(const std::filesystem::path& parent, const OwnFiles& own_files);

  std::unique_ptr<Staging> staging_;
  UnfinishedWork unfinished_;
};

}  // namespace vtrain
