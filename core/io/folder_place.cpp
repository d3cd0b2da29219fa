#include "core/io/folder_place.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/io/file.hpp"

namespace vtrain {

namespace fs = std::filesystem;

namespace {

FolderPlace place_beside_staging(const fs::path& named, const fs::path& folder) {
  const std::string staging = "." + folder.filename().string() + std::string(kStagingSuffix);
  return {.named = named, .folder = folder, .staging = folder.parent_path() / staging};
}

}  // namespace

Result<FolderPlace> FolderPlace::find(const fs::path& named) {
  std::error_code code;
  const fs::path absolute = fs::absolute(link_target(named), code);
  fs::path folder = code ? fs::path() : fs::weakly_canonical(absolute, code);
  if (code) return fail(io_error(named, "create the folder", code.value()));
  if (!folder.has_filename()) folder = folder.parent_path();
  const FolderPlace place = place_beside_staging(named, folder);
  if (place.staging.filename().string().size() > NAME_MAX)
    return fail(io_error(named, "create the folder", ENAMETOOLONG));
  return place;
}

std::optional<FolderPlace> FolderPlace::of_staging(const fs::path& staging) {
  std::string name = staging.filename().string();
  if (!name.starts_with('.') || !name.ends_with(kStagingSuffix)) return std::nullopt;
  name = name.substr(1, name.size() - 1 - kStagingSuffix.size());
  const fs::path folder = staging.parent_path() / name;
  if (name.empty()) return std::nullopt;
  return place_beside_staging(folder, folder);
}

Result<void> check_names(const FolderPlace& place, const std::vector<fs::path>& names) {
  const auto in_the_way = [&](const fs::path& name, std::string_view expected, std::string_view found) {
    return fail({.kind = ErrorKind::Io,
                 .file = (place.named / name).string(),
                 .message = fmt::format("expected {} or nothing, found {}", expected, found)});
  };
  for (const fs::path& name : names) {
    if (const fs::path parent = name.parent_path(); !parent.empty()) {
      const auto status = status_of(place.folder / parent);
      if (status && !S_ISDIR(status->st_mode))
        return in_the_way(parent, "a folder", kind_of(status->st_mode));
    }
    const auto status = status_of(place.folder / name);
    if (status && !S_ISREG(status->st_mode))
      return in_the_way(name, "a regular file", kind_of(status->st_mode));
    if (status && standard_stream(place.folder / name)) {
      return fail({.kind = ErrorKind::Io,
                   .file = (place.named / name).string(),
                   .message = "would be replaced, but the output of this command goes there"});
    }
  }
  return {};
}

Result<void> check_folder(const FolderPlace& place, const FileStatus& status) {
  const auto refuse = [&](std::string_view reason) {
    return fail(
        {.kind = ErrorKind::Io,
         .file = place.named.string(),
         .message = fmt::format("{}, which cannot be replaced as a whole; name a folder in it", reason)});
  };
  if (!S_ISDIR(status.st_mode)) return fail(io_error(place.named, "create the folder", ENOTDIR));
  if (::access(place.folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return fail(io_error(place.named, "write to the folder", errno));
  const auto parent = status_of(place.folder.parent_path());
  if (parent && is_mount_point(place.folder, status, parent->st_dev)) return refuse("is a mount point");
  std::error_code ignored;
  const fs::path current = fs::current_path(ignored);
  // Whoever works there would be left in the old folder.
  if (std::mismatch(place.folder.begin(), place.folder.end(), current.begin(), current.end()).first ==
      place.folder.end())
    return refuse("is the current folder or one above it");
  return {};
}

Result<void> check_parent(const FolderPlace& place) {
  fs::path parent = place.folder.parent_path();
  auto status = status_of(parent);
  while (!status && parent.has_relative_path()) {
    parent = parent.parent_path();
    status = status_of(parent);
  }
  if (status && !S_ISDIR(status->st_mode)) return fail(io_error(place.named, "create the folder", ENOTDIR));
  if (::access(parent.c_str(), W_OK | X_OK) == 0) return {};
  const std::string action = fmt::format("make a folder in '{}'", parent.string());
  return fail(io_error(place.named, action, errno));
}

}  // namespace vtrain
