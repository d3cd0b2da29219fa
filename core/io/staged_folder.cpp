#include "core/io/staged_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/io/folder_place.hpp"
#include "core/io/folder_tree.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

// What a staging folder holds.
constexpr std::string_view kLock = "lock";
constexpr std::string_view kBuilding = "building";  ///< name of the new folder until all is written
/// Name of the new folder when all is written, followed by its inode. After the exchange the old folder has
/// it.
constexpr std::string_view kNewPrefix = "new-";
constexpr std::string_view kOld = "old";  ///< name of the old folder if two renames replace an exchange
constexpr std::string_view kTrashPrefix = "trash-";  ///< prefix of an old folder without the files that stay

constexpr mode_t kModeBits = 07777;
constexpr mode_t kAllOfOwner = 0700;

/// True if a process holds the lock of a staging folder.
bool is_locked(const fs::path& staging) {
  const int descriptor = ::open((staging / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0;
  ::close(descriptor);
  return locked;
}

}  // namespace

/// The staging folder of one place, while its lock is held.
class StagedFolder::Staging {
 public:
  Staging(FolderPlace place, OwnFiles own_files)
      : place_(std::move(place)), own_files_(std::move(own_files)) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  /// Releases the lock.
  ~Staging() {
    if (lock_ >= 0) ::close(lock_);
  }

  const FolderPlace& place() const { return place_; }
  const OwnFiles& own_files() const { return own_files_; }

  /// Makes the missing parents of the folder.
  Result<void> make_parents();
  /// Removes these parents again, if they are empty.
  void remove_parents();
  /// Makes the staging folder and takes its lock. False if another process has it; then `busy`, if given, is
  /// a descriptor of the locked file.
  Result<bool> lock(int* busy = nullptr);
  /// Cleans up after a process that ended early. Removes the new folder or, if that is in its place already,
  /// the rest of the old one.
  Result<void> clear();
  /// Removes the staging folder, if it is empty, with its lock.
  void release();
  /// Makes the new folder.
  Result<void> begin();
  /// Opens a file as `StagedFolder::open`.
  Result<OutputFile> open(const fs::path& name);
  /// Flushes all files to disk, if an older folder is to be replaced.
  Result<void> synchronise() const;
  /// Puts the new folder into its place and removes the old one.
  Result<void> put_in_place();

 private:
  Result<void> replace_folder(const fs::path& made) const;
  Result<void> link_foreign_files(const fs::path& made) const;
  Result<void> check_movable(const OthersEntry& entry) const;
  Result<bool> exchange(const fs::path& made) const;
  Result<void> retire(const fs::path& old) const;
  Result<void> give_back(const fs::path& old, const OthersEntry& entry, const OthersEntries& results) const;
  static std::string name_by_inode(std::string_view prefix, const FileStatus& status) {
    return std::string(prefix) + std::to_string(status.st_ino);
  }

  FolderPlace place_;
  OwnFiles own_files_;
  int lock_ = -1;
  std::vector<fs::path> names_;         ///< names of files in the new folder
  std::vector<fs::path> made_parents_;  ///< parents made by `make_parents`, the outermost first
};

Result<void> StagedFolder::Staging::make_parents() {
  std::vector<fs::path> missing;
  for (fs::path parent = place_.folder.parent_path(); !status_of(parent); parent = parent.parent_path())
    missing.insert(missing.begin(), parent);
  for (const fs::path& parent : missing) {
    if (::mkdir(parent.c_str(), 0777) == 0) {
      made_parents_.push_back(parent);
    } else if (errno != EEXIST) {
      return fail(io_error(place_.named, "create the folder", errno));
    }
  }
  return {};
}

void StagedFolder::Staging::remove_parents() {
  for (; !made_parents_.empty(); made_parents_.pop_back())
    ::rmdir(made_parents_.back().c_str());
}

Result<bool> StagedFolder::Staging::lock(int* busy) {
  for (;;) {
    if (::mkdir(place_.staging.c_str(), kAllOfOwner) != 0 && errno != EEXIST) {
      const int failure = errno;
      if (failure == ENOENT && !status_of(place_.folder.parent_path())) {
        // Another process that had made the parent has just ended.
        if (auto made = make_parents(); !made) return fail(std::move(made.error()));
        continue;
      }
      const std::string action = fmt::format("make a folder in '{}'", place_.folder.parent_path().string());
      return fail(io_error(place_.named, action, failure));
    }
    const auto status = status_of(place_.staging);
    if (!status) continue;  // its owner has just removed it
    if (!S_ISDIR(status->st_mode) || status->st_uid != ::geteuid()) {
      return fail({.kind = ErrorKind::Io,
                   .file = place_.named.string(),
                   .message = fmt::format("another user is writing it, or was: '{}' is not yours",
                                          place_.staging.string())});
    }
    const fs::path file = place_.staging / kLock;
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int descriptor = ::open(file.c_str(), kFlags, 0600);
    if (descriptor < 0 && errno == ENOENT) continue;
    if (descriptor < 0) return fail(io_error(place_.named, "make a lock beside it", errno));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int failure = errno;
      if (failure == EWOULDBLOCK && busy != nullptr) {
        *busy = descriptor;
      } else {
        ::close(descriptor);
      }
      if (failure == EWOULDBLOCK) return false;
      return fail(io_error(place_.named, "lock a file beside it", failure));
    }
    // Its last owner may have removed the file since it was opened.
    FileStatus locked{};
    const auto named = status_of(file);
    if (::fstat(descriptor, &locked) == 0 && named && named->st_ino == locked.st_ino) {
      lock_ = descriptor;
      return true;
    }
    ::close(descriptor);
  }
}

Result<void> StagedFolder::Staging::clear() {
  const auto names = names_in(place_.staging);
  if (!names) return fail(names.error());
  for (const fs::path& leaf : *names) {
    const fs::path entry = place_.staging / leaf;
    const auto status = status_of(entry);
    if (!status) continue;
    const std::string name = leaf.string();
    Result<void> cleared;
    if (name == kBuilding || name == name_by_inode(kNewPrefix, *status)) {
      cleared = remove_tree(entry);
    } else if (name == kOld || name.starts_with(kNewPrefix)) {
      cleared = retire(entry);
    } else if (name.starts_with(kTrashPrefix)) {
      // What somebody has open may not be removed yet on NFS; the next run tries again.
      static_cast<void>(remove_tree(entry));
    }
    if (!cleared) return cleared;
  }
  return {};
}

void StagedFolder::Staging::release() {
  ::unlink((place_.staging / kLock).c_str());
  // On NFS the file is gone only when it is closed. Who makes a new one meanwhile keeps the folder.
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
  ::rmdir(place_.staging.c_str());
}

Result<void> StagedFolder::Staging::begin() {
  const fs::path made = place_.staging / kBuilding;
  if (::mkdir(made.c_str(), 0777) != 0) return fail(io_error(place_.named, "create the folder", errno));
  return {};
}

Result<OutputFile> StagedFolder::Staging::open(const fs::path& name) {
  const auto hold = hold_off_interrupts();
  const fs::path path = place_.staging / kBuilding / name;
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(io_error(place_.named / name, "write", code ? code.value() : errno));
  names_.push_back(name);
  return OutputFile(place_.named / name, descriptor);
}

Result<void> StagedFolder::Staging::synchronise() const {
  if (!status_of(place_.folder)) return {};
  const int descriptor = ::open((place_.staging / kBuilding).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (descriptor < 0) return fail(io_error(place_.named, "write", errno));
  // One call for all files: a call for each costs a commit of the journal each.
  const int failure = ::syncfs(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (failure == EIO || failure == ENOSPC || failure == EDQUOT)
    return fail(io_error(place_.named, "write", failure));
  return {};
}

Result<void> StagedFolder::Staging::put_in_place() {
  const fs::path building = place_.staging / kBuilding;
  const auto status = status_of(building);
  const fs::path made = place_.staging / name_by_inode(kNewPrefix, status.value_or(FileStatus{}));
  if (!status || ::rename(building.c_str(), made.c_str()) != 0)
    return fail(io_error(place_.named, "create the folder", errno));
  if (auto replaced = replace_folder(made); !replaced) return replaced;
  return clear();
}

Result<void> StagedFolder::Staging::replace_folder(const fs::path& made) const {
  // Others may make or remove the folder meanwhile.
  for (;;) {
    const auto old = status_of(place_.folder);
    if (!old) {
      if (::rename(made.c_str(), place_.folder.c_str()) == 0) return {};
      if (errno != EEXIST && errno != ENOTEMPTY)
        return fail(io_error(place_.named, "create the folder", errno));
      continue;
    }
    if (auto checked = check_folder(place_, *old); !checked) return checked;
    if (auto checked = check_names(place_, names_); !checked) return checked;
    if (auto carried = link_foreign_files(made); !carried) return carried;
    // Of another group perhaps; never mind where that is not allowed.
    [[maybe_unused]] const int changed = ::chown(made.c_str(), static_cast<uid_t>(-1), old->st_gid);
    ::chmod(made.c_str(), old->st_mode & kModeBits);
    const auto exchanged = exchange(made);
    if (!exchanged) return fail(exchanged.error());
    if (*exchanged) return {};
  }
}

/// Gives foreign files a name in the new folder, too, and own files the permissions of the earlier ones.
Result<void> StagedFolder::Staging::link_foreign_files(const fs::path& made) const {
  for (const fs::path& name : names_) {
    const auto before = status_of(place_.folder / name);
    if (before) ::chmod((made / name).c_str(), before->st_mode & kModeBits);
  }
  const std::vector<fs::path> own_files = own_files_(place_.folder);
  for (const fs::path& file : own_files) {
    const fs::path folder = file.parent_path();
    const auto status = status_of(place_.folder / folder);
    if (!status || folder.empty()) continue;
    if (auto checked = check_movable({folder, *status}); !checked) return checked;
  }
  const auto others = OthersEntries(place_.folder, own_files).list();
  if (!others) return fail(others.error());
  for (const OthersEntry& entry : *others) {
    if (auto checked = check_movable(entry); !checked) return checked;
    const fs::path target = made / entry.name;
    if (S_ISDIR(entry.status.st_mode)) {
      ::mkdir(target.c_str(), kAllOfOwner);
    } else {
      // What has a name there already is a new result; what can have no second name is moved later.
      [[maybe_unused]] const int linked =
          ::linkat(AT_FDCWD, (place_.folder / entry.name).c_str(), AT_FDCWD, target.c_str(), 0);
    }
  }
  // From the inside outwards: a folder may forbid to write to it.
  for (auto entry = others->rbegin(); entry != others->rend(); ++entry) {
    if (S_ISDIR(entry->status.st_mode))
      ::chmod((made / entry->name).c_str(), entry->status.st_mode & kModeBits);
  }
  return {};
}

Result<void> StagedFolder::Staging::check_movable(const OthersEntry& entry) const {
  const fs::path path = place_.folder / entry.name;
  const auto refuse = [&](std::string_view reason) {
    return fail(
        {.kind = ErrorKind::Io,
         .file = (place_.named / entry.name).string(),
         .message = fmt::format("{}: '{}' cannot be replaced as a whole", reason, place_.named.string())});
  };
  const auto parent = status_of(path.parent_path());
  if (parent && is_mount_point(path, entry.status, parent->st_dev)) return refuse("is a mount point");
  if (!S_ISDIR(entry.status.st_mode)) return {};
  if (!can_be_emptied(path, entry.status)) return refuse("is another user's folder");
  if (entry.name.string().ends_with(kStagingSuffix) && is_locked(path))
    return refuse("another run is writing there");
  return {};
}

/// Puts the new folder into the place of the old one. False if the old one no longer exists.
Result<bool> StagedFolder::Staging::exchange(const fs::path& made) const {
  const fs::path& folder = place_.folder;
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
    const fs::path old = place_.staging / kOld;
    if (::rename(folder.c_str(), old.c_str()) == 0) {
      if (::rename(made.c_str(), folder.c_str()) == 0) return true;
      const int failure = errno;
      ::rename(old.c_str(), folder.c_str());
      errno = failure;
    }
  }
  if (errno == ENOENT) return false;
  return fail(io_error(place_.named, "replace the folder", errno));
}

/// Removes a replaced folder, except foreign files, which move to the new one.
Result<void> StagedFolder::Staging::retire(const fs::path& old) const {
  if (!status_of(place_.folder)) {
    if (::rename(old.c_str(), place_.folder.c_str()) == 0) return {};
    return fail(io_error(place_.named, "put the folder back", errno));
  }
  const auto others = OthersEntries(old, own_files_(old)).list();
  if (!others) return fail(others.error());
  const OthersEntries results(place_.folder, own_files_(place_.folder));
  for (const OthersEntry& entry : *others) {
    if (auto moved = give_back(old, entry, results); !moved) return moved;
  }
  const auto status = status_of(old);
  const fs::path trash = place_.staging / name_by_inode(kTrashPrefix, status.value_or(FileStatus{}));
  if (::rename(old.c_str(), trash.c_str()) != 0) return fail(io_error(old, "remove", errno));
  static_cast<void>(remove_tree(trash));
  return {};
}

/// Moves foreign files of an old folder to the new one, unless they have a name there.
Result<void> StagedFolder::Staging::give_back(const fs::path& old, const OthersEntry& entry,
                                              const OthersEntries& results) const {
  const fs::path from = old / entry.name;
  const fs::path to = place_.folder / entry.name;
  const auto moved = status_of(from);
  if (!moved) return {};  // with its folder
  const auto there = status_of(to);
  if (there && (S_ISDIR(there->st_mode) || S_ISDIR(moved->st_mode) || there->st_ino == moved->st_ino ||
                results.is_own(entry.name)))
    return {};
  // Two files of one name: one was saved while the folders were exchanged.
  const auto saved = [](const FileStatus& status) {
    return std::pair(status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  };
  if (there && saved(*moved) < saved(*there)) return {};
  if (S_ISDIR(moved->st_mode)) ::chmod(from.c_str(), moved->st_mode | kAllOfOwner);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return fail(
        io_error(place_.named / entry.name, fmt::format("move it back from '{}'", from.string()), errno));
  }
  if (S_ISDIR(moved->st_mode)) ::chmod(to.c_str(), moved->st_mode & kModeBits);
  return {};
}

void StagedFolder::clear_left_overs(const fs::path& parent, const OwnFiles& own_files) {
  const auto names = names_in(parent);
  if (!names) return;
  std::vector<FolderPlace> places;
  for (const fs::path& name : *names) {
    const auto place = FolderPlace::of_staging(parent / name);
    const auto status = place ? status_of(place->staging) : std::nullopt;
    if (status && S_ISDIR(status->st_mode) && status->st_uid == ::geteuid()) places.push_back(*place);
  }
  for (const FolderPlace& place : places) {
    const auto hold = hold_off_interrupts();
    Staging left(place, own_files);
    if (!left.lock().value_or(false)) continue;
    // What cannot be cleared stays for the next one to try.
    static_cast<void>(left.clear());
    left.release();
  }
}

StagedFolder::StagedFolder(std::unique_ptr<Staging> staging)
    : staging_(std::move(staging)), unfinished_([folder = staging_.get()] {
        const bool cleared = folder->clear().has_value();
        folder->release();
        folder->remove_parents();
        return cleared;
      }) {}

StagedFolder::StagedFolder(StagedFolder&&) noexcept = default;
StagedFolder::~StagedFolder() = default;

Result<void> StagedFolder::check(const fs::path& folder, const std::vector<fs::path>& names) {
  const auto place = FolderPlace::find(folder);
  if (!place) return fail(place.error());
  if (auto checked = check_parent(*place); !checked) return checked;
  if (const auto status = status_of(place->folder)) {
    if (auto checked = check_folder(*place, *status); !checked) return checked;
    if (auto checked = check_names(*place, names); !checked) return checked;
  }
  if (!status_of(place->folder.parent_path())) return {};
  // Also tells what no permission says: a file system without locks, a full quota.
  const auto hold = hold_off_interrupts();
  Staging trial(*place, {});
  const auto locked = trial.lock();
  if (!locked) return fail(locked.error());
  if (*locked) trial.release();
  return {};
}

Result<std::optional<StagedFolder>> StagedFolder::begin(const fs::path& folder, const OwnFiles& own_files,
                                                        int* busy) {
  auto place = FolderPlace::find(folder);
  if (!place) return fail(std::move(place.error()));
  const fs::path parent = place->folder.parent_path();
  const auto hold = hold_off_interrupts();
  auto staging = std::make_unique<Staging>(*std::move(place), own_files);
  if (auto made = staging->make_parents(); !made) return fail(std::move(made.error()));
  const auto locked = staging->lock(busy);
  if (!locked) return fail(locked.error());
  if (!*locked) return std::nullopt;
  StagedFolder staged(std::move(staging));
  if (auto cleared = staged.staging_->clear(); !cleared) return fail(std::move(cleared.error()));
  if (auto begun = staged.staging_->begin(); !begun) return fail(std::move(begun.error()));
  clear_left_overs(parent, own_files);
  return staged;
}

Result<StagedFolder> StagedFolder::create(const fs::path& folder, const OwnFiles& own_files,
                                          const std::function<void()>& waits) {
  for (bool is_told = false;; is_told = true) {
    int busy = -1;
    auto begun = begin(folder, own_files, &busy);
    if (!begun) return fail(std::move(begun.error()));
    if (*begun) return **std::move(begun);
    if (!is_told) waits();
    while (::flock(busy, LOCK_EX) != 0 && errno == EINTR) {
    }
    ::close(busy);
  }
}

Result<std::optional<StagedFolder>> StagedFolder::try_create_new(const fs::path& folder,
                                                                 const OwnFiles& own_files) {
  const auto is_taken = [&folder] { return status_of(folder).has_value(); };
  if (is_taken()) return std::nullopt;
  auto begun = begin(folder, own_files, nullptr);
  if (begun && is_taken()) return std::nullopt;  // since it was looked at
  return begun;
}

Result<OutputFile> StagedFolder::open(const fs::path& name) {
  return staging_->open(name);
}

Result<void> StagedFolder::add(const fs::path& name, std::string_view content) {
  auto file = open(name);
  if (!file) return fail(std::move(file.error()));
  file->write(content);
  return file->finish();
}

Result<void> StagedFolder::commit() {
  if (auto done = staging_->synchronise(); !done) return done;
  const auto hold = hold_off_interrupts();
  if (auto done = staging_->put_in_place(); !done) return done;
  staging_->release();
  unfinished_.finish();
  return {};
}

}  // namespace vtrain
