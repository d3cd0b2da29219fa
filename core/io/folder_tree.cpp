#include "core/io/folder_tree.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "core/io/file.hpp"

namespace vtrain {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> names_in(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> names;
  for (auto entry = fs::directory_iterator(folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code))
    names.push_back(entry->path().filename());
  if (code) return fail(io_error(folder, "read the folder", code.value()));
  return names;
}

std::optional<FileStatus> status_of(const fs::path& path) {
  FileStatus status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_mount_point(const fs::path& path, const FileStatus& status, dev_t parent_device) {
  struct statx extended {};
  const bool known = ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &extended) == 0 &&
                     (extended.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
  if (known) return (extended.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return S_ISDIR(status.st_mode) && status.st_dev != parent_device;
}

bool can_be_emptied(const fs::path& path, const FileStatus& status) {
  return status.st_uid == ::geteuid() || ::access(path.c_str(), R_OK | W_OK | X_OK) == 0;
}

std::string_view kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Result<void> remove_tree(const fs::path& path) {
  const auto status = status_of(path);
  if (!status) return {};
  if (S_ISDIR(status->st_mode)) {
    if ((status->st_mode & S_IRWXU) != S_IRWXU) ::chmod(path.c_str(), S_IRWXU);
    const auto names = names_in(path);
    if (!names) return fail(names.error());
    for (const fs::path& name : *names) {
      if (auto removed = remove_tree(path / name); !removed) return removed;
    }
  }
  if (std::remove(path.c_str()) != 0) return fail(io_error(path, "remove", errno));
  return {};
}

OthersEntries::OthersEntries(fs::path folder, const std::vector<fs::path>& own_files)
    : folder_(std::move(folder)) {
  for (const fs::path& file : own_files) {
    own_.insert(file);
    own_folders_.insert(file.parent_path());
  }
}

Result<std::vector<OthersEntry>> OthersEntries::list() {
  if (auto added = add_entries_of(fs::path()); !added) return fail(std::move(added.error()));
  return std::move(entries_);
}

Result<void> OthersEntries::add_entries_of(const fs::path& parent) {
  const auto names = names_in(folder_ / parent);
  if (!names) return fail(names.error());
  for (const fs::path& leaf : *names) {
    const fs::path name = parent / leaf;
    const auto status = status_of(folder_ / name);
    if (!status) continue;
    const bool is_folder = S_ISDIR(status->st_mode);
    if (!is_folder && own_.contains(name)) continue;
    entries_.push_back({name, *status});
    if (!is_folder) continue;
    const std::size_t size = entries_.size();
    if (auto added = add_entries_of(name); !added) return added;
    // A folder that only results were in goes with them.
    if (entries_.size() == size && own_folders_.contains(name)) entries_.pop_back();
  }
  return {};
}

}  // namespace vtrain
