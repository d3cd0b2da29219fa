/// A folder of results that takes the place of an older one as a whole.
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

/// A new folder that takes the place of an old one, or of none, in one step: whoever looks, and whenever the
/// process is killed, there is the old folder or the new one as a whole.
///
/// It is written in a *staging folder* beside its place, `.NAME.vtrain-writing`. `commit` exchanges both by
/// one rename. Where the file system cannot exchange folders (NFS), it renames twice, and a process that is
/// killed between both leaves no folder under the name; the next writer puts the old one back.
///
/// Files of the old folder that are not its own results stay: before the exchange they get a second name in
/// the new folder (a hard link), and what can have none is moved there right after it. Folders that hold
/// such files are made anew, with the same permissions.
///
/// The staging folder holds a lock (`flock`) that ends with the process. The next writer to any folder of the
/// same parent ends what a dead one left; a live one is never touched. Staging folders of other users are not
/// looked into.
class StagedFolder {
 public:
  /// Lists the files in a folder that are results of this program, relative to it. They go with the folder.
  using OwnFiles = std::function<std::vector<std::filesystem::path>(const std::filesystem::path& folder)>;

  /// Finds out, before the work, whether the folder can be replaced by one with files of these relative
  /// names. Errors: a parent or folder that cannot be written to, a mount point, the current folder or one
  /// above it, anything but a regular file under one of the names.
  static Result<void> check(const std::filesystem::path& folder,
                            const std::vector<std::filesystem::path>& names);

  /// Begins a new folder. If another process is writing one to the same place, `waits` is called once, and
  /// the call returns when that process is done.
  static Result<StagedFolder> create(const std::filesystem::path& folder, const OwnFiles& own_files,
                                     const std::function<void()>& waits);
  /// Begins a folder under a new name. None if there is something of that name, or another process is about
  /// to write it.
  static Result<std::optional<StagedFolder>> try_create_new(const std::filesystem::path& folder,
                                                            const OwnFiles& own_files);
  StagedFolder(StagedFolder&&) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  /// Removes what was written, unless it was committed.
  ~StagedFolder();

  /// A new file with a relative name; makes the folders that the name goes through. The caller finishes it.
  Result<OutputFile> open(const std::filesystem::path& name);
  /// Writes a whole file.
  Result<void> add(const std::filesystem::path& name, std::string_view content);
  /// Puts the new folder into its place. Its content is on disk before an old one goes.
  Result<void> commit();

 private:
  class Staging;
  explicit StagedFolder(std::unique_ptr<Staging> staging);
  /// None if another process writes to the place; then `busy`, if given, is a descriptor of its lock.
  static Result<std::optional<StagedFolder>> begin(const std::filesystem::path& folder,
                                                   const OwnFiles& own_files, int* busy);
  /// Ends what processes left in staging folders of this parent.
  static void clear_left_overs(const std::filesystem::path& parent, const OwnFiles& own_files);

  std::unique_ptr<Staging> staging_;
  UnfinishedWork unfinished_;
};

}  // namespace vtrain
