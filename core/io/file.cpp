#include "core/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/io/decompress.hpp"

namespace vtrain {
namespace {

std::string system_message(int code) {
  return std::strerror(code);
}

/// A full disk is nothing that the user said wrong.
Error io_error(const std::filesystem::path& path, std::string_view action, int code) {
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return {.kind = is_full ? ErrorKind::Failed : ErrorKind::Io,
          .file = path.string(),
          .message = fmt::format("cannot {}: {}", action, system_message(code))};
}

Result<std::string> read_descriptor(int descriptor, const std::string& name, std::size_t limit) {
  std::string content;
  std::size_t used = 0;
  // One read of the whole size where the size is known, growing otherwise (pipes; folders, which fail to
  // read).
  struct stat status {};
  const bool has_size = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  content.resize(has_size ? std::min(static_cast<std::size_t>(status.st_size), limit) + 1 : 1 << 16);
  for (;;) {
    if (used == content.size()) content.resize(content.size() * 2);
    const ssize_t got = ::read(descriptor, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(io_error(name, "read", errno));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) return fail({.file = name, .message = fmt::format("larger than {} bytes", limit)});
  }
  content.resize(used);
  return content;
}

/// Temporary files that exist now, for `remove_unfinished_files`.
class UnfinishedFiles {
 public:
  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.insert(name);
  }
  void forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.erase(name);
  }
  void remove_all() {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : names_)
      ::unlink(name.c_str());
    names_.clear();
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

UnfinishedFiles& unfinished_files() {
  static UnfinishedFiles files;
  return files;
}

/// What a chain of symbolic links ends at, which need not exist; the path itself if it is no link.
std::filesystem::path link_target(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::error_code code;
  for (int i = 0; i < kMostLinks; ++i) {
    const auto target = std::filesystem::read_symlink(path, code);
    if (code) break;
    path = path.parent_path() / target;
  }
  return path;
}

/// A new file beside `path`, open for writing, with the permissions that any new file has.
std::pair<std::string, int> open_temporary(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  constexpr mode_t kLessTheUmask = 0666;
  for (;;) {
    std::string name = fmt::format("{}.{}-{}.tmp", path.string(), ::getpid(), counter++);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kLessTheUmask);
    if (descriptor >= 0 || errno != EEXIST) return {std::move(name), descriptor};
  }
}

}  // namespace

Result<std::string> read_raw_file(const std::filesystem::path& path, std::size_t limit) {
  const bool standard_input = path == "-";
  const int descriptor = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
    Error error = io_error(path, "open", errno);
    error.kind = kind;
    return fail(std::move(error));
  }
  auto content = read_descriptor(descriptor, path.string(), limit);
  if (!standard_input) ::close(descriptor);
  return content;
}

Result<void> check_files_differ(std::string_view what, const std::vector<std::string>& files) {
  std::map<std::filesystem::path, std::string> seen;  // first names by real paths
  for (const std::string& file : files) {
    std::error_code ignored;
    const auto real_path = std::filesystem::weakly_canonical(file, ignored);
    const auto [first, is_new] = seen.try_emplace(ignored ? std::filesystem::path(file) : real_path, file);
    if (is_new) continue;
    const std::string& name = first->second;
    return fail(
        {.file = file,
         .message = fmt::format("the {} is given twice{}", what, name == file ? "" : ", first as " + name)});
  }
  return {};
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  auto content = read_raw_file(path, limit);
  return content ? decompress(*std::move(content), path.string(), limit) : content;
}

std::optional<int> standard_stream(const std::filesystem::path& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return std::nullopt;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_dev == wanted.st_dev &&
        status.st_ino == wanted.st_ino) {
      return descriptor;
    }
  }
  return std::nullopt;
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      pending_(std::move(other.pending_)),
      failure_(other.failure_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  unfinished_files().forget(temporary_);
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  if (const auto stream = standard_stream(path)) {
    // Not opened anew, which would begin at the start of the file; not renamed, which would take its name
    // from what others write to it.
    const int descriptor = ::fcntl(*stream, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return fail(io_error(path, "write", errno));
    return AtomicFile(path, {}, descriptor);
  }
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);  // fails for a folder
    if (descriptor < 0) return fail(io_error(path, "write", errno));
    return AtomicFile(path, {}, descriptor);
  }
  auto target = link_target(path);
  auto [temporary, descriptor] = open_temporary(target);
  if (descriptor < 0) return fail(io_error(path, "write", errno));
  constexpr mode_t kPermissions = 07777;
  if (exists) ::fchmod(descriptor, status.st_mode & kPermissions);
  unfinished_files().add(temporary);
  return AtomicFile(std::move(target), std::move(temporary), descriptor);
}

void AtomicFile::write(std::string_view text) {
  constexpr std::size_t kBuffer = 1 << 16;
  if (pending_.size() + text.size() < kBuffer) {
    pending_ += text;
    return;
  }
  write_now(pending_);
  pending_.clear();
  write_now(text);
}

void AtomicFile::write_now(std::string_view text) {
  while (!text.empty() && failure_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
}

Result<void> AtomicFile::finish() {
  if (descriptor_ >= 0) {
    write_now(pending_);
    pending_.clear();
    // Some file systems report a full disk only here.
    if (::close(std::exchange(descriptor_, -1)) != 0 && failure_ == 0) failure_ = errno;
  }
  if (failure_ != 0) return fail(io_error(path_, "write", failure_));
  return {};
}

Result<void> AtomicFile::commit() {
  if (auto finished = finish(); !finished) return finished;
  const bool in_place = temporary_.empty();
  if (!in_place && ::rename(temporary_.c_str(), path_.c_str()) != 0) failure_ = errno;
  if (failure_ != 0) return fail(io_error(path_, "write", failure_));
  unfinished_files().forget(temporary_);
  temporary_.clear();
  return {};
}

Result<void> FileGroup::add(AtomicFile file) {
  auto finished = file.finish();
  if (finished) files_.push_back(std::move(file));
  return finished;
}

Result<void> FileGroup::add(const std::filesystem::path& path, std::string_view content) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  file->write(content);
  return add(*std::move(file));
}

Result<void> FileGroup::commit() {
  for (AtomicFile& file : files_) {
    if (auto committed = file.commit(); !committed) return committed;
  }
  files_.clear();
  return {};
}

void remove_unfinished_files() {
  unfinished_files().remove_all();
}

Result<void> write_file(const std::filesystem::path& path, std::string_view content) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  file->write(content);
  return file->commit();
}

Result<void> create_output_folder(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return fail(io_error(path, "create the folder", code.value()));
  if (::access(path.c_str(), W_OK | X_OK) != 0) return fail(io_error(path, "write to the folder", errno));
  return {};
}

}  // namespace vtrain
